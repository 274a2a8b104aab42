"""Divergences of two next-token distributions, from logits."""

from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor


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


# The divergences that the regularizer can minimize. The paper's ``sce`` is minimal for distributions that are equal
# *and* of low entropy.
DISTANCES = {"sce": symmetric_cross_entropy, "excess": symmetric_kl}
