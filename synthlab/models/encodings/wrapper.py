"""The base class of encodings that wrap another encoding."""

from collections.abc import Mapping
from typing import Any

from synthlab.errors import InputError
from synthlab.models.encodings.base import Encoding, find_hooks
from synthlab.models.encodings.by_layer import Layered


class EncodingWrapper(Encoding):
    """A wrapper around another encoding: every hook calls that of ``inner`` unless a subclass overrides it.

    A subclass that changes the positions themselves overrides ``positions``, ``longest``, ``draws_positions`` and
    ``at_layer``. Raises InputError for an inner encoding that differs by layer if a subclass does not override that.
    """

    def __init__(self, inner: Encoding):
        super().__init__()
        if isinstance(inner, Layered) and type(self).at_layer is Encoding.at_layer:
            raise InputError("encoding.inner=by_layer: must be one for all layers; choose encoding=by_layer around it")
        self.inner, self.for_each_layer = inner, inner.for_each_layer

    @property
    def hooks(self):
        return self.inner.hooks | find_hooks(type(self), EncodingWrapper)

    @property
    def needs_softmax(self):
        return self.inner.needs_softmax or super().needs_softmax

    def initialise(self, generators):
        self.inner.initialise(generators)

    def longest(self):
        return self.inner.longest()

    def alike_up_to(self, length):
        return self.inner.alike_up_to(length)

    def embed(self, h, positions):
        return self.inner.embed(h, positions)

    def rotate(self, v, positions):
        return self.inner.rotate(v, positions)

    def rotate_keys(self, k, positions):
        return self.inner.rotate_keys(k, positions)

    def sharpen(self, positions):
        return self.inner.sharpen(positions)

    def bias(self, query, key):
        return self.inner.bias(query, key)

    def relative(self, query, key):
        return self.inner.relative(query, key)

    def products(self, q, k, relative):
        return self.inner.products(q, k, relative)

    def locate(self, h, positions, add_up):
        return self.inner.locate(h, positions, add_up)

    def adjust(self, logits, q, mask, bias):
        return self.inner.adjust(logits, q, mask, bias)

    def weigh(self, logits):
        return self.inner.weigh(logits)

    def check_positions(self, inner: Mapping[str, Any]) -> None:
        """Raise InputError if ``inner`` locates tokens by hidden states, for a subclass that needs their positions."""
        if "locate" in self.inner.hooks:
            raise InputError(f"encoding.inner={inner['name']}: has no positions that another encoding could use")
