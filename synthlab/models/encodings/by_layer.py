"""Encodings that differ by layer."""

import inspect
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any, cast

from pydantic import BeforeValidator, Field
from torch import nn

from synthlab.errors import InputError
from synthlab.models.encodings.base import Dims, Encoding
from synthlab.runs.composition import compose
from synthlab.styles import CORAL, DASHES, Style


class Layered(Encoding):
    """An encoding for each layer of a model: ``layers``, in which one may occur several times.

    The first layer's adds to token embeddings, so no other one does.
    """

    def __init__(self, layers: Sequence[Encoding]):
        super().__init__()
        members = list(dict.fromkeys(layers))
        self.members = cast(Sequence[Encoding], nn.ModuleList(members))
        self.places = [members.index(each) for each in layers]
        self.draws_positions = layers[0].draws_positions

    def at_layer(self, layer):
        return self.members[self.places[layer]]

    @property
    def hooks(self):
        return frozenset[str]().union(*(each.hooks for each in self.members))

    @property
    def needs_softmax(self):
        return any(each.needs_softmax for each in self.members)

    def initialise(self, generators):
        for each in self.members:
            each.initialise(generators)

    def longest(self):
        return min(each.longest() for each in self.members)

    def alike_up_to(self, length):
        return min(each.alike_up_to(length) for each in self.members)

    def positions(self, lengths, count, generator):
        drawing = self.members[0] if self.draws_positions else super()
        return drawing.positions(lengths, count, generator)

    def embed(self, h, positions):
        return self.members[0].embed(h, positions)


def _complete(layers: Any) -> Any:
    """Return ``layers`` with a mapping in place of each name, and with the defaults of the named file's settings."""
    from synthlab.models.encodings import ENCODINGS  # not at the top: this module imports this class

    if not isinstance(layers, list):
        return layers
    completed = []
    for place, layer in enumerate(layers):
        given = layer if isinstance(layer, Mapping) else {"name": layer}
        parameters = inspect.signature(ENCODINGS.find(given.get("name"), str(place))).parameters.values()
        needed = {each.name for each in parameters if each.kind != each.POSITIONAL_ONLY and each.default is each.empty}
        completed.append({**(_read_defaults(given["name"]) if needed - given.keys() else {}), **given})
    return completed


@cache
def _read_defaults(name: str) -> dict[str, Any]:
    return compose([f"encoding={name}"])["encoding"]


class ByLayer(Layered):
    """Encodings by layer: layer i has that of ``layers`` at i modulo their number.

    Each is a name, or a mapping with a name and some settings. Layers that have the same one share its parameters,
    unless its class has them for each layer (``Encoding.for_each_layer``). Such models: Yang et al., 2025, arXiv
    2501.18795; SmolLM3, which has NoPE in every fourth layer and RoPE in the others.
    """

    style = Style("by layer", CORAL, DASHES, "|")

    def __init__(
        self,
        dims: Dims,
        /,
        layers: Annotated[list[Mapping[str, Any]], BeforeValidator(_complete), Field(min_length=1)],
    ):
        from synthlab.models.encodings import ENCODINGS  # not at the top: this module imports this class

        if len(layers) > dims.depth:
            raise InputError(f"encoding.layers: names {len(layers)} layers; must be at most model.depth={dims.depth}")
        made: list[Encoding] = []
        for layer in range(dims.depth):
            place = layer % len(layers)
            is_first = layer < len(layers)
            if is_first or made[place].for_each_layer:
                made.append(ENCODINGS.build(layers[place], dims, field=f"encoding.layers.{place}"))
            else:
                made.append(made[place])
            if is_first:
                self._check(f"encoding.layers.{place}={layers[place]['name']}", made[place], place)
        super().__init__(made)

    @staticmethod
    def _check(setting: str, encoding: Encoding, place: int) -> None:
        """Raise InputError for an encoding that cannot be that of a single layer."""
        if encoding.draws_positions:
            raise InputError(
                f"{setting}: draws positions, which layers share; choose encoding=randomized around by_layer"
            )
        if isinstance(encoding, Layered):
            raise InputError(f"{setting}: must be an encoding of one layer")
        if place and "embed" in encoding.hooks:
            raise InputError(f"{setting}: adds to token embeddings, which only the first layer reads; must come first")
