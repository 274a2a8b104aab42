"""Tables and plots of records."""

ROWS = "rows"  # a column of CSV files only: the number of rows, in the last row; a truncated file lacks it
