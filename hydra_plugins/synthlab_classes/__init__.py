"""The package in which Hydra finds the source of classes."""
