"""Laws of models and encodings: what must be true of every one, measured on a few short sequences.

The tests measure them for the lab's own, ``check_laws`` for a class of the user before its first run, and ``synthlab
check`` for any class by name. A class that breaks a law trains without an error, and its numbers look sound.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from copy import deepcopy
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from synthlab.errors import InputError
from synthlab.models.encodings.base import Encoding
from synthlab.models.language_model import LanguageModel, takes_shortcuts
from synthlab.models.packing import ENDS
from synthlab.models.reference import predict_prefixes
from synthlab.models.transformer import Decoder, Transformer
from synthlab.runs.sources import user_classes

ROWS, LENGTH, CUT = 3, 20, 7  # sequences, their symbols, and the symbols that two of them share
ROUNDING = 1e-4  # the largest difference that counts as rounding, relative to the largest output
NOISE = 0.1  # standard deviation of what is added to parameters, since many begin with zeros
PROBED = ("encoding", "extension", "model", "outrep")  # groups whose classes have laws
BROKEN = "breaks a law"
_sound = set[str]()  # the settings whose classes were found to keep their laws


class Law(NamedTuple):
    """A law in words, the config group it is about, and by how much it is missed, relative to the largest output."""

    field: str
    text: str
    missed_by: float
    tolerance: float = ROUNDING

    @property
    def holds(self) -> bool:
        """True if the difference is no more than rounding."""
        return self.missed_by <= self.tolerance


def check_laws(config: Any, measure: Callable[[], Iterable[Law]]) -> None:
    """Raise InputError if a class of the user that a run names breaks a law; each class and source is measured once.

    Args:
        config: The run.
        measure: Function that measures the laws of its classes.
    """
    values = config.model_dump()
    groups = {field: values[field] for field in PROBED if isinstance(values.get(field), dict)}
    own = {field: next(user_classes({field: member}), None) for field, member in groups.items()}
    if not any(own.values()):
        return
    key = json.dumps([groups, *map(values.get, ("family", "task", "train_length", "test_length"))], sort_keys=True)
    if key in _sound:
        return
    try:
        laws = list(measure())
    except InputError:
        raise
    except Exception:  # training will raise it too, and record it with its traceback
        return
    broken = []
    for law in laws:
        # A law about an encoding may be broken by the model that uses it.
        blamed = own.get(law.field) or (own.get("model") if law.field == "encoding" else None)
        if blamed and not law.holds:
            place, name, _ = blamed
            broken.append(f"{place}={name}: {BROKEN}: {law.text} (relative error {law.missed_by:.2g})")
    if broken:
        raise InputError(*broken)
    _sound.add(key)


def measure_model(model: nn.Module, symbols: int, field: str = "encoding") -> Iterator[Law]:
    """Yield the laws of an ensemble of one that reads ``symbols`` symbols, and of its encoding.

    Each is measured with the parameters as they are, and with noise added to them, which is left there. Laws whose
    outputs are no numbers are left out, since training will tell.

    Args:
        model: The model.
        symbols: The number of symbols.
        field: The config group of its encoding.
    """
    training = model.training
    model.eval()
    with torch.no_grad():
        found = _measure(model, symbols)
        for parameter in model.parameters():
            parameter.add_(NOISE * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)))
        for text, missed_by in _measure(model, symbols).items():
            found[text] = max(found.get(text, 0.0), missed_by)
    model.train(training)
    of = field if isinstance(model, Decoder) else "model"
    yield from (Law(of, text, missed_by) for text, missed_by in found.items())


def _measure(model: nn.Module, symbols: int) -> dict[str, float]:
    """Return by how much each law is missed; in double precision if that is more than rounding, and if it can be."""
    found = _find_differences(model, symbols)
    if max(found.values(), default=0.0) > ROUNDING:
        with suppress(Exception):  # a class of the user may be written for single precision
            precise = _find_differences(deepcopy(model).double(), symbols)
            found = {text: min(missed_by, precise.get(text, missed_by)) for text, missed_by in found.items()}
    return found


def _find_differences(model: nn.Module, symbols: int) -> dict[str, float]:
    found: dict[str, float] = {}
    try:
        for text, expected, given in _compare(model, symbols):
            missed_by = float((given - expected).abs().max() / expected.abs().max().clamp(min=1e-30))
            if missed_by == missed_by:
                found[text] = max(found.get(text, 0.0), missed_by)
    except Exception:  # it may work in one layout and fail in another: a law that is broken in the one counts
        if max(found.values(), default=0.0) <= ROUNDING:
            raise
    return found


def _compare(model: nn.Module, symbols: int) -> Iterator[tuple[str, Tensor, Tensor]]:
    """Yield each law with two tensors of outputs that it says are equal."""
    encoding = getattr(model, "encoding", None)
    length = int(min(LENGTH, encoding.longest() - ENDS)) if isinstance(encoding, Encoding) else LENGTH
    if length <= CUT:
        return
    x = torch.randint(symbols, (1, ROWS, length), generator=torch.Generator().manual_seed(0))
    changed = torch.cat((x[..., :CUT], (x[..., CUT:] + 1) % symbols), -1)
    whole = model(x, None)
    yield "no output depends on a later token", whole[:, :, :CUT], model(changed, None)[:, :, :CUT]
    yield "a sequence has the outputs that it has without others beside it", model(x[:, :1], None), whole[:, :1]
    if isinstance(encoding, Encoding) and not encoding.packs:
        return  # it depends on the length of the text, or draws positions for each
    text = "a prefix has the outputs that it has alone"
    if not isinstance(model, Transformer):
        yield text, model(x[..., :CUT], None)[:, :, :CUT], whole[:, :, :CUT]
    else:
        alone = predict_prefixes(model, x[0])[None]
        yield text, alone, whole
        packed = model(x, torch.arange(length + ENDS).expand(1, ROWS, -1))  # without the table of unique tokens
        yield text, alone, packed
    if takes_shortcuts(model):
        sizes = torch.tensor([[length, CUT, length]])
        ragged = cast(LanguageModel, model).without_padding(x, None, sizes)
        yield "texts in one row do not see each other", whole[:, 1, :CUT], ragged[:, 1, :CUT]
