"""The theory of the paper's appendix B, exact: sympy and rational arithmetic, no floating point."""

from theory.linear_attention import expected_error, training_loss
from theory.optima import Optimum, optimum, paper_optimum

__all__ = ["Optimum", "expected_error", "optimum", "paper_optimum", "training_loss"]
