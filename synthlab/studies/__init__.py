"""Studies: a grid of runs, its plots and tables, and the claims that it tests."""
