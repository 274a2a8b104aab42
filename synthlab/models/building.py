"""Build ensembles and encodings from configs."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from torch import nn

from synthlab.errors import InputError
from synthlab.models.encodings import ENCODINGS
from synthlab.models.encodings.base import Encoding, encoding_of
from synthlab.models.layers import Generators
from synthlab.runs.conf_files import default_member
from synthlab.runs.registry import Registry


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
        InputError: The models cannot form an ensemble, or do not use the encoding that the runs name.
    """
    first = configs[0]
    ensemble = models.build(first.model, partial(ENCODINGS.build, first.encoding), generators, *sizes)
    check_parameters("model", first, ensemble, len(configs))
    given = first.encoding["name"]
    is_used = any(isinstance(module, ENCODINGS.find(given)) for module in ensemble.modules())
    # Another encoding than the default would change the run's identity, and none of its numbers.
    if not is_used and first.encoding != _default_encoding(first):
        name, own = first.model["name"], type(encoding_of(ensemble)).__name__
        raise InputError(f"encoding={given}: model={name} does not use it, its own is {own}; leave encoding out")
    return ensemble


def build_encoding(models: Registry[nn.Module], config: Any) -> Encoding | None:
    """Return the encoding of a run's model, without the model; None for a model of the user, which knows its sizes.

    Raises InputError for an encoding that does not fit the model.
    """
    if ":" in config.model["name"]:
        return None
    settings = {key: value for key, value in config.model.items() if key != "name"}
    kind: Any = models.find(config.model["name"], "model")
    encoding = kind.build_encoding(partial(ENCODINGS.build, config.encoding), 1, **settings)
    mixer = config.model.get("mixer")
    if mixer and encoding.hooks - {"embed"} and config.encoding != _default_encoding(config):
        given = f"encoding={config.encoding['name']}: model.mixer={mixer['name']} does not use it"
        raise InputError(f"{given}; leave encoding out, or choose one that adds to embeddings, such as learned")
    return encoding


def _default_encoding(config: Any) -> dict[str, Any]:
    return ENCODINGS.complete(default_member(config.family, "encoding"))


def check_parameters(field: str, config: Any, module: nn.Module, models: int) -> None:
    """Raise InputError if a parameter has no leading dimension of ``models``: what trains together would be mixed.

    ``field`` is the config group of the module, except of the parameters of its encoding.
    """
    for parameter, values in module.named_parameters():
        if values.shape[:1] != (models,):
            named = "encoding" if parameter.startswith("encoding.") else field
            raise InputError(
                f"{named}={getattr(config, named)['name']}: parameter {parameter.split('.')[-1]} has shape "
                f"{tuple(values.shape)}; must begin with the number of models, as from layers.ensemble_parameter"
            )
