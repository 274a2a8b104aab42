"""The sequence tasks, by name."""

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from synthlab.errors import InputError
from synthlab.runs.registry import Registry
from synthlab.sequences.task import AnswerTask, Pairs, SequenceTask, mask_lengths
from synthlab.sequences.tasks import arithmetic, copying, counting, expressions, formal, memory
from synthlab.sequences.tasks.index_hints import IndexHints
from synthlab.sequences.tasks.mixture import Mixture
from synthlab.sequences.tasks.states import RandomStateTracking, StateTracking


class WithoutEnd(AnswerTask):
    """Another task, ``of``, scored by the symbols of its answers only: neither the loss nor a score counts the end.

    The length of an answer must follow from that of the prompt; otherwise finding it is part of the task. Raises
    InputError for formal languages, which have no answers.
    """

    source = "Delétang et al., 2022, arXiv 2207.02098: answers are read from as many empty places as they have symbols"

    def __init__(self, of: Mapping[str, Any]):
        task = TASKS.build(of, field="task.of")
        if not isinstance(task, AnswerTask):
            raise InputError(f"task.of={of['name']}: must be a task with answers, not a formal language")
        self.of, self.symbols, self.shortest, self.longest = task, task.symbols, task.shortest, task.longest

    def has(self, length: int) -> bool:
        return self.of.has(length)

    def couple(self, tokens: Int[Tensor, "*B T"]) -> Int[Tensor, "*B T"] | None:
        return self.of.couple(tokens)

    def sizes(self, length: int) -> tuple[int, int]:
        return self.of.sizes(length)

    def draw(self, lengths: Int[Tensor, " B"], generator: torch.Generator) -> Pairs:
        pairs = self.of.draw(lengths, generator)
        symbols = mask_lengths(pairs.answer_sizes, pairs.answer.shape[1])
        return pairs._replace(asked=symbols if pairs.asked is None else pairs.asked & symbols)

    def chance(self, length: int) -> float:
        return self.of.chance(length)


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
        "addition": arithmetic.Addition,
        "flip_flop": memory.FlipFlop,
        "mqar": memory.MQAR,
        "retrieval": memory.Retrieval,
        # The Chomsky hierarchy. Its tasks that are one of the above with other settings are files of conf/task.
        "even_pairs": counting.EvenPairs,
        "cycle_navigation": counting.CycleNavigation,
        "modular_arithmetic": expressions.ModularArithmetic,
        "stack_manipulation": memory.StackManipulation,
        "modular_arithmetic_brackets": expressions.ModularArithmeticBrackets,
        "solve_equation": expressions.SolveEquation,
        "missing_duplicate_string": memory.MissingDuplicate,
        "odds_first": copying.OddsFirst,
        "binary_addition": arithmetic.BinaryAddition,
        "binary_multiplication": arithmetic.BinaryMultiplication,
        "compute_sqrt": arithmetic.ComputeSqrt,
        "bucket_sort": copying.BucketSort,
        "without_end": WithoutEnd,  # wraps any of the above
        "index_hints": IndexHints,  # wraps a task that names places
        "mixture": Mixture,
        # Formal languages.
        "aa_star": formal.AAStar,
        "tomita": formal.Tomita,
        "pattern": formal.PatternLanguage,
        "bounded_dyck": formal.BoundedDyck,
        "dyck": formal.Dyck,
        "anbn": formal.AnBn,
        "state_tracking": StateTracking,
        "random_language": RandomStateTracking,
    },
)
