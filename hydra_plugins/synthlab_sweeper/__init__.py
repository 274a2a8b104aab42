"""The package in which Hydra finds the sweeper."""
