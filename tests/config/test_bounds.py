"""Config files that stand for more than anybody wants: counted by hand, refused at once."""

import re
import time

import pytest

from synthlab.config.bounds import MOST_VALUES, SUSPECT, values

ALIASES = "a: &a [x, y]\nb: &b [*a, *a]\nc: [*b, *b]\n"


def laughs(levels: int) -> str:
    """YAML of a few lines that stands for more than ten to the power of ``levels`` values."""
    lines = [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, levels)]
    return "\n".join(["name: mean", f"a0: &a0 [{', '.join(['ha'] * 10)}]", *lines])


def test_values_by_hand():
    # The mapping, its three keys; a: a list of 2; b: a list of two such lists; c: a list of two of these.
    assert values(ALIASES.encode()) == 1 + 3 + 3 + 7 + 15
    assert values(b"a: &a [*a]\n") == values(laughs(12).encode()) == values(laughs(3000).encode()) == MOST_VALUES + 1
    assert values(b"a: [x, y]\n") == 0  # short, without an alias: nobody counts
    assert values(b"[x]" + b" " * SUSPECT) == 2
    assert values(b"a: &a [x, *a, *b]]") == 0  # no YAML
    assert values(b"a: &a *a\n") == 0


@pytest.mark.parametrize("flag", [[], ["-m"]])
@pytest.mark.parametrize(
    "text",
    [laughs(12), "name: mean\na: &a {b: *a}\n", "name: mean\n" + "".join(f"key_number_{i}: 0\n" for i in range(9999))],
)
def test_a_file_of_too_many_values_is_refused_at_once(invoke, quick, tmp_path, text, flag):
    path = tmp_path / "own" / "task" / "mine.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    began = time.monotonic()
    outcome = invoke("synthlab", "--config-dir", str(tmp_path / "own"), *quick, "task=mine", *flag)
    assert time.monotonic() - began < 30
    assert outcome.status == 2
    assert re.fullmatch(rf"error: {path}: must hold at most 10,000 values, its aliases written out\n", outcome.err), (
        outcome.err
    )


def test_a_few_aliases_will_do(invoke, quick, tmp_path):
    path = tmp_path / "own" / "protocol" / "mine.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("name: &two lab\noptimizer: adam\nlr: 0.001\nmomentum: &some 0.9\nbeta2: *some\nsteps: 2\n")
    with open(path, "a") as file:
        file.write("batch: &batch 2\nwarmup: 0.1\nrecord_every: *batch\n")
    few = [word for word in quick if not word.startswith("protocol.")]
    outcome = invoke("synthlab", "--config-dir", str(tmp_path / "own"), *few, "protocol=mine")
    assert (outcome.status, outcome.err) == (0, "")
