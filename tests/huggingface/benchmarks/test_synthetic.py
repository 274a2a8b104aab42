"""Tasks made here: the answer follows from the text, the length is kept, the asked fact is where it is said to be."""

import math
import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthlab.errors import InputError
from synthlab.huggingface.benchmarks import words
from synthlab.huggingface.benchmarks.draws import Draws
from synthlab.huggingface.benchmarks.sample import Draft, Sample, fit_to_length
from synthlab.huggingface.benchmarks.synthetic import SYNTHETIC, WITHOUT_DEPTH, samples, share_of_answers


def subwords(text: str) -> list[str]:
    """A tokenizer that cuts words into pieces of three letters, after a token of its own for the beginning."""
    return ["<s>", *re.findall(r"\s?\w{1,3}|\s?[^\w\s]|\s", text)]


ENCODERS = {"bytes": str.encode, "subwords": subwords}


def one(task: str, length: int = 300, depth: float | None = None, seed: int = 0) -> Sample:
    [sample] = samples(task, length, 1, str.encode, seed, depth)
    return sample


def solved(task: str, prompt: str) -> set[str]:
    """The answers, read off the text by brute force."""
    text, question = prompt.rsplit("\n", 1)
    if task.startswith("needle"):
        key = question.split(" of ")[1].split()[0]
        return set(re.findall(rf"code of {key} is (\d+)\.", text))
    if task == "tracking":
        values: dict[str, str] = {}
        for name, source in re.findall(r"Let (\w+) be (\w+)\.", text):
            values[name] = values.get(source, source)  # a variable is set before it is used
        return {name for name, value in values.items() if value == question.split()[2]}
    if task == "facts":
        person = question.split()[0]
        return {re.findall(rf"{person} \w+ to the (\w+)\.", text)[-1]}
    counts = Counter(text.removeprefix("Words: ").split())
    third = sorted(counts.values())[-3]
    return {word for word, count in counts.items() if count >= third}


@pytest.mark.parametrize("encode", ENCODERS.values(), ids=ENCODERS)
@pytest.mark.parametrize("task", SYNTHETIC)
@settings(max_examples=6, deadline=None)
@given(length=st.integers(180, 1500), seed=st.integers(0, 10**6))
def test_answer_follows_from_the_text(task, encode, length, seed):
    [sample] = samples(task, length, 1, encode, seed)
    assert solved(task, sample.prompt) == set(sample.answers)
    assert sample.tokens == len(encode(sample.prompt + sample.target)) <= length
    assert sample.room == sample.tokens - len(encode(sample.prompt))
    # As near as whole sentences allow: the shortest that may be added has 10 letters or 5 tokens, with its space.
    longest = {"common_words": 7}.get(task, 11)
    assert length - sample.tokens < longest
    tokens, first = sample.encoded(encode)
    assert list(tokens[:first]) == list(encode(sample.prompt))


@pytest.mark.parametrize("task", [task for task in SYNTHETIC if task not in WITHOUT_DEPTH])
def test_the_asked_fact_is_at_the_depth(task):
    for depth in (0.0, 0.25, 0.5, 1.0):
        for sample in samples(task, 2000, 5, str.encode, 3, depth):
            text, question = sample.prompt.rsplit("\n", 1)
            word = question.split()[0] if task == "facts" else sample.answers[0]
            pattern = rf"{word} \w+ to" if task == "facts" else rf"\b{word}\b"
            places = [match.start() for match in re.finditer(pattern, text)]
            place = places[-1] if task == "facts" else places[0]
            assert abs(place / len(text) - depth) < 0.1
            assert sample.depth == depth


def test_depths_are_uniform_unless_given():
    depths = sorted(sample.depth for sample in samples("needle", 100, 300, str.encode))
    far = max(abs(depth - (i + 0.5) / len(depths)) for i, depth in enumerate(depths))
    assert far < 1.63 / math.sqrt(len(depths))  # the test of Kolmogorov and Smirnov, at 1 %
    assert all(math.isnan(sample.depth) for sample in samples("common_words", 200, 2, str.encode))


@pytest.mark.parametrize(
    ("length", "prompt", "tokens"), [(18, "aa B. bb\n?", 18), (17, "B. aa\n?", 15), (12, "B.\n?", 12)]
)
def test_a_sample_of_few_tokens_by_hand(length, prompt, tokens):
    units = iter([(None, "aa"), (None, "bb"), (None, "cc")])
    sample = fit_to_length(Draft([(0.5, "B.")], units, "?", ("yes", "no"), 0.5), length, str.encode, "it")
    assert (sample.prompt, sample.target) == (prompt, " yes, no")
    assert (sample.tokens, sample.room) == (tokens, 8)


def test_fillers_by_hand():
    fillers = ((1.0, "xxx"), (1.0, "y"))
    draft = Draft([], iter([(0.0, "long " * 9)] * 9), "?", ("z",), 0, fillers=fillers)
    assert fit_to_length(draft, 14, str.encode, "it").prompt == "xxx xxx y\n?"


def test_samples_depend_on_the_seed_alone():
    few, many = (list(samples("facts", 300, count, str.encode, 5)) for count in (2, 4))
    assert many[:2] == few
    assert len({sample.prompt for sample in many}) == 4
    assert one("facts", seed=6) != few[0]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("needle", 40, 1, str.encode), "length=40: must be at least 52"),
        (("needle", 10**6, 1, lambda text: [0] * min(len(text), 99)), "gets no more tokens from this tokenizer"),
        (("common_words", 600, 1, str.encode, 0, 0.5), "depth=0.5: must be left out"),
    ],
)
def test_what_cannot_be_had_ends_with_one_line(arguments, line):
    with pytest.raises(InputError, match=f"^.*{line}.*$"):
        list(samples(*arguments))


def test_words_of_tasks_and_background_differ():
    spoken = " ".join([*words.SORTS, *words.THINGS, *words.VERBS, *words.PLACES, *words.SHORT]).lower()
    spoken += " the code of is one codes are let be equal to in words most common frequent "
    own = {*words.NAMES, *words.LONGER, *map(str.lower, (*words.PERSONS, *words.ROOMS))}
    assert not own & set(re.findall(r"\w+", spoken))
    drawn = [name for name, _ in zip(words.names(Draws(0, "x")), range(5000), strict=False)]
    assert len(set(drawn)) == len(drawn)


def test_the_share_of_answers_is_over_whole_words():
    assert share_of_answers(("kitchen",), " the Kitchen") == 0
    assert share_of_answers(("12", "34", "56"), " 12, 345,56.") == pytest.approx(2 / 3)
