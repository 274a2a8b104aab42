"""Numbers of the committed tables of sequence papers as cells of a table of a page."""

import pandas as pd

NONE = "-"  # what was not published


def number(value: float) -> str:
    """Return a number with three decimals."""
    return NONE if pd.isna(value) else f"{value:.3f}"


def spread(row: pd.Series) -> str:
    """Return the median over seeds with least and greatest."""
    return f"{number(row['median'])} [{number(row['least'])}, {number(row['greatest'])}]"
