"""Methods that extend a model's rotary frequencies: settings of Transformers, or CLEX."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from synthlab.config.base import Count
from synthlab.config.registry import Registry
from synthlab.errors import InputError

Divisors = list[Annotated[float, Field(ge=1, le=10**6)]] | None


class Method:
    """The model's own frequencies, and the base class of all methods.

    The constructor's keyword arguments are the keys of the config group ``method``; their types are checked.
    """

    def parameters(self, plain: Mapping[str, Any], width: int, factor: int, trained: int) -> dict[str, Any]:
        """Return the ``rope_parameters`` of the extended model.

        Args:
            plain: The ``rope_parameters`` of the model, with ``rope_theta``.
            width: The rotated dimensions of a head.
            factor: How many times longer the context becomes.
            trained: The number of tokens of the original context.
        """
        return dict(plain)

    def apply(self, model: Any, factor: int, trained: int, seed: int, weights: Path | None) -> Any:
        """Return the model with changes beyond settings. ``weights`` is a saved model to load trained ones from."""
        return model


class PIMethod(Method):
    """Position interpolation (Chen et al., 2023, arXiv 2306.15595)."""

    def parameters(self, plain, width, factor, trained):
        return {**plain, "rope_type": "linear", "factor": float(factor)}


class NTKMethod(Method):
    """NTK-aware interpolation: the base times factor ** (width / (width - 2)), as in ``extensions.NTK``."""

    def parameters(self, plain, width, factor, trained):
        if width < 4:
            raise InputError(f"method=ntk: needs heads of 4 rotated dimensions or more; the model's have {width}")
        return {**plain, "rope_theta": plain["rope_theta"] * factor ** (width / (width - 2))}


class YaRNMethod(Method):
    """YaRN (Peng et al., 2024, arXiv 2309.00071)."""

    def parameters(self, plain, width, factor, trained):
        long = {"rope_type": "yarn", "factor": float(factor), "original_max_position_embeddings": trained}
        return {**plain, **long}


class Dynamic(Method):
    """NTK-aware interpolation by the length of each text."""

    def parameters(self, plain, width, factor, trained):
        return {**plain, "rope_type": "dynamic", "factor": float(factor)}

    def apply(self, model, factor, trained, seed, weights):
        # Transformers 5.23 keeps the frequencies of the longest text so far, also for a later one of N tokens.
        model.base_model.rotary_emb.register_forward_pre_hook(_forget_longer_texts)
        return model


class LongRoPEMethod(Method):
    """A divisor for each frequency (Ding et al., 2024, arXiv 2402.13753), without their search for the divisors."""

    def __init__(self, short: Divisors, long: Divisors):
        self.short, self.long = short, long

    def parameters(self, plain, width, factor, trained):
        pairs = width // 2
        for name, divisors in (("short", self.short), ("long", self.long)):
            if divisors is not None and len(divisors) != pairs:
                raise InputError(
                    f"method.{name}={divisors}: must have {pairs} numbers, one for each pair of dimensions"
                )
        long = {"rope_type": "longrope", "factor": float(factor), "original_max_position_embeddings": trained}
        divisors = {"short_factor": self.short or [1.0] * pairs, "long_factor": self.long or [float(factor)] * pairs}
        return {**plain, **long, **divisors}


class Clex(Method):
    """CLEX (Chen et al., 2024, arXiv 2310.16450), by ``with_clex``."""

    def __init__(self, hidden: Count, steps: Count):
        self.hidden, self.steps = hidden, steps

    def apply(self, model, factor, trained, seed, weights):
        from synthlab.huggingface.clex import with_clex

        return with_clex(model, factor, trained, self.hidden, self.steps, seed, weights)


def _forget_longer_texts(rotary: Any, args: tuple[Any, ...]) -> None:
    rotary.max_seq_len_cached = rotary.original_max_seq_len
    rotary.register_buffer("inv_freq", rotary.original_inv_freq.to(rotary.inv_freq.device), persistent=False)


MEMBERS = {"plain": Method, "pi": PIMethod, "ntk": NTKMethod, "yarn": YaRNMethod, "dynamic": Dynamic}
METHODS = Registry("method", Method, {**MEMBERS, "longrope": LongRoPEMethod, "clex": Clex})
