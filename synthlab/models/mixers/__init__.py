"""Mixers, by name: what a block has in place of attention. Their interface is ``base.Mixer``."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator

from synthlab.models.mixers.base import LinearRecurrence, Mixer, MixerLayer, Recurrence
from synthlab.models.mixers.delta import DeltaNet
from synthlab.models.mixers.gated import GRU, LSTM
from synthlab.models.mixers.linear import RGLRU, Mamba, MinGRU
from synthlab.models.mixers.stack import StackRNN
from synthlab.runs.registry import Registry

__all__ = ["MIXERS", "LinearRecurrence", "Mixer", "MixerLayer", "Recurrence", "Setting"]

MIXERS = Registry(
    "model.mixer",
    Mixer,
    {
        "gru": GRU,
        "lstm": LSTM,
        "delta": DeltaNet,
        "min_gru": MinGRU,
        "rg_lru": RGLRU,
        "mamba": Mamba,
        "stack_rnn": StackRNN,
    },
)


def _complete(mixer: Any) -> Any:
    """Return a mapping in place of a name, and None for attention."""
    given = mixer if isinstance(mixer, Mapping) or mixer is None else {"name": mixer}
    return None if given == {"name": "attention"} else given


Setting = Annotated[Mapping[str, Any] | None, BeforeValidator(_complete)]
