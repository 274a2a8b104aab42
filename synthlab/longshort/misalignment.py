"""Long-short misalignment of any causal model (paper, equations 1 and 2).

It is the divergence of the model's predictions on two suffixes of a text. With random positions, both windows of a text
share one draw: two draws differ even on the *same* window, and that noise is not misalignment.
"""

import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from synthlab.errors import InputError
from synthlab.longshort.windows import both_contexts

Model = Callable[..., Tensor]  # from tokens [B, T] (and positions [B, T], if given) to logits [B, T, V]
Form = Literal["last", "overlap"]
BATCH = 256  # default number of windows in one call of the model


class Divergence(NamedTuple):
    """Divergences of two distributions p and q over tokens, for each pair; in nats except ``squared``."""

    sce: Float[Tensor, "*N"]  # symmetric cross-entropy H(p, q) + H(q, p) of equation 1: for p = q it is 2 H(p), not 0
    excess: Float[Tensor, "*N"]  # symmetric KL divergence (Jeffreys), KL(p || q) + KL(q || p) = sce - H(p) - H(q)
    kl: Float[Tensor, "*N"]  # KL(p || q)
    squared: Float[Tensor, "*N"]  # the sum of squared differences of probabilities


def divergence(p: Float[Tensor, "*N V"], q: Float[Tensor, "*M V"]) -> Divergence:
    """Return the divergences of softmax(p) and softmax(q), given logits p and q.

    Where a token has probability 0 under only one of them, all but ``squared`` are infinite. Raises ValueError for
    unequal shapes, which would otherwise broadcast.
    """
    log_p, log_q = _log_probabilities(p, q)
    p, q = log_p.exp(), log_q.exp()
    ratio = _log_ratio(log_p, log_q)
    return Divergence(
        sce=_cross_entropy(p, log_q) + _cross_entropy(q, log_p),
        excess=((p - q) * ratio).sum(-1),  # no term is negative, so none cancel
        kl=(p * ratio.masked_fill(p == 0, 0)).sum(-1),
        squared=(p - q).square().sum(-1),
    )


def symmetric_cross_entropy(p: Float[Tensor, "*N V"], q: Float[Tensor, "*M V"]) -> Float[Tensor, "*N"]:
    """Return equation 1 from logits: see ``Divergence.sce``. Gradients flow through both arguments."""
    log_p, log_q = _log_probabilities(p, q)
    return _cross_entropy(log_p.exp(), log_q) + _cross_entropy(log_q.exp(), log_p)


def symmetric_kl(p: Float[Tensor, "*N V"], q: Float[Tensor, "*M V"]) -> Float[Tensor, "*N"]:
    """Return KL(p || q) + KL(q || p) from logits: see ``Divergence.excess``. Gradients flow through both arguments."""
    log_p, log_q = _log_probabilities(p, q)
    return ((log_p.exp() - log_q.exp()) * _log_ratio(log_p, log_q)).sum(-1)


def sum_entropies(p: Float[Tensor, "*N V"], q: Float[Tensor, "*M V"]) -> Float[Tensor, "*N"]:
    """Return H(p) + H(q) from logits: equation 1 less ``symmetric_kl``. Gradients flow through both arguments."""
    log_p, log_q = _log_probabilities(p, q)
    return _cross_entropy(log_p.exp(), log_p) + _cross_entropy(log_q.exp(), log_q)


def _log_probabilities(
    p: Float[Tensor, "*N V"], q: Float[Tensor, "*M V"]
) -> tuple[Float[Tensor, "*N V"], Float[Tensor, "*M V"]]:
    if p.shape != q.shape:
        raise ValueError(f"p has shape {tuple(p.shape)}, q {tuple(q.shape)}: must be equal")
    return p.log_softmax(-1), q.log_softmax(-1)


def _log_ratio(log_p: Float[Tensor, "*N V"], log_q: Float[Tensor, "*N V"]) -> Float[Tensor, "*N V"]:
    """Return log(p / q), with 0 for tokens of probability 0 under both."""
    return (log_p - log_q).masked_fill((log_p.exp() == 0) & (log_q.exp() == 0), 0)


def _cross_entropy(p: Float[Tensor, "*N V"], log_q: Float[Tensor, "*N V"]) -> Float[Tensor, "*N"]:
    # Tokens of probability 0 under p add 0, even where log_q is -inf (0 * inf would be NaN).
    return -(p * log_q.masked_fill(p == 0, 0)).sum(-1)


# What the regularizer can minimize. The paper's ``sce`` is the sum of the two others: it is minimal for distributions
# that are equal *and* of low entropy.
DISTANCES = {"sce": symmetric_cross_entropy, "excess": symmetric_kl, "entropy": sum_entropies}


class Estimate(NamedTuple):
    """A mean over texts and its standard error."""

    value: float
    error: float

    @classmethod
    def from_values(cls, values: Float[Tensor, " N"]) -> "Estimate":
        """Return the mean of ``values``, one for each text, and its standard error.

        The error is infinite for a single value, and for infinite values.
        """
        values = values.double()
        known = len(values) > 1 and bool(values.isfinite().all())
        error = values.std().item() / math.sqrt(len(values)) if known else math.inf
        return cls(values.mean().item(), error)

    def __str__(self) -> str:
        return f"{self.value:.4g} ± {self.error:.2g}"


class Misalignment(NamedTuple):
    """The long-short misalignment of a model, by each of the divergences of ``Divergence``; the paper's is ``sce``."""

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
    """Return the divergence of a model's predictions on two suffixes of one text, averaged over texts.

    Equation 2 of *Long-Short Alignment* (arXiv 2506.11769), with contexts of ``low`` to ``high`` tokens (in the paper,
    half the training length to all of it), in two forms. ``last`` draws two lengths l1, l2 for each text, uniformly,
    and compares the predictions after its last l1 and its last l2 tokens. ``overlap``, which the regularizer minimizes,
    draws an offset for each text, uniformly from 1 to ``high - low``, and compares two windows of ``high`` tokens at
    this offset wherever both have a context of ``low`` tokens or more.

    Args:
        model: Any causal model, as a function from tokens [B, T] to logits [B, T, V]. No gradient is kept.
        texts: N texts of T tokens. ``last`` needs T of ``high`` or more, ``overlap`` of ``2 * high - low``.
        low: The shortest context, in tokens.
        high: The longest context, in tokens.
        generator: The source of lengths or offsets, on the CPU.
        form: ``last`` or ``overlap``.
        batch: The maximal number of windows in one call of the model.
        positions: The position of each token, for models with random positions. The model is then called as
            ``model(window, positions of its tokens)``, so that both windows of a text share one draw.

    Returns:
        For each divergence of ``Divergence`` the mean over texts and its standard error; p is the prediction with the
        longer context (in the form ``last``, that of l1), and the paper's divergence is ``sce``.

    Raises:
        InputError: An argument is of another type, the lengths do not fit each other, or the texts are too short.

    Example:
        The predictions of a model that repeats the last token do not depend on the context length:

        >>> import torch
        >>> from synthlab.longshort.misalignment import misalignment
        >>> def repeat(tokens):
        ...     return 5.0 * torch.nn.functional.one_hot(tokens, 4).float()
        >>> texts = torch.randint(4, (32, 24), generator=torch.Generator().manual_seed(0))
        >>> estimate = misalignment(repeat, texts, low=8, high=16, generator=torch.Generator().manual_seed(1))
        >>> abs(estimate.excess.value) < 1e-6, estimate.sce.value > 0  # sce includes the entropies
        (True, True)
    """
    needed = high if form == "last" else 2 * high - low
    if not 1 <= low <= high or (form == "overlap" and low == high):
        raise InputError(f"low={low}: must be from 1 to high={high}, and less for form=overlap")
    if texts.shape[1] < needed:
        raise InputError(f"texts: have {texts.shape[1]} tokens each; must be {needed} for high={high}")
    inputs = [texts] if positions is None else [texts, positions]
    stacked = [each[None] for each in inputs]
    distances = measure_distances(_stack_one(model), stacked, low, high, [generator], form, batch)
    return Misalignment(*(Estimate.from_values(values[0]) for values in distances))


def measure_distances(
    models: Model,
    inputs: Sequence[Int[Tensor, "M N _"]],
    low: int,
    high: int,
    generators: Sequence[torch.Generator],
    form: Form = "last",
    batch: int = BATCH,
) -> Divergence:
    """Return the divergences [M, N] that ``misalignment`` averages, of M models with logits [M, B, T, V].

    Args:
        models: The models, as a function of ``inputs``.
        inputs: Texts of T tokens, and their positions if they have any.
        low: The shortest context, in tokens.
        high: The longest context, in tokens.
        generators: The source of each model's lengths or offsets, on the CPU.
        form: ``last`` or ``overlap``.
        batch: The maximal number of windows of each model in one call.
    """
    count = inputs[0].shape[1]
    batch = min(batch, 2 * count)
    if form == "last":
        lengths = torch.stack([torch.randint(low, high + 1, (2 * count,), generator=each) for each in generators])
        twice = [each.repeat(1, 2, 1) for each in inputs]
        return divergence(*_last_logits(models, twice, lengths, batch).chunk(2, 1))
    offsets = torch.stack([torch.randint(1, high - low + 1, (count,), generator=each) for each in generators])

    def compare(offset: int, *texts: Tensor) -> Tensor:
        longer, shorter = both_contexts(high, offset, low)
        first, second = (models(*(each[..., start : start + high] for each in texts)).float() for start in (0, offset))
        distances = divergence(first[..., longer, :], second[..., shorter, :])
        return torch.stack([values.mean(-1) for values in distances], -1)

    return Divergence(*_by_value(offsets, inputs, batch, compare).unbind(-1))


def last_logits(
    model: Model,
    texts: Int[Tensor, "N T"],
    lengths: Int[Tensor, " N"],
    batch: int = BATCH,
    positions: Int[Tensor, "N P"] | None = None,
) -> Float[Tensor, "N V"]:
    """Return the logits after the last ``lengths[i]`` tokens of each text i.

    Windows of equal length share calls of the model. Where ``positions`` has more columns than ``texts``, the model
    adds tokens to a window: BOS and EOS.
    """
    inputs = [texts[None]] if positions is None else [texts[None], positions[None]]
    return _last_logits(_stack_one(model), inputs, lengths[None], batch)[0]


def _stack_one(model: Model) -> Model:
    """Return a user's model as one of a stack."""
    return lambda *inputs: model(*(each[0] for each in inputs)).unsqueeze(0)


def _last_logits(
    models: Model, inputs: Sequence[Int[Tensor, "M N _"]], lengths: Int[Tensor, "M N"], batch: int
) -> Float[Tensor, "M N V"]:
    columns = inputs[0].shape[-1]

    def answer(length: int, *texts: Tensor) -> Tensor:
        return models(*(each[..., columns - each.shape[-1] - length :] for each in texts))[..., -1, :].float()

    return _by_value(lengths, inputs, batch, answer)


def _by_value(
    values: Int[Tensor, "M N"],
    inputs: Sequence[Int[Tensor, "M N _"]],
    batch: int,
    compute: Callable[..., Tensor],
) -> Float[Tensor, "M N F"]:
    """Return what ``compute`` gives, [M, B, F], for a value and those rows of ``inputs`` that have it.

    At most ``batch`` rows of each model are given at a time. A model with fewer is given others in their place.
    """
    models, found = torch.arange(len(values)).unsqueeze(1), None
    for value in values.unique().tolist():
        has = values == value
        order, counts = has.int().argsort(dim=1, descending=True, stable=True), has.sum(1, keepdim=True)
        for rows in order[:, : counts.max()].split(batch, 1):
            computed = compute(value, *(each[models, rows] for each in inputs)).cpu()
            if found is None:
                found = computed.new_empty(*values.shape, computed.shape[-1])
            model, place = has.gather(1, rows).nonzero(as_tuple=True)
            found[model, rows[model, place]] = computed[model, place]
    return cast(Tensor, found)
