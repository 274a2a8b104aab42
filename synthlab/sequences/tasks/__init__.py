"""The sequence tasks, by name."""

from synthlab.runs.registry import Registry
from synthlab.sequences.task import SequenceTask
from synthlab.sequences.tasks import addition, binary, copying, counters, counting, expressions, memory, regular, stack
from synthlab.sequences.tasks.without_end import WithoutEnd

TASKS = Registry(
    "task",
    SequenceTask,
    {
        "majority": counting.Majority,
        "interleaved_majority": counting.InterleavedMajority,
        "mode": counting.Mode,
        "parity": counting.Parity,
        "summation": counting.Summation,
        "sorted_or_not": counting.SortedOrNot,
        "copy": copying.Copy,
        "copy_distinct": copying.CopyDistinct,
        "copy_twice": copying.CopyTwice,
        "repeat": copying.Repeat,
        "replace": copying.Replace,
        "reverse": copying.Reverse,
        "sort": copying.Sort,
        "selective_copy": copying.SelectiveCopy,
        "count": copying.Count,
        "addition": addition.Addition,
        "flip_flop": memory.FlipFlop,
        "mqar": memory.MQAR,
        # The Chomsky hierarchy. Its tasks that are one of the above with other settings are files of conf/task.
        "even_pairs": counting.EvenPairs,
        "cycle_navigation": counting.CycleNavigation,
        "modular_arithmetic": expressions.ModularArithmetic,
        "stack_manipulation": stack.StackManipulation,
        "modular_arithmetic_brackets": expressions.ModularArithmeticBrackets,
        "solve_equation": expressions.SolveEquation,
        "missing_duplicate_string": memory.MissingDuplicate,
        "odds_first": copying.OddsFirst,
        "binary_addition": binary.BinaryAddition,
        "binary_multiplication": binary.BinaryMultiplication,
        "compute_sqrt": binary.ComputeSqrt,
        "bucket_sort": copying.BucketSort,
        "without_end": WithoutEnd,  # wraps any of the above
        # Formal languages.
        "aa_star": regular.AAStar,
        "tomita": regular.Tomita,
        "pattern": regular.PatternLanguage,
        "bounded_dyck": regular.BoundedDyck,
        "dyck": counters.Dyck,
        "anbn": counters.AnBn,
    },
)
