"""Named RNG streams: all randomness comes from explicit generators, one for each purpose."""

import numpy as np
import torch

# The index of a stream decides its random numbers: append, never reorder.
STREAMS = (
    "initial",
    "training",
    "positions",
    "evaluation",
    "evaluation_positions",
    "windows",  # language models: offsets of the second window
    "training_again",  # the same for a second training
    "positions_again",
    "windows_again",
    "questions",
    "calibration",  # texts on which a temperature is fitted
    "extension",  # initial weights of an extension
    "adapters",  # initial weights of low-rank adapters
    "outrep",  # initial parameters of a map of the target
)


def stream(seed: int, name: str) -> torch.Generator:
    """Return a new generator for the RNG stream ``name`` of ``seed``. Streams of one seed are independent."""
    return seed_generator(np.random.SeedSequence(entropy=seed, spawn_key=(STREAMS.index(name),)))


def seed_generator(sequence: np.random.SeedSequence) -> torch.Generator:
    """Return a new generator, seeded by ``sequence``."""
    state = int(sequence.generate_state(1, dtype=np.uint64)[0] >> 1)  # torch takes signed 64-bit seeds
    return torch.Generator().manual_seed(state)
