"""The theory of the paper's appendix B, exact: sympy and rational arithmetic, no floating point."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from theory.closed_forms.linear_attention import expected_error as expected_error
    from theory.closed_forms.linear_attention import training_loss as training_loss
    from theory.closed_forms.optima import Optimum as Optimum
    from theory.closed_forms.optima import optimum as optimum
    from theory.closed_forms.optima import paper_optimum as paper_optimum

# Imported on first use: tab completion and --help then need neither sympy nor torch, which take seconds to import.
_HOMES = {
    "Optimum": "optima",
    "expected_error": "linear_attention",
    "optimum": "optima",
    "paper_optimum": "optima",
    "training_loss": "linear_attention",
}
__all__ = ["Optimum", "expected_error", "optimum", "paper_optimum", "training_loss"]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.closed_forms.{_HOMES[name]}"), name)
