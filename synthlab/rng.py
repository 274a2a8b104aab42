"""Named random streams: every draw comes from an explicit generator that belongs to one purpose."""

import numpy as np
import torch

# A stream's number is part of what a seed means: append, never renumber.
STREAMS = (
    "initial",
    "training",
    "positions",
    "evaluation",
    "evaluation_positions",
    "windows",  # of language models: offsets of the second window
    "training_again",  # and what a second training draws
    "positions_again",
    "windows_again",
    "questions",
    "calibration",  # texts that a temperature is fitted to
)


def stream(seed: int, name: str) -> torch.Generator:
    """The generator of the stream ``name`` under ``seed``; streams of one seed are statistically independent."""
    sequence = np.random.SeedSequence(entropy=seed, spawn_key=(STREAMS.index(name),))
    state = int(sequence.generate_state(1, dtype=np.uint64)[0] >> 1)  # torch takes signed 64-bit seeds
    return torch.Generator().manual_seed(state)
