"""The theory of the paper's appendix B, exact: sympy and rational arithmetic, no floating point."""

from theory.linear_attention import expected_error, training_loss

__all__ = ["expected_error", "training_loss"]
