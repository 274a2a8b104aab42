"""The paper's figures: their grids (``conf/figure/``), their runs, their plots. ``synthlab figures``."""
