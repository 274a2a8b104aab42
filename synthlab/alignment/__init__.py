"""Misalignment of answers to long and short contexts, and training against it, for any model of tokens."""
