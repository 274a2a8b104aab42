"""Named RNG streams: all randomness comes from explicit generators, one for each purpose."""

from collections.abc import Sequence
from math import prod

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

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

TOGETHER = 32  # the fewest generators that a GPU computes together: an estimate, from 30 kernels for 624 words


def stream(seed: int, name: str) -> torch.Generator:
    """Return a new generator for the RNG stream ``name`` of ``seed``. Streams of one seed are independent."""
    return seed_generator(np.random.SeedSequence(entropy=seed, spawn_key=(STREAMS.index(name),)))


def seed_generator(sequence: np.random.SeedSequence) -> torch.Generator:
    """Return a new generator, seeded by ``sequence``."""
    state = int(sequence.generate_state(1, dtype=np.uint64)[0] >> 1)  # torch takes signed 64-bit seeds
    return torch.Generator().manual_seed(state)


def rand(generator: "torch.Generator | Twisters", *shape: int) -> Float[Tensor, "..."]:
    """Return uniform numbers in [0, 1), as ``torch.rand``; of E generators in one, with a leading dimension E."""
    if isinstance(generator, Twisters):
        return generator.rand(*shape)
    return torch.rand(*shape, generator=generator)


def gather(generators: Sequence[torch.Generator], device: torch.device | str) -> "Twisters | None":
    """Return unused generators as one on a GPU, if there are enough to be faster there; else None."""
    on_gpu = torch.device(device).type != "cpu"
    return Twisters(generators, device) if on_gpu and len(generators) >= TOGETHER else None


class Twisters:
    """The numbers of E generators that have not been used yet, for all at once, on any device.

    PyTorch's generator on a CPU is MT19937 (Matsumoto and Nishimura, 1998): words of 32 bits, here in int64.
    """

    WORDS, SHIFT = 624, 397
    UPPER, LOWER, MATRIX = 0x80000000, 0x7FFFFFFF, 0x9908B0DF

    def __init__(self, generators: Sequence[torch.Generator], device: torch.device | str = "cpu"):
        words = np.empty((self.WORDS, len(generators)), np.uint32)
        words[0] = [each.initial_seed() & 0xFFFFFFFF for each in generators]
        for index in range(1, self.WORDS):
            words[index] = np.uint32(1812433253) * (words[index - 1] ^ words[index - 1] >> 30) + np.uint32(index)
        self.state = torch.from_numpy(words.T.astype(np.int64)).to(device)
        self.left = self.state[:, :0]

    def rand(self, *shape: int) -> Float[Tensor, "E ..."]:
        """Return the next numbers of ``torch.rand(*shape)`` in single precision, of each generator."""
        parts, count = [self.left], prod(shape)
        while sum(each.shape[1] for each in parts) < count:
            self.state = self._twist(self.state)
            parts.append(self._temper(self.state))
        words = torch.cat(parts, 1)
        drawn, self.left = words[:, :count], words[:, count:]
        return ((drawn & 0xFFFFFF).float() * 2**-24).unflatten(1, shape)

    def _twist(self, old: Int64[Tensor, "E 624"]) -> Int64[Tensor, "E 624"]:
        """Return the next 624 words: a word depends on three words 624, 623 and 227 places before it."""
        near, lag = self._mix(old[:, :-1], old[:, 1:]), self.WORDS - self.SHIFT
        first = old[:, self.SHIFT :] ^ near[:, :lag]
        second = first ^ near[:, lag : 2 * lag]
        third = second[:, : self.WORDS - 1 - 2 * lag] ^ near[:, 2 * lag :]
        last = second[:, third.shape[1] :][:, :1] ^ self._mix(old[:, -1:], first[:, :1])
        return torch.cat((first, second, third, last), 1)

    def _mix(self, word: Int64[Tensor, "E N"], following: Int64[Tensor, "E N"]) -> Int64[Tensor, "E N"]:
        joined = word & self.UPPER | following & self.LOWER
        return joined >> 1 ^ (joined & 1) * self.MATRIX

    @staticmethod
    def _temper(words: Int64[Tensor, "E N"]) -> Int64[Tensor, "E N"]:
        words = words ^ words >> 11
        words = words ^ words << 7 & 0x9D2C5680
        words = words ^ words << 15 & 0xEFC60000
        return words ^ words >> 18
