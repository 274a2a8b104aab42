"""Samplers of position ids: the positions that tokens are given in training, so that longer texts are not new."""
