"""Sweeps: the grid of many runs, the processes that train them, and their progress."""
