"""Records as tables, and what is drawn of them."""

ROWS = "rows"  # a column of CSVs alone: how many rows there are, in the last of them; a file that was cut lacks it
