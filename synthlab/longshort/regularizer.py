"""The regularizer (paper, equation 4 and section 4.2): training loss plus alpha times the misalignment of two windows.

This follows the equations. The listing of appendix D differs: its ``SCE`` adds H(p2, p1) and the entropy H(p1) in place
of H(p1, p2), its ``log_softmax`` runs over the batch, its slices begin one place late (at the largest l_extra they are
empty), and it averages losses of calls without labels.
"""

import math
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from synthlab.longshort.misalignment import DISTANCES, Model
from synthlab.longshort.windows import both_contexts, min_context

Distance = Literal["sce", "excess", "entropy"]


class AlignedLoss(NamedTuple):
    """L_train + alpha * L_misalign (equation 4), and its parts; one number for each leading dimension."""

    total: Float[Tensor, "*E"]
    training: Float[Tensor, "*E"]
    misalignment: Float[Tensor, "*E"]


def aligned_loss(
    model: Model,
    tokens: Int[Tensor, "B T"],
    length: int,
    alpha: float | int,
    context: float | int = 0.5,
    distance: Distance = "sce",
    positions: Int[Tensor, "B T"] | None = None,
) -> AlignedLoss:
    """Return the training loss plus ``alpha`` times the misalignment of two windows of one text.

    Equation 4 of *Long-Short Alignment* (arXiv 2506.11769). The windows are the first and the last ``length`` tokens of
    each text: two forward passes, and gradients through both.

    Args:
        model: Any causal model, as a function from tokens [B, T] to logits [B, T, V].
        tokens: B texts of ``length`` + l_extra tokens. The caller samples l_extra, uniformly from 1 to
            ``length`` / 2 (``synthlab.longshort.regularizer.draw_extra``).
        length: The tokens of a window: the training length.
        alpha: The weight of the misalignment, 0 or more.
        context: The minimal context of both windows where they are compared, as a fraction of ``length``.
        distance: ``sce``, the symmetric cross-entropy of equation 1, or one of its two parts: ``excess``, the symmetric
            KL divergence, or ``entropy``, the sum of both entropies, which compares nothing.
        positions: The position of each token, for models with random positions, as in ``misalignment``.

    Returns:
        ``total`` = ``training`` + alpha * ``misalignment``, and both parts, in nats. ``training`` is the mean
        cross-entropy of next tokens over both windows.

    Raises:
        InputError: An argument is of another type, or no place has enough context in both windows.

    Example:
        >>> import torch
        >>> from synthlab.longshort.regularizer import aligned_loss
        >>> model = torch.nn.Sequential(torch.nn.Embedding(4, 8), torch.nn.Linear(8, 4))
        >>> tokens = torch.randint(4, (16, 12 + 3))
        >>> loss = aligned_loss(model, tokens, length=12, alpha=0.1)
        >>> loss.total.backward()
        >>> bool(torch.isclose(loss.total, loss.training + 0.1 * loss.misalignment))
        True
    """
    inputs = [tokens] if positions is None else [tokens, positions]
    windows = slice(None, length), slice(-length, None)
    first, second = (model(*(each[:, window] for each in inputs)) for window in windows)
    return combine_losses(first, second, tokens, float(alpha), min_context(length, context), distance)


def combine_losses(
    first: Float[Tensor, "*E B L V"],
    second: Float[Tensor, "*E B L V"],
    tokens: Int[Tensor, "*E B T"],
    alpha: float | Float[Tensor, "*E"],
    context: int,
    distance: Distance = "sce",
) -> AlignedLoss:
    """Return the loss from the logits of the first and the second window of ``tokens``. ``context`` counts tokens."""
    length = first.shape[-2]
    training = (next_token_loss(first, tokens[..., :length]) + next_token_loss(second, tokens[..., -length:])) / 2
    early, late = both_contexts(length, tokens.shape[-1] - length, context)
    apart = DISTANCES[distance](first[..., early, :], second[..., late, :]).mean((-2, -1))
    return AlignedLoss(training + alpha * apart, training, apart)


def next_token_loss(logits: Float[Tensor, "*E B L V"], tokens: Int[Tensor, "*E B L"]) -> Float[Tensor, "*E"]:
    """Return the mean cross-entropy, in nats, of each token but the first, given those before it in its window."""
    nothing = -100  # the target after a window's last token; to leave out the logits there would copy all others
    targets = F.pad(tokens[..., 1:].long(), (0, 1), value=nothing)
    flat, length = logits.flatten(0, -2), tokens.shape[-1]
    losses = F.cross_entropy(flat, targets.flatten(), reduction="none", ignore_index=nothing).view(tokens.shape)
    return losses.mean((-2, -1)) * (length / (length - 1) if length > 1 else math.nan)


def draw_extra(low: int, high: int, generator: torch.Generator) -> int:
    """Sample l_extra, uniform on the integers from ``low`` to ``high``, both included."""
    return int(torch.randint(low, high + 1, (), generator=generator))
