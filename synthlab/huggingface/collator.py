"""Samplers of position ids for models of Hugging Face's Transformers, as data collators. Needs the extra ``lm``."""

import copy
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.utils.data import get_worker_info

from synthlab.errors import InputError, describe_missing
from synthlab.positions.samplers import PositionSampler
from synthlab.rng import seed_generator

try:
    from transformers import (  # pyright: ignore[reportMissingImports]  # of the extra lm
        TrainerCallback,
        default_data_collator,
    )
except ImportError as error:
    raise ImportError(describe_missing("synthlab.huggingface.collator", "transformers", "lm")) from error

Collator = Callable[[list[Any]], Mapping[str, Any]]


class PositionCollator(TrainerCallback):
    """A data collator that gives the texts of a batch ``position_ids`` [B, T] of a sampler.

    Pass it to a ``Trainer`` twice: as ``data_collator``, and in ``callbacks``. As a callback it leaves the trainer's
    evaluation at positions 0, 1, 2, ..., and gets the number of batches trained on, so that a resumed run continues
    with the positions of an uninterrupted one. In your own loop the collator alone is enough: it counts the batches
    that it makes.

    The positions of a batch depend only on ``seed`` and on the number of the batch, even with workers that load data.
    The exception are samplers that share draws among batches (CREAM's ``shared``): they start anew in a resumed run,
    and in each worker. Batches without a mask get one of ones: without a mask Transformers (5.23, ``masking_utils.py``)
    takes each jump of positions for the beginning of another text, which attention then does not cross.

    Args:
        sampler: Any of ``synthlab.positions.samplers``.
        length: The tokens of a window; None: all tokens of the texts. For ``AlignedTrainer`` it is the ``length`` of
            its ``Alignment``: the positions, [B, length], are then those of both windows of each text. A sampler that
            gathers its windows needs it: the texts have ``sampler.text_length(length)`` tokens, of which the batch
            keeps the window's.
        seed: The seed of the samples, 0 or more.
        collator: The collator that makes batches of texts; None: Transformers' ``default_data_collator``.

    Raises:
        InputError: A setting does not fit; or, in a call, texts have several lengths or padding, or a wrong length for
            the sampler.

    Example:
        >>> from synthlab.huggingface.collator import PositionCollator
        >>> from synthlab.positions.samplers import PoSE
        >>> batch = PositionCollator(PoSE(factor=4, text=None))([{"input_ids": [3, 1, 4, 1]}] * 2)
        >>> sorted(batch), tuple(batch["position_ids"].shape)
        (['attention_mask', 'input_ids', 'position_ids'], (2, 4))
    """

    def __init__(
        self, sampler: PositionSampler, length: int | None = None, seed: int = 0, collator: Collator | None = None
    ):
        if length is None and sampler.text_length(1) is not None:
            raise InputError(
                "length=None: must be the number of tokens of a window, which the sampler gathers from a text"
            )
        self.untouched, self.length, self.seed, self.collator = sampler, length, seed, collator or default_data_collator
        self.sampler = copy.deepcopy(sampler)  # a copy, since it may store draws for later windows
        self.trainer, self.process = False, 0
        self.first = self.made = 0  # number of batches before this epoch, and in it

    def __call__(self, features: list[Any]) -> Mapping[str, Any]:
        """Return a batch of texts with ``position_ids``; for a trainer, which adds them in training, without."""
        return self.collator(features) if self.trainer else self._place_positions(self.collator, features)

    def _place_positions(self, collator: Collator, features: list[Any]) -> dict[str, Any]:
        if len(lengths := {len(each["input_ids"]) for each in features if "input_ids" in each}) > 1:
            raise InputError(f"input_ids: have {min(lengths)} to {max(lengths)} tokens; must all have the same number")
        batch = dict(collator(features))
        tokens, mask = batch["input_ids"], batch.get("attention_mask")
        if mask is not None and not mask.all():
            raise InputError("attention_mask: has zeros; must be all ones, because padded texts get no positions")
        batch.setdefault("attention_mask", torch.ones_like(tokens))
        length = self.length or tokens.shape[1]
        gathered = self.sampler.text_length(length)
        if tokens.shape[1] < length or (gathered and gathered != tokens.shape[1]):
            needed = f"{gathered}, from which length={length} are gathered" if gathered else f"at least length={length}"
            raise InputError(f"input_ids: have {tokens.shape[1]} tokens each; must have {needed}")
        window = self.sampler.window(len(tokens), length, self._generator())
        if window.places is not None:
            of_tokens = {name: rows for name, rows in batch.items() if rows.shape == tokens.shape}
            batch |= {name: rows.gather(1, window.places) for name, rows in of_tokens.items()}
        # Contiguous, since batches for a GPU are pinned, and expanded rows cannot be.
        return batch | {"position_ids": window.positions.contiguous()}

    def _generator(self) -> torch.Generator:
        """Return the generator of the next batch's positions. Of W workers, worker w makes batches w, w + W, ..."""
        worker = get_worker_info()
        number = self.made if worker is None else self.made * worker.num_workers + worker.id
        self.made += 1
        return seed_generator(np.random.SeedSequence((self.seed, self.process, self.first + number)))

    def on_init_end(self, args, state, control, **kwargs):
        self.trainer = True

    def on_train_begin(self, args, state, control, **kwargs):
        self.trainer, self.sampler, self.process = True, copy.deepcopy(self.untouched), args.process_index
        # The trainer collates texts for training and for evaluation alike, without a sign which it does.
        outer = kwargs["train_dataloader"]
        loader = getattr(outer, "base_dataloader", outer)  # accelerate's loader wraps this one
        loader.collate_fn = partial(self._place_positions, loader.collate_fn)

    def on_epoch_begin(self, args, state, control, **kwargs):
        self.made, self.first = 0, state.global_step * args.gradient_accumulation_steps
