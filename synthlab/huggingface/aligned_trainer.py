"""The metric and the regularizer for causal models of Hugging Face's Transformers. Needs the extra ``lm``."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor, nn

from synthlab.errors import InputError, describe_missing
from synthlab.longshort.misalignment import DISTANCES, Model
from synthlab.longshort.regularizer import AlignedLoss, Distance, draw_extra
from synthlab.longshort.windows import both_contexts, extra_range, min_context
from synthlab.rng import seed_generator

try:
    from transformers import Trainer, TrainerCallback  # pyright: ignore[reportMissingImports]  # of the extra lm
except ImportError as error:
    raise ImportError(describe_missing("synthlab.huggingface.aligned_trainer", "transformers", "lm")) from error


def as_function(model: nn.Module) -> Model:
    """Return a causal model as the function from tokens [B, T] to logits [B, T, V] that ``misalignment`` takes.

    Tokens may be on any device; logits are 32-bit and on the model's device. Dropout is off during the call; afterwards
    each module is in its previous mode. Gradients flow unless the caller disables them, as ``misalignment`` does.
    """

    def logits(tokens: Tensor) -> Tensor:
        device = next(model.parameters()).device
        # Module by module, since some, such as frozen ones, may have been in eval mode before.
        modes = [(module, module.training) for module in model.modules()]
        model.eval()
        try:
            return model(input_ids=tokens.to(device), use_cache=False, return_dict=True).logits.float()
        finally:
            for module, mode in modes:
                module.training = mode

    return logits


def huggingface_loss(
    model: nn.Module,
    input_ids: Int[Tensor, "B T"],
    length: int,
    alpha: float,
    context: float = 0.5,
    labels: Tensor | None = None,
    attention_mask: Tensor | None = None,
    distance: Distance = "sce",
    position_ids: Int[Tensor, "B length"] | None = None,
) -> AlignedLoss:
    """Return ``regularizer.aligned_loss`` of a causal model, in its current mode, on ``length`` + l_extra tokens.

    The training part is the model's own loss, in nats, over all tokens of both windows whose label is not -100; the
    labels, [B, T], are the tokens unless given, and the model shifts them. Both windows are rows of one call, so that a
    model wrapped for several devices runs forward once for each backward pass. ``position_ids``, if given, are the
    positions of both windows of each text. Raises InputError for texts no longer than a window, for texts so long that
    the windows do not overlap enough, for padding, and for positions of a wrong shape.
    """
    if input_ids.shape[1] <= length:
        raise InputError(f"input_ids: have {input_ids.shape[1]} tokens each; must be more than length={length}")
    if attention_mask is not None and not attention_mask.all():
        raise InputError("attention_mask: has zeros; must be all ones, because padded texts are not supported")
    labels = input_ids if labels is None else labels
    placed: dict[str, Tensor] = {}
    if position_ids is not None:
        if position_ids.shape != (len(input_ids), length):
            raise InputError(
                f"position_ids: have shape {tuple(position_ids.shape)}; must have {(len(input_ids), length)}, the "
                f"positions of a window of length={length} for each text"
            )
        # Without a mask Transformers takes each jump of positions for the beginning of another text.
        placed = {"position_ids": position_ids.repeat(2, 1)}
        placed["attention_mask"] = torch.ones_like(placed["position_ids"])
    early, late = both_contexts(length, input_ids.shape[1] - length, min_context(length, context))
    tokens, targets = (torch.cat((text[:, :length], text[:, -length:])) for text in (input_ids, labels))
    outputs = model(input_ids=tokens, labels=targets, use_cache=False, return_dict=True, **placed)
    if outputs.logits is None:
        raise InputError("model: gives no logits along with its loss, as with Liger kernels; must give both")
    first, second = outputs.logits.float().chunk(2)
    apart = DISTANCES[distance](first[:, early], second[:, late]).mean()
    training = outputs.loss.mean()  # one loss for each device, if the model is split over several
    return AlignedLoss(training + alpha * apart, training, apart)


@dataclass(frozen=True)
class Alignment:
    """The settings of ``AlignedTrainer``: ``alpha`` times the misalignment of two windows of ``length`` tokens.

    As fractions of ``length``, ``low`` and ``high`` bound the offset of the windows, and ``context`` is the minimal
    context of both where they are compared. ``distance`` is that of ``aligned_loss``. The defaults are the paper's.
    Raises InputError for settings that do not fit each other.
    """

    length: int
    alpha: float
    low: float = 0.0
    high: float = 0.5
    context: float = 0.5
    seed: int = 0
    distance: Distance = "sce"

    def __post_init__(self):
        bounds = f"low={self.low}, high={self.high}"
        allowed = [
            (self.length >= 2, f"length={self.length}: must be at least 2"),
            (0 <= self.alpha < math.inf, f"alpha={self.alpha}: must be at least 0, and finite"),
            (0 <= self.low <= self.high <= 1, f"{bounds}: must be fractions of length, low at most high"),
            (0 <= self.context <= 1, f"context={self.context}: must be a fraction of length, from 0 to 1"),
        ]
        if problems := [line for is_allowed, line in allowed if not is_allowed]:
            raise InputError(*problems)
        minimal, maximal = self.extras
        if minimal > maximal:
            raise InputError(f"{bounds}: must have a whole number of tokens between them for length={self.length}")
        room = self.length - min_context(self.length, self.context)
        if maximal > room:
            raise InputError(
                f"high={self.high}: offsets up to {maximal}; must be up to {room} at most, for windows of length="
                f"{self.length} are compared where both have seen context={self.context} of it"
            )

    @property
    def extras(self) -> tuple[int, int]:
        """Return the minimal and maximal l_extra, in tokens."""
        return extra_range(self.length, self.low, self.high)


class AlignedTrainer(Trainer):
    """A ``transformers.Trainer`` that minimizes ``huggingface_loss``.

    Batches are texts without padding, ``input_ids`` [B, T] and optionally ``labels``; T is at least ``length`` plus the
    maximal l_extra. ``position_ids`` [B, ``length``], if a batch has them, are those of both windows of each text
    (``synthlab.huggingface.collator.PositionCollator``). Each step samples l_extra and the start of the ``length`` +
    l_extra tokens that it trains on. The samples depend only on ``alignment.seed`` and the step, so a resumed run makes
    the same ones. ``training`` and ``misalignment`` are logged in addition to ``loss``, which is training + alpha *
    misalignment. Batches whose gradients are accumulated have equal weights.

    Evaluation is Trainer's own: cross-entropy of whole texts. Raises InputError for texts that are too short or padded,
    and for settings that would replace the loss.
    """

    # The loss is a mean over a batch; Trainer divides it by the number of accumulated batches.
    loss_is_scaled_for_ga = False

    def __init__(self, *args, alignment: Alignment, **kwargs):
        super().__init__(*args, **kwargs)
        if self.args.label_smoothing_factor != 0:
            raise InputError(f"label_smoothing_factor={self.args.label_smoothing_factor}: must be 0 for AlignedTrainer")
        self.alignment = alignment
        self._draws = _Draws(alignment.seed)
        self.add_callback(self._draws)
        self._parts: Tensor | float = 0.0  # sums since the last log: steps, training, misalignment

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        """Return the aligned loss in training, with the ``AlignedLoss`` as outputs; in evaluation, Trainer's loss."""
        if not model.training:
            return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        how = self.alignment
        settings: dict[str, Any] = {"context": how.context, "distance": how.distance, **self._sample(inputs)}
        loss = huggingface_loss(model, length=how.length, alpha=how.alpha, **settings)
        parts = torch.stack((torch.ones_like(loss.training), loss.training, loss.misalignment)).detach()
        self._parts = self._parts + parts / getattr(self, "current_gradient_accumulation_steps", 1)
        return (loss.total, loss) if return_outputs else loss.total

    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
        """Take Trainer's prediction step; as in training, the labels default to the tokens."""
        return super().prediction_step(
            model, {"labels": inputs["input_ids"], **inputs}, prediction_loss_only, ignore_keys=ignore_keys
        )

    def log(self, logs, start_time=None):
        """Log as Trainer does, with both parts of the loss, averaged over the steps since the last log."""
        if "loss" in logs and torch.is_tensor(self._parts):
            steps, training, misalignment = self.accelerator.reduce(self._parts, reduction="sum").tolist()
            logs |= {"training": training / steps, "misalignment": misalignment / steps}
            self._parts = 0.0
        super().log(logs, start_time)

    def _sample(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return the part of a batch that a step trains on: ``length`` + l_extra tokens of each text."""
        if unknown := sorted(set(inputs) - {"input_ids", "labels", "attention_mask", "position_ids"}):
            raise InputError(
                f"batch: has {', '.join(unknown)}; may have labels, attention_mask and position_ids beside input_ids"
            )
        tokens, (minimal, maximal) = inputs["input_ids"].shape[1], self.alignment.extras
        if tokens < self.alignment.length + maximal:
            raise InputError(
                f"input_ids: have {tokens} tokens each; must be at least {self.alignment.length + maximal} for length="
                f"{self.alignment.length} and offsets up to {maximal}"
            )
        needed = self.alignment.length + draw_extra(minimal, maximal, self._draws.generator)
        start = int(torch.randint(tokens - needed + 1, (), generator=self._draws.generator))
        place = slice(start, start + needed)
        return {name: rows if name == "position_ids" else rows[:, place] for name, rows in inputs.items()}


class _Draws(TrainerCallback):
    """A generator that is seeded at each step, so that checkpoints need not store its state."""

    def __init__(self, seed: int):
        self.seed = seed
        self._begin(0)

    def on_step_begin(self, args, state, control, **kwargs):
        self._begin(state.global_step)

    def _begin(self, step: int) -> None:
        self.generator = seed_generator(np.random.SeedSequence((self.seed, step)))
