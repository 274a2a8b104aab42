"""How far apart two answers of a language model are, from logits."""

from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor


class Divergence(NamedTuple):
    """Distances of two distributions p and q over tokens, in nats but for the last: one for each pair.

    ``sce``: the symmetric cross-entropy H(p, q) + H(q, p) of equation 1. It is H(p) + H(q) for equal distributions, not
    0. ``excess``: what it has beyond that, KL(p || q) + KL(q || p). ``kl``: KL(p || q). ``squared``: the sum of
    squared differences of probabilities.
    """

    sce: Float[Tensor, "*N"]
    excess: Float[Tensor, "*N"]
    kl: Float[Tensor, "*N"]
    squared: Float[Tensor, "*N"]


def divergence(p: Float[Tensor, "*N V"], q: Float[Tensor, "*M V"]) -> Divergence:
    """Of the distributions that two tensors of logits stand for. Raises ValueError for unequal shapes, which would
    broadcast.

    A token whose logit is -inf has probability 0 and adds nothing, unless the other distribution allows it: then all
    but ``squared`` are infinite.
    """
    log_p, log_q = _log_probabilities(p, q)
    p, q = log_p.exp(), log_q.exp()
    ratio = _log_ratio(log_p, log_q)
    return Divergence(
        sce=_cross_entropy(p, log_q) + _cross_entropy(q, log_p),
        excess=((p - q) * ratio).sum(-1),  # no term of it is negative, so nothing cancels
        kl=(p * ratio.masked_fill(p == 0, 0)).sum(-1),
        squared=(p - q).square().sum(-1),
    )


def symmetric_cross_entropy(p: Float[Tensor, "*N V"], q: Float[Tensor, "*M V"]) -> Float[Tensor, "*N"]:
    """Equation 1 alone, from logits: see ``Divergence.sce``. Gradients flow through both."""
    log_p, log_q = _log_probabilities(p, q)
    return _cross_entropy(log_p.exp(), log_q) + _cross_entropy(log_q.exp(), log_p)


def symmetric_kl(p: Float[Tensor, "*N V"], q: Float[Tensor, "*M V"]) -> Float[Tensor, "*N"]:
    """KL(p || q) + KL(q || p) alone, from logits: see ``Divergence.excess``. Gradients flow through both."""
    log_p, log_q = _log_probabilities(p, q)
    return ((log_p.exp() - log_q.exp()) * _log_ratio(log_p, log_q)).sum(-1)


def _log_probabilities(
    p: Float[Tensor, "*N V"], q: Float[Tensor, "*M V"]
) -> tuple[Float[Tensor, "*N V"], Float[Tensor, "*M V"]]:
    if p.shape != q.shape:
        raise ValueError(f"p has shape {tuple(p.shape)}, q {tuple(q.shape)}: must be equal")
    return p.log_softmax(-1), q.log_softmax(-1)


def _log_ratio(log_p: Float[Tensor, "*N V"], log_q: Float[Tensor, "*N V"]) -> Float[Tensor, "*N V"]:
    """log(p / q), and 0 for what neither allows."""
    return (log_p - log_q).masked_fill((log_p.exp() == 0) & (log_q.exp() == 0), 0)


def _cross_entropy(p: Float[Tensor, "*N V"], log_q: Float[Tensor, "*N V"]) -> Float[Tensor, "*N"]:
    # What has probability 0 under p counts nothing, even where log_q is -inf: 0 times that would be no number.
    return -(p * log_q.masked_fill(p == 0, 0)).sum(-1)


# What a regularizer can minimize. The paper's, ``sce``, is least for answers that are equal *and* sure of themselves.
DISTANCES = {"sce": symmetric_cross_entropy, "excess": symmetric_kl}
