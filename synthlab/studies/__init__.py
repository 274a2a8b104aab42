"""Studies: a grid of runs, what is drawn of it, and the claims that it is evidence for."""
