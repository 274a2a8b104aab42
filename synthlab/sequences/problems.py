"""The tasks whose answers are tokens, by name."""

from synthlab.config.registry import Registry
from synthlab.sequences.problem import Problem
from synthlab.sequences.tasks.addition import Addition
from synthlab.sequences.tasks.copying import Copy, CopyDistinct, Count, Reverse, SelectiveCopy, Sort
from synthlab.sequences.tasks.counting import InterleavedMajority, Majority, Mode, Parity, SortedOrNot
from synthlab.sequences.tasks.memory import MQAR, FlipFlop
from synthlab.sequences.tasks.regular import AAStar, Tomita

PROBLEMS = Registry(
    "problem",
    Problem,
    {
        "majority": Majority,
        "interleaved_majority": InterleavedMajority,
        "mode": Mode,
        "parity": Parity,
        "sorted_or_not": SortedOrNot,
        "copy": Copy,
        "copy_distinct": CopyDistinct,
        "reverse": Reverse,
        "sort": Sort,
        "selective_copy": SelectiveCopy,
        "count": Count,
        "addition": Addition,
        "flip_flop": FlipFlop,
        "mqar": MQAR,
        "aa_star": AAStar,
        "tomita": Tomita,
    },
)
