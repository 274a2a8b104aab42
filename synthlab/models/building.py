"""Build ensembles from configs, and check what their encodings report about themselves."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from torch import nn

from synthlab.config.families import default_member
from synthlab.config.registry import Registry, ask_member, catch_errors, is_number, is_truth
from synthlab.errors import InputError
from synthlab.models.encodings import ENCODINGS
from synthlab.models.encodings.base import Encoding, encoding_of
from synthlab.models.layers import Generators


def build_ensemble(
    models: Registry[nn.Module], configs: Sequence[Any], generators: Generators, *sizes: int
) -> nn.Module:
    """Initialize the models of runs of one shape, as one ensemble.

    Args:
        models: The registry of models.
        configs: The configs of the runs.
        generators: The random generator of each run's initial weights.
        sizes: Further arguments of the model's constructor, such as the number of tokens.

    Raises:
        InputError: The models cannot be made, or cannot form an ensemble.
    """
    first = configs[0]
    make_encoding = partial(ENCODINGS.build, first.encoding)
    with catch_errors("encoding", first.encoding["name"], "be part of a model"):
        ensemble = models.build(first.model, make_encoding, generators, *sizes)
    encoding = getattr(ensemble, "encoding", None)
    if isinstance(encoding, nn.Module):
        check_parameters("encoding", first.encoding["name"], encoding, len(configs))
    check_parameters("model", first.model["name"], ensemble, len(configs))
    return ensemble


def check_parameters(field: str, name: str, module: nn.Module, models: int) -> None:
    """Raise InputError if a parameter of a member has no leading dimension of ``models``."""
    for parameter, values in module.named_parameters():
        if values.shape[:1] != (models,):
            raise InputError(
                f"{field}={name}: parameter {parameter.split('.')[-1]} has shape {tuple(values.shape)}; must begin "
                "with the number of models, as from layers.ensemble_parameter"
            )


def check_encoding(config: Any, model: nn.Module) -> Encoding:
    """Return the encoding of a model.

    Raises InputError if its answers about itself are invalid, and for an encoding other than the default that a model
    of the user's own does not have: it would change the run's identity, and none of its numbers.
    """
    name = config.model["name"]
    encoding = ask_member("model", name, "encoding", lambda: encoding_of(model), _is_encoding, "a synthlab.Encoding")
    given, own = config.encoding["name"], type(encoding).__name__
    is_used = any(isinstance(module, ENCODINGS.find(given)) for module in model.modules())
    if not is_used and config.encoding != ENCODINGS.complete(default_member(config.kind, "encoding")):
        raise InputError(f"encoding={given}: model={name} does not use it, its own is {own}; leave encoding out")
    check_answers("encoding", config.encoding["name"], encoding)
    return encoding


def check_answers(field: str, name: str, encoding: Encoding) -> None:
    """Raise InputError if an encoding, of the config group ``field``, gives invalid answers about itself."""
    is_length = partial(is_number, low=0, high=math.inf)
    ask_member(field, name, "longest()", encoding.longest, is_length, "a number from 0 on")
    ask_member(field, name, "alike_up_to(1)", partial(encoding.alike_up_to, 1), is_length, "a number from 0 on")
    ask_member(field, name, "draws_positions", lambda: encoding.draws_positions, is_truth, "True or False")


def _is_encoding(value: object) -> bool:
    return isinstance(value, Encoding)
