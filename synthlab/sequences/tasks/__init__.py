"""The tasks whose answers are tokens, by name."""

from synthlab.config.registry import Registry
from synthlab.sequences.problem import Problem
from synthlab.sequences.tasks.addition import Addition
from synthlab.sequences.tasks.binary import BinaryAddition, BinaryMultiplication, ComputeSqrt
from synthlab.sequences.tasks.chomsky_regular import CycleNavigation, EvenPairs, ModularArithmetic
from synthlab.sequences.tasks.chomsky_strings import BucketSort, MissingDuplicate, OddsFirst
from synthlab.sequences.tasks.copying import Copy, CopyDistinct, Count, Reverse, SelectiveCopy, Sort
from synthlab.sequences.tasks.counters import AnBn, Dyck
from synthlab.sequences.tasks.counting import InterleavedMajority, Majority, Mode, Parity, SortedOrNot, Summation
from synthlab.sequences.tasks.expressions import ModularArithmeticBrackets, SolveEquation
from synthlab.sequences.tasks.memory import MQAR, FlipFlop
from synthlab.sequences.tasks.patterns import BoundedDyck, Pattern
from synthlab.sequences.tasks.regular import AAStar, Tomita
from synthlab.sequences.tasks.repeating import CopyTwice, Repeat, Replace
from synthlab.sequences.tasks.stack import StackManipulation
from synthlab.sequences.tasks.without_end import WithoutEnd

PROBLEMS = Registry(
    "task",
    Problem,
    {
        "majority": Majority,
        "interleaved_majority": InterleavedMajority,
        "mode": Mode,
        "parity": Parity,
        "summation": Summation,
        "sorted_or_not": SortedOrNot,
        "copy": Copy,
        "copy_distinct": CopyDistinct,
        "copy_twice": CopyTwice,
        "repeat": Repeat,
        "replace": Replace,
        "reverse": Reverse,
        "sort": Sort,
        "selective_copy": SelectiveCopy,
        "count": Count,
        "addition": Addition,
        "flip_flop": FlipFlop,
        "mqar": MQAR,
        # The Chomsky hierarchy. Those that are one of the above in other settings are files of conf/problem.
        "even_pairs": EvenPairs,
        "cycle_navigation": CycleNavigation,
        "modular_arithmetic": ModularArithmetic,
        "stack_manipulation": StackManipulation,
        "modular_arithmetic_brackets": ModularArithmeticBrackets,
        "solve_equation": SolveEquation,
        "missing_duplicate_string": MissingDuplicate,
        "odds_first": OddsFirst,
        "binary_addition": BinaryAddition,
        "binary_multiplication": BinaryMultiplication,
        "compute_sqrt": ComputeSqrt,
        "bucket_sort": BucketSort,
        "without_end": WithoutEnd,  # any of the above
        # Formal languages.
        "aa_star": AAStar,
        "tomita": Tomita,
        "pattern": Pattern,
        "bounded_dyck": BoundedDyck,
        "dyck": Dyck,
        "anbn": AnBn,
    },
)
