"""The identities of the reference's runs: a change of the code that changes one would train it anew.

``reference_runs.jsonl.xz`` has a line for each run: its identity and its settings, as ``Entry.plan_runs`` gave them
when the run entered the reference (those of ``seeds=auto`` with five seeds). A line is never changed;
``python tests/experiments/test_identities.py`` adds the runs of new studies.
"""

import json
import lzma
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from experiments.reference_runs import list_entries
from synthlab.runs.run import Run, config_of, resolve

FILE = Path(__file__).with_name("reference_runs.jsonl.xz")


@cache
def frozen() -> list[tuple[str, dict[str, Any]]]:
    with lzma.open(FILE, "rt", encoding="utf-8") as lines:
        return [tuple(json.loads(line)) for line in lines]


def planned() -> dict[str, Run]:
    return {identity: run for entry in list_entries(Path("root")) for identity, run in entry.plan_runs().items()}


def test_every_run_of_the_reference_is_read_under_its_identity():
    found = [identity for identity, settings in frozen() if config_of(settings).id == identity]
    assert len(found) == len(frozen()) > 7000


@pytest.mark.slow
def test_every_run_of_the_reference_is_planned_under_its_identity():
    """One seed of each, since the others differ from it in their seeds alone."""
    kinds: dict[str, tuple[str, dict[str, Any]]] = {}
    for identity, settings in frozen():
        alike = {key: value for key, value in settings.items() if not key.endswith("seed")}
        kinds.setdefault(json.dumps(alike, sort_keys=True), (identity, settings))
    changed = [settings for identity, settings in kinds.values() if resolve(settings).id != identity]
    assert changed == []
    assert len(kinds) > 1000


@pytest.mark.slow
def test_the_files_of_the_studies_describe_these_runs_and_no_others():
    known, found = {identity for identity, _ in frozen()}, set(planned())
    assert known - found == set(), "runs of the reference that no study plans any longer"
    assert len(found - known) == 0, "runs that the file lacks: python tests/experiments/test_identities.py"


def add_new_runs():
    known = {identity for identity, _ in frozen()}
    new = [(identity, run.model_dump()) for identity, run in planned().items() if identity not in known]
    lines = [json.dumps(line) + "\n" for line in [*frozen(), *new]]
    FILE.write_bytes(lzma.compress("".join(lines).encode()))
    print(f"{len(new)} runs added")


if __name__ == "__main__":
    add_new_runs()
