"""Samplers of position ids for training: they give short windows the positions of longer texts."""
