"""The interface of position encodings: an object with hooks.

``embed`` adds to token embeddings, ``rotate`` and ``rotate_keys`` rotate queries and keys, ``sharpen`` returns a factor
for each query's attention logits, ``bias`` returns an offset for them. ``relative`` and ``products`` serve encodings
whose logits are no inner products of rotated vectors. Each hook of the base class does nothing, so NoPE overrides none.
Positions count tokens, from 0, and may differ between rows. ``embed``, ``rotate``, ``rotate_keys`` and ``sharpen`` act
token by token: a row may hold several texts, one after the other.

Three hooks see what the model computes: ``locate`` the hidden states of a layer, from which it makes what takes the
place of positions there, ``adjust`` all logits of a query, and ``weigh`` makes attention weights of them.
"""

import math
from abc import ABC
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import NamedTuple, cast

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from synthlab.models.layers import Generators
from synthlab.runs.sources import Sourced


class Dims(NamedTuple):
    """The sizes of the models that an encoding serves.

    Attributes:
        width: D, the width of the residual stream.
        heads: H, the attention heads, which share the width.
        models: E, the number of models in the ensemble.
        depth: The number of layers.
    """

    width: int
    heads: int
    models: int = 1
    depth: int = 1


Term = tuple[Tensor, Tensor, Tensor]  # factors, queries, keys: see ``Encoding.products``
AddUp = Callable[[Tensor], Tensor]  # see ``Encoding.locate``
HOOKS = ("embed", "rotate", "rotate_keys", "sharpen", "bias", "relative", "products", "locate", "adjust", "weigh")
SEEING = {"locate", "adjust", "weigh"}  # hooks that see more than the positions of a query and a key


class Encoding(Sourced, nn.Module, ABC):
    """A position encoding: hooks, each of which does nothing unless a subclass overrides it.

    An encoding serves an ensemble of E models. A learned parameter has E as its first dimension
    (``synthlab.models.layers.ensemble_parameter``). A constructor takes ``Dims`` as its first, positional-only
    argument; its keyword arguments are the keys of the config group ``encoding``, and their types are checked.

    A class may carry a ``style`` (``synthlab.styles.Style``): how figures name and draw it.

    Letters of shapes: E models, B rows, T tokens, D width, H heads, d = D / H, Q queries, K keys. Positions count
    from 0, the first token; their dimensions of models and rows have size 1 where all share them.

    Example:
        >>> import torch, synthlab
        >>> class Recency(synthlab.Encoding):
        ...     "Logits lowered by the distance, with one slope for all heads."
        ...     def __init__(self, dims, /, slope: float = 0.5):
        ...         super().__init__()
        ...         self.slope = slope
        ...     def bias(self, query, key):
        ...         return self.slope * (key - query).unsqueeze(-3)
        >>> encoding = Recency(synthlab.Dims(width=8, heads=2), slope=0.5)
        >>> query, key = torch.tensor([[[[2]]]]), torch.tensor([[[[0, 1, 2]]]])
        >>> encoding.bias(query, key).tolist()
        [[[[[-1.0, -0.5, 0.0]]]]]
        >>> encoding.longest(), encoding.sharpen(key[..., 0, :])
        (inf, None)
    """

    # True for random positions, which ``positions`` draws for each text, in training and in tests.
    draws_positions = False
    # True if each layer has an encoding of its own, with its own parameters; else one serves all layers.
    for_each_layer = False

    def __init__(self, dims: Dims | None = None, /):
        super().__init__()

    @property
    def packs(self) -> bool:
        """True if each prefix of a text is encoded as it would be alone, so that all prefixes can share a row."""
        return not self.draws_positions and self.alike_up_to(1) == math.inf

    @property
    def hooks(self) -> frozenset[str]:
        """The names of the hooks that this encoding overrides."""
        return find_hooks(type(self), Encoding)

    @property
    def needs_softmax(self) -> bool:
        """True if linear attention cannot use this encoding."""
        return bool(self.hooks & {"adjust", "weigh"})

    def at_layer(self, layer: int) -> "Encoding":
        """Return the encoding of a layer, counted from 0."""
        return self

    def initialise(self, generators: Generators) -> None:
        """Initialize the learned parameters.

        Args:
            generators: A generator for each of the E models, as ``synthlab.models.layers.init_normal`` takes them.
        """

    def longest(self) -> float:
        """Return the length, in tokens, of the longest text that this encoding can serve; usually infinity."""
        return math.inf

    def alike_up_to(self, length: int) -> float:
        """Return the longest text, in tokens, that leaves the encoding of its first ``length`` tokens unchanged.

        This is infinity for most: only an encoding that depends on the text's length has a limit.
        """
        return math.inf

    def positions(
        self, lengths: Int[Tensor, " B"], count: int, generator: torch.Generator
    ) -> Int[Tensor, "B T"] | None:
        """Return the positions of the tokens of texts, each in a row of ``count`` tokens, with padding behind it.

        Args:
            lengths: The number of tokens of each text.
            count: T, the number of tokens of a row.
            generator: The source of random positions.

        Returns:
            The positions of each row; None if all rows have 0, 1, 2, ... Padding has the position of the last token, so
            that a text is not longer with padding than without.
        """
        return None if self.packs else torch.minimum(torch.arange(count), (lengths - 1)[:, None])

    def embed(self, h: Float[Tensor, "E B T D"], positions: Int[Tensor, "#E #B T"]) -> Float[Tensor, "E B T D"]:
        """Add positions to token embeddings.

        Args:
            h: Token embeddings.
            positions: The position of each token.

        Returns:
            The embeddings that the first layer reads.
        """
        return h

    def rotate(
        self, v: Float[Tensor, "E B T H d"], positions: Shaped[Tensor, "#E #B T *C"]
    ) -> Float[Tensor, "E B T H p"]:
        """Rotate queries, and keys unless there is ``rotate_keys``, by their positions.

        Args:
            v: Queries or keys of each head.
            positions: The position of each token.

        Returns:
            The rotated queries or keys, of any width; the logits are their inner products, divided by sqrt(d).
        """
        return v

    def rotate_keys(
        self, k: Float[Tensor, "E B T H d"], positions: Shaped[Tensor, "#E #B T *C"]
    ) -> Float[Tensor, "E B T H p"]:
        """Rotate keys by their positions, where they differ from queries.

        Args:
            k: Keys of each head.
            positions: The position of each token.

        Returns:
            The rotated keys, as wide as rotated queries.
        """
        return self.rotate(k, positions)

    def sharpen(self, positions: Shaped[Tensor, "#E #B T *C"]) -> Float[Tensor, "#E #B T *H"] | None:
        """Return the factor for each query's attention logits.

        Args:
            positions: The position of each query.

        Returns:
            The logit scale of each query, a factor, or one for each head; None for 1.
        """
        return None

    def bias(
        self, query: Shaped[Tensor, "#E #B Q 1 *C"], key: Shaped[Tensor, "#E #B Q K *C"]
    ) -> Float[Tensor, "#E #B H Q K"] | None:
        """Return what to add to attention logits.

        Args:
            query: The position of each query.
            key: The positions of its keys; those after it are masked in any case.

        Returns:
            The bias of each head's logits; None for 0.
        """
        return None

    def relative(
        self, query: Shaped[Tensor, "#E #B Q 1 *C"], key: Shaped[Tensor, "#E #B Q K *C"]
    ) -> Float[Tensor, "#E #B 1 Q K"] | None:
        """Compute the relative positions that ``products`` takes, once for all layers.

        Args:
            query: The position of each query.
            key: The positions of its keys; those after it are masked in any case.

        Returns:
            A relative position for each query and key, in double precision; None if ``products`` needs none.
        """
        return None

    def products(
        self, q: Float[Tensor, "*q d"], k: Float[Tensor, "*k d"], relative: Float[Tensor, "*M Q K"]
    ) -> Iterable[Term]:
        """Write the logits of queries and keys before scaling as a sum of terms; only called with relative positions.

        Args:
            q: Queries of each head, rotated by ``rotate``.
            k: Keys of each head, rotated by ``rotate``.
            relative: What ``relative`` returned, in the layout of the logits.

        Returns:
            The terms: a factor for each logit, and the queries and keys whose inner products it multiplies.
        """
        raise NotImplementedError

    def locate(
        self, h: Float[Tensor, "E B T D"], positions: Int[Tensor, "#E #B T"], add_up: AddUp
    ) -> Shaped[Tensor, "#E #B T *C"]:
        """Return what takes the place of positions in the other hooks of a layer, but ``embed``.

        Tokens may be mixed by ``add_up`` alone: a row may hold several texts, and the prefixes of one.

        Args:
            h: The hidden states that attention of this layer reads.
            positions: The position of each token.
            add_up: Function that adds up numbers [E, B, T, *C] along each text: it returns for each token the sum over
                the tokens up to itself.

        Returns:
            A number for each token, or an array of C of them, such as one for each head. Hooks that take the positions
            of a query and its keys then get [E, B, Q, 1, *C] and [E, B, Q, K, *C].
        """
        return positions

    def adjust(
        self,
        logits: Float[Tensor, "E B H Q K"],
        q: Float[Tensor, "E B H Q p"],
        mask: Bool[Tensor, "*#rows Q K"],
        bias: Float[Tensor, "#E #B #H Q K"] | None,
    ) -> Float[Tensor, "E B H Q K"]:
        """Return the attention logits of each query, given all of them.

        Args:
            logits: The scaled logits, ``bias`` included. Keys are in the order of the text, and the last that a query
                sees is its own token.
            q: Queries of each head, rotated by ``rotate`` and multiplied by the logit scale.
            mask: True where a query sees a key. Logits of other keys do not matter, but they are there.
            bias: What ``bias`` returned.

        Returns:
            The logits that the mask and softmax apply to.
        """
        return logits

    def weigh(self, logits: Float[Tensor, "E B H Q K"]) -> Float[Tensor, "E B H Q K"]:
        """Return the attention weights of each query, by another function of its logits than softmax.

        Args:
            logits: The logits, minus infinity where a query does not see a key. Keys are in the order of the text, and
                the last that a query sees is its own token.

        Returns:
            The weights by which values are summed; 0 where a query does not see a key.
        """
        return logits.softmax(-1)


@cache
def find_hooks(cls: type[Encoding], base: type[Encoding]) -> frozenset[str]:
    """Return the names of the hooks that a class has and ``base`` has not, or has otherwise."""
    return frozenset(name for name in HOOKS if getattr(cls, name) is not getattr(base, name))


def add_products(terms: Iterable[Term], multiply: Callable[[Tensor, Tensor], Tensor]) -> Float[Tensor, "*N Q K"]:
    """Return the sum of ``terms``; ``multiply`` returns the inner products of queries and keys."""
    total: Tensor | None = None
    for factor, queries, keys in terms:
        product = multiply(queries, keys)
        total = torch.addcmul(product.new_zeros(()) if total is None else total, factor, product)
    return cast(Tensor, total)


def stack_positions(
    encoding: Encoding, lengths: Int[Tensor, "M B"], count: int, generators: Sequence[torch.Generator]
) -> Int[Tensor, "M B T"] | None:
    """Return ``Encoding.positions`` of the texts of M models, each drawn by its own generator."""
    drawn = [encoding.positions(each, count, generator) for each, generator in zip(lengths, generators, strict=True)]
    return None if drawn[0] is None else torch.stack(cast(list[Tensor], drawn))


def encoding_of(model: nn.Module) -> Encoding:
    """Return the position encoding of a model: its attribute ``encoding``."""
    return cast(Encoding, model.encoding)
