"""Long-short misalignment (paper, equations 1 and 2): how differently a model answers on two suffixes of one text.

Works on any causal model given as a function from tokens [B, T] to logits [B, T, V].

Some models draw their positions at random. With a draw for each window they answer differently on the *same* window,
and that noise is not misalignment. So both windows of a text take their positions from one draw: give ``positions``,
one for each token of the text, and each window keeps those of its tokens.
"""

import math
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from synthlab.alignment.divergence import Divergence, divergence
from synthlab.alignment.windows import both_contexts
from synthlab.errors import InputError

Model = Callable[..., Tensor]  # of tokens [B, T] and, where they are given, their positions [B, T]
Form = Literal["last", "overlap"]
BATCH = 256  # windows in one call of the model, unless said otherwise


class Estimate(NamedTuple):
    """A mean over texts and its standard error."""

    value: float
    error: float

    @classmethod
    def of(cls, values: Float[Tensor, " N"]) -> "Estimate":
        """The mean of ``values``, one for each text; the error of a single one, or of infinite ones, is infinite."""
        values = values.double()
        known = len(values) > 1 and bool(values.isfinite().all())
        error = values.std().item() / math.sqrt(len(values)) if known else math.inf
        return cls(values.mean().item(), error)

    def __str__(self) -> str:
        return f"{self.value:.4g} ± {self.error:.2g}"


class Misalignment(NamedTuple):
    """The long-short misalignment of a model, by each distance of ``divergence.Divergence``: ``sce`` is the paper's."""

    sce: Estimate
    excess: Estimate
    kl: Estimate
    squared: Estimate


@torch.no_grad()
def misalignment(
    model: Model,
    texts: Int[Tensor, "N T"],
    low: int,
    high: int,
    generator: torch.Generator,
    form: Form = "last",
    batch: int = BATCH,
    positions: Int[Tensor, "N P"] | None = None,
) -> Misalignment:
    """Long-short misalignment: how differently a model answers on two suffixes of one text.

    The expectation of equation 2 of *Long-Short Alignment* (arXiv 2506.11769) over texts and over context lengths from
    ``low`` to ``high`` (the paper: half the training length, and all of it). It has two forms. ``last``: for each text
    two lengths l1, l2 are drawn, uniformly and independently, and the answers after its last l1 and its last l2 tokens
    are compared. ``overlap``, which the regularizer minimizes: for each text an offset is drawn, uniformly from 1 to
    ``high - low``, and windows of ``high`` tokens that lie so far apart are compared wherever both have seen ``low``
    tokens or more.

    Args:
        model: Any causal model, as a function from tokens [B, T] to logits [B, T, V]. No gradient is kept.
        texts: N texts of T tokens. ``last`` needs T of ``high`` or more, ``overlap`` of ``2 * high - low``.
        low: The shortest context, in tokens.
        high: The longest context, in tokens.
        generator: For the lengths or offsets; one of the CPU, wherever the model is.
        form: ``last`` or ``overlap``.
        batch: How many windows one call of the model takes at most.
        positions: The position of each token, for models that draw them at random: ``model`` is then called as
            ``model(window, positions of its tokens)``, so that both windows of a text share one draw.

    Returns:
        Four means over texts, each with its standard error. ``sce`` is the paper's symmetric cross-entropy
        H(p, q) + H(q, p), ``excess`` what it has beyond entropy, KL(p || q) + KL(q || p), and ``kl`` that of the answer
        with the longer context from the other (in the form ``last``, of l1), all in nats; ``squared`` is the sum of
        squared differences of probabilities.

    Raises:
        InputError: The lengths do not fit each other, or the texts are too short.

    Example:
        A model whose next token is its last one does not care how long the context is:

        >>> import torch
        >>> from synthlab.alignment.misalignment import misalignment
        >>> def repeat(tokens):
        ...     return 5.0 * torch.nn.functional.one_hot(tokens, 4).float()
        >>> texts = torch.randint(4, (32, 24), generator=torch.Generator().manual_seed(0))
        >>> found = misalignment(repeat, texts, low=8, high=16, generator=torch.Generator().manual_seed(1))
        >>> abs(found.excess.value) < 1e-6, found.sce.value > 0  # equal answers still have their entropy
        (True, True)
    """
    needed = high if form == "last" else 2 * high - low
    if not 1 <= low <= high or (form == "overlap" and low == high):
        raise InputError(f"low={low}: must be at least 1 and {'at most' if form == 'last' else 'under'} high={high}")
    if texts.shape[1] < needed:
        raise InputError(f"texts: have {texts.shape[1]} tokens each; must be at least {needed} for high={high}")
    compare = _at_ends if form == "last" else _along
    distances = compare(model, texts, low, high, generator, batch, positions)
    return Misalignment(*(Estimate.of(values) for values in distances))


def last_logits(
    model: Model,
    texts: Int[Tensor, "N T"],
    lengths: Int[Tensor, " N"],
    batch: int = BATCH,
    positions: Int[Tensor, "N P"] | None = None,
) -> Float[Tensor, "N V"]:
    """The answers after each text's last so many tokens. Windows of one length share calls of the model.

    ``positions`` may be more than the tokens are, for a model that puts tokens of its own around a window, such as BOS
    and EOS: the last so many more are then given.
    """
    more = 0 if positions is None else positions.shape[1] - texts.shape[1]
    parts = []
    for length, rows in _grouped(lengths, batch):
        where = [] if positions is None else [positions[rows, -(length + more) :]]
        parts.append((rows, model(texts[rows, -length:], *where)[:, -1].float()))
    return _in_order(parts)


def _at_ends(model: Model, texts: Tensor, low: int, high: int, generator: torch.Generator, batch: int, positions):
    lengths = torch.randint(low, high + 1, (2, len(texts)), generator=generator)
    twice = None if positions is None else positions.repeat(2, 1)
    first, second = last_logits(model, texts.repeat(2, 1), lengths.flatten(), batch, twice).chunk(2)
    return divergence(first, second)


def _along(model: Model, texts: Tensor, low: int, high: int, generator: torch.Generator, batch: int, positions):
    offsets = torch.randint(1, high - low + 1, (len(texts),), generator=generator)
    given = [texts] if positions is None else [texts, positions]
    parts = []
    for offset, rows in _grouped(offsets, batch):
        longer, shorter = both_contexts(high, offset, low)
        first, second = (model(*(each[rows, start : start + high] for each in given)).float() for start in (0, offset))
        distances = divergence(first[:, longer], second[:, shorter])
        parts.append((rows, torch.stack([values.mean(-1) for values in distances], -1)))
    return Divergence(*_in_order(parts).unbind(-1))


def _grouped(values: Int[Tensor, " N"], batch: int) -> Iterator[tuple[int, Int[Tensor, " rows"]]]:
    """Each value, with the places where it stands, ``batch`` of them at most at once."""
    for value in values.unique().tolist():
        for rows in (values == value).nonzero().squeeze(1).split(batch):
            yield value, rows


def _in_order(parts: list[tuple[Tensor, Tensor]]) -> Float[Tensor, "N F"]:
    """What was found in parts, each with the places of its rows, as one."""
    order = torch.cat([rows for rows, _ in parts]).argsort()
    return torch.cat([found.cpu() for _, found in parts])[order]
