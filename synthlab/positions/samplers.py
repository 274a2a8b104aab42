"""The samplers of position ids, by name. Their interface is ``sampler_base.PositionSampler``."""

import torch

from synthlab.config.registry import Registry
from synthlab.positions.sampler_base import PositionSampler
from synthlab.positions.stretched import Stretched


class Contiguous(PositionSampler):
    """Positions 0, 1, 2, ..., as in testing."""

    def positions(self, rows, length, generator):
        return torch.arange(length).expand(rows, length)


SAMPLERS = Registry("positions", PositionSampler, {"contiguous": Contiguous, "stretched": Stretched})
