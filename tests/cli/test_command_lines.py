"""A hundred malformed command lines: each is refused in lines that name the field, with status 2 and no traceback."""

import re
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.quick import QUICK
from synthlab.config.composition import as_overrides

GROUPS = ["task", "inputs", "encoding", "outrep", "model", "protocol", "tracker"]
WHOLE = ["model.width", "model.depth", "model.heads", "protocol.steps", "protocol.batch", "train_length", "test_length"]
WHOLE += ["evaluation.sequences", "protocol.record_every"]
REAL = ["protocol.lr", "evaluation.largest", "inputs.p", "protocol.momentum", "protocol.warmup", "protocol.beta2"]
LETTERS = st.characters(categories=("Ll", "Lu", "Lo", "Nd", "So"), exclude_characters="\x00")
NAMES = st.text(LETTERS, min_size=1, max_size=12)

unknown_key = st.builds(
    lambda parent, name, value: (name, f"{parent}{name}={value}"),
    *(st.sampled_from(["", "model.", "protocol.", "encoding."]), st.from_regex(r"q[a-z]{2,8}", fullmatch=True)),
    st.integers() | st.sampled_from(["x", "true", "null"]),
)
unknown_member = st.builds(lambda group, name: (group, f"{group}=q{name}"), st.sampled_from(GROUPS), NAMES)
wrong_type = st.builds(
    lambda key, value: (key, f"{key}={value}"),
    st.sampled_from(WHOLE + REAL),
    st.sampled_from(
        ["abc", "true", "null", "[1,2]", "{a:1}", "'7'", "1e400", "nan", "inf", "-inf", "ünïcode", "数", "🙂"]
    ),
)
fractions = st.builds(lambda key: (key, f"{key}=1.5"), st.sampled_from(WHOLE))
huge = st.builds(
    lambda key, power: (key, f"{key}={10**power}"),
    st.sampled_from([key for key in WHOLE if key not in ("protocol.steps", "protocol.record_every")]),
    st.integers(12, 40),
)
negative = st.builds(
    lambda key, value: (key, f"{key}={value}"),
    st.sampled_from([*WHOLE, *REAL, "seed"]),
    st.integers(-(10**20), -1) | st.sampled_from([-0.5, -1e300]),
)
impossible = st.sampled_from(
    [
        ("model.heads", "model.heads=5"),
        ("encoding", "encoding=rope model.heads=32"),
        ("length", "encoding=learned encoding.table=4"),
        ("length", "encoding=randomized encoding.span=5"),
        ("outrep.shift", "outrep=rsqrt outrep.shift=0"),
        ("evaluation.largest", "evaluation.largest=1 task=length"),
        ("model", "model=linear encoding=rope"),
        ("results", "results="),
        ("results", "results=[a]"),
        ("results", "results=/proc/nowhere"),
        ("results", "results=nope://bucket"),
        ("device", "device=gpu"),
        ("retry", "retry=always"),
        ("workers", "workers=0"),
        ("workers", "workers=many"),
        ("workers", "workers=10000000"),
        ("tracker", "tracker.name=support.user_classes:Nothing"),
        ("task", "task.name=nowhere:Class"),
        ("encoding", "encoding={name:rope}}"),
        ("task", "task=mean,"),
        ("seed", "seed=range(0,10,0)"),
        ("seed", "seed=range(10000000000)"),
        ("batches.minutes", "batches.minutes=-1"),
        ("batches.at_most", "batches.at_most=none"),
        ("launcher", "hydra/launcher=nowhere"),
        ("sweeper", "hydra/sweeper=nowhere"),
        ("outrep", "outrep=glob(z*)"),
    ]
)
ONLY_IN_SWEEPS = ("range", "glob")

malformed = st.one_of(unknown_key, unknown_member, wrong_type, fractions, huge, negative, impossible)
seen: Counter = Counter()


@pytest.mark.slow
@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(case=malformed, sweep=st.booleans())
def test_a_malformed_command_line_is_refused_in_lines_that_name_the_field(invoke, tmp_path, monkeypatch, case, sweep):
    field, text = case
    sweep = sweep or any(word in text for word in ONLY_IN_SWEEPS)
    given = [*as_overrides({key: value for key, value in flat(QUICK) if key not in text}), *text.split(" ")]
    outside = [] if "results=" in text else [f"results={tmp_path}"]
    monkeypatch.setattr("synthlab.training.execution.fit", lambda *_: pytest.fail("it was trained"))
    outcome = invoke(
        "synthlab", *given, *outside, *(["-m", "seed=0,1"] if sweep and "seed" not in text else ["-m"] * sweep)
    )
    lines = outcome.err.strip("\n").split("\n")
    assert outcome.status == 2, (text, outcome)
    assert all(line.startswith("error: ") for line in lines), (text, lines)
    assert "Traceback" not in outcome.err + outcome.out
    assert re.search(re.escape(field.split(".")[-1]), outcome.err), (text, lines)
    assert not list(tmp_path.glob("runs/*"))
    seen[case] += 1


def flat(settings: dict, prefix: str = ""):
    for key, value in settings.items():
        yield from flat(value, f"{prefix}{key}.") if isinstance(value, dict) else [(f"{prefix}{key}", value)]


def test_most_of_them_were_different():
    if not seen:
        pytest.skip("runs after the test above, in one process")
    assert len(seen) > 50
