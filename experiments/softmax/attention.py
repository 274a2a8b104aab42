"""The attention weight on the item that holds the answer, at several lengths, in a trained model."""

from collections.abc import Sequence
from typing import cast

import pandas as pd
import torch

from synthlab.inspection.hooked import run_with_cache
from synthlab.rng import stream
from synthlab.sequences.run import SequencesRun
from synthlab.sequences.tasks.memory import Retrieval
from synthlab.sequences.trained import TrainedSequences
from synthlab.storage.records import Record

EXAMPLES = 128


def measure_attention(record: Record, lengths: Sequence[int]) -> pd.DataFrame:
    """Return a row for each of ``lengths`` (its ``last``), means over ``EXAMPLES`` prompts of that length.

    The attention is that of the question, in the layer and head with the greatest ``weight`` at the first length.
    ``weight`` is that on the item asked for, ``ranked`` the share of prompts in which it has the greatest one.
    ``bound`` is the greatest weight that softmax gives one of as many keys whose logits differ as much as they do here
    (entry H of ``theory.propositions.dispersion``); NaN where weights are another function.
    """
    config, model = cast(SequencesRun, record.config), cast(TrainedSequences, record.model())
    task, generator, rows, chosen = cast(Retrieval, model.task), stream(config.test_seed, "evaluation"), [], None
    for length in lengths:
        batch = task.batch(torch.full((EXAMPLES,), length), task.width(length), generator)
        _, values = run_with_cache(model.hooked, batch.tokens)
        layers = range(config.model["depth"])
        pattern, scores = (  # [N, layers, heads, T], of the question
            torch.stack([values[f"blocks.{layer}.attn.hook_{name}"][:, :, -1] for layer in layers], 1)
            for name in ("pattern", "attn_scores")
        )
        items = batch.tokens[:, 1 : length + 1] // task.classes
        asked = batch.tokens[:, -1:] - (task.numbers + 1) * task.classes
        places = items.argmax(1) if task.ask == "greatest" else (items == asked).long().argmax(1)
        every, begin = torch.arange(EXAMPLES), 1  # items come after begin
        on_right = pattern[every, :, :, places + begin].mean(0)
        chosen = divmod(int(on_right.argmax()), on_right.shape[1]) if chosen is None else chosen
        weights, logits = pattern[:, *chosen], scores[:, *chosen].double()
        ratio = (logits.max(1).values - logits.min(1).values).exp()
        rows.append(
            {
                "last": length,
                "weight": on_right[chosen].item(),
                "ranked": (weights.argmax(1) == places + begin).double().mean().item(),
                "bound": (ratio / (ratio + logits.shape[1] - 1)).mean().item(),
            }
        )
    return pd.DataFrame(rows)
