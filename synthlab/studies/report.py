"""The report: figures, verdicts, deviations, settings and versions on one self-contained page."""

from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd
from omegaconf import OmegaConf

from synthlab.analysis.tables import equals_seed
from synthlab.storage.files import write_whole
from synthlab.storage.records import Record
from synthlab.studies.checks import NO_WORD, Check
from synthlab.studies.forest import forest
from synthlab.studies.intervals import ConfidenceInterval
from synthlab.studies.pages import template
from synthlab.studies.verdicts import Verdict, count_answers

MEASURED = ["median", "least", "greatest", "needed", "answer", *ConfidenceInterval._fields]
RESTING_ON = ["seeds", "missing", "agree", "number", "of", "why_untested"]
OF_RUNS = ["runs", "diverged", "fit", "verdict_fit"]
COLUMNS = ["claim", "figure", "verdict", "check", *MEASURED, *RESTING_ON, *OF_RUNS]
# Keys of a record's environment.
MADE_WITH = ("synthlab", "torch", "python", "system", "machine", "instructions", "cores")
LIBRARIES = ("torch", "numpy", "pandas", "matplotlib", "hydra-core")


class NumbersTable(NamedTuple):
    """A table of texts next to a figure, and its title; the terminal shows it, too."""

    caption: str
    table: pd.DataFrame

    @property
    def lines(self) -> list[str]:
        """The lines for the terminal."""
        return [self.caption, *self.table.to_string(index=False, justify="left").splitlines()]


class Picture(NamedTuple):
    """The files of a figure: its name and title, the titles of its panels, and a table of numbers."""

    name: str
    title: str
    panels: Sequence[str]
    files: Sequence[Path]
    numbers: NumbersTable | None = None

    def select(self, suffix: str) -> list[Path]:
        """Return the files with this suffix: of the PNGs, the first has all panels."""
        return [file for file in self.files if file.suffix == suffix]


class About(NamedTuple):
    """The subject of a report: the part of a paper, the paper's title and address.

    Also the file of deviations from it, and whose they are.
    """

    part: str
    title: str
    source: str
    deviations: Path
    here: str


def deviations(path: Path) -> list[dict[str, str]]:
    """Return where the lab departs from the paper: ``what``, ``paper``, ``here``, ``why``."""
    return cast(list[dict[str, str]], OmegaConf.to_container(OmegaConf.load(path)))


def verdict_table(verdicts: Iterable[Verdict]) -> pd.DataFrame:
    """Return a row for each check of each verdict, and one for each reason why a claim could not be judged."""
    return pd.DataFrame([row for verdict in verdicts for row in _rows(verdict)], columns=COLUMNS)


def add_statements(verdicts: Iterable[Verdict]) -> pd.DataFrame:
    """Return ``verdict_table`` with a column ``says``: the statement of each claim."""
    verdicts = list(verdicts)
    says = {verdict.claim.name: verdict.claim.statement for verdict in verdicts}
    return verdict_table(verdicts).assign(says=lambda checks: checks["claim"].map(says))


def verdict_lines(verdicts: Iterable[Verdict]) -> list[str]:
    """Return the verdicts for a terminal, one a line; unless all checks hold, with those that do not."""
    lines = []
    for verdict in verdicts:
        fit = f" ({describe_fit(verdict)})" if verdict.fit else ""
        lines.append(f"{verdict.claim.name} ({verdict.figure}): {describe_verdict(verdict)}{fit}")
        lines += [f"    {describe_check(row)}" for row in _rows(verdict) if row.get("answer", "holds") != "holds"]
    return lines


def left_out_lines(records: Iterable[Record]) -> list[str]:
    """Return a line for each run that diverged, for a terminal."""
    return [
        f"left out: run {record.config.id} diverged at step {record.diverged_at}"
        for record in records
        if record.diverged_at is not None
    ]


def write_report(
    path: Path,
    pictures: Sequence[Picture],
    verdicts: Sequence[Verdict],
    records: Sequence[Record],
    command: str,
    about: About,
) -> None:
    """Write the page to ``path``, replacing an existing one."""
    filters = {
        each.__name__: each
        for each in (
            format_median,
            format_range,
            format_answer,
            describe_missing,
            describe_verdict,
            describe_fit,
            forest,
        )
    }
    page = template("synthlab.studies", "report.html.j2", markup=True, **filters).render(
        pictures=pictures,
        verdicts=verdicts,
        about=about,
        deviations=deviations(about.deviations),
        settings=_settings(records),
        runs=_runs(records),
        command=command,
    )
    write_whole(path, page)


def describe_check(row: Mapping[str, Any]) -> str:
    """Return a row of ``verdict_table`` in words: the answer, the measured and the needed value.

    If nothing was measured, the reason takes their place.
    """
    if pd.isna(row.get("needed")):
        return row["check"]
    if row["answer"] == "not tested":
        return f"not tested: {row['check']}: {row['why_untested']}"
    return f"{format_answer(row['answer'], row['number'])}: {row['check']}: {describe_measured(row)}"


def describe_measured(row: Mapping[str, Any]) -> str:
    """Return the measured and the needed value of a row of ``verdict_table`` in words."""
    measured, missing = _spread(row["median"], row["low"], row["high"], row["number"]), row.get("missing")
    lost = "" if missing is None or pd.isna(missing) else f" ({describe_missing(int(missing))})"
    return f"{measured}{lost}, needed {row['needed']}"


def describe_missing(number: int) -> str:
    """Return how many values of a check are missing, in words; empty for none."""
    return f"{number} value{'s' * (number > 1)} missing" if number else ""


def format_answer(answer: str, number: int | float) -> str:
    """Return the answer of a check; without a word, the number of its seeds."""
    return answer or f"{number:.0f} seed{'s' * (number != 1)}, no word"


def describe_verdict(verdict: Verdict) -> str:
    """Return the word of a verdict and its counts, or what is missing."""
    if verdict.missing or not verdict.checks:
        return f"not tested, {'; '.join(verdict.missing)}"
    return tell_verdict(verdict.word, [(check.answer, check.number) for check in verdict.checks])


def tell_verdict(word: str, answers: Sequence[tuple[str, int | float]]) -> str:
    """Return a verdict's word and its counts, from the answer of each check and the number of its seeds."""
    if {answer for answer, _ in answers} == {NO_WORD}:
        return format_answer(NO_WORD, min(number for _, number in answers))
    counts = count_answers([answer for answer, _ in answers])
    return ": ".join(filter(None, (word, counts))) if word in (NO_WORD, "fails in part") else word


def describe_fit(verdict: Verdict) -> str:
    """Return how many of the runs of a verdict diverged and fit, and the word over those that fit."""
    fit = verdict.fit
    if fit is None or fit.fit == fit.runs:
        return f"all {fit.runs} runs fit" if fit else ""
    diverged = f", {fit.diverged} diverged" if fit.diverged else ""
    return f"{fit.fit} of {fit.runs} runs fit{diverged}, over those: {fit.word or 'no word'}"


def format_median(check: Check) -> str:
    """Return the median over seeds and, in brackets, its confidence interval."""
    return _spread(check.median, check.interval.low, check.interval.high, check.number)


def _spread(median: float, low: float, high: float, number: int | float) -> str:
    return f"{median:.3g}" if number < 2 else f"{median:.3g} [{low:.3g}, {high:.3g}]"


def format_range(check: Check) -> str:
    """Return the range that the median must lie in."""
    low, high = f"{check.low:g}", f"{check.high:g}"
    if check.high == float("inf"):
        return f"at least {low}"
    return f"under {high}" if check.low == float("-inf") else f"{low} to {high}"


def _rows(verdict: Verdict) -> list[dict[str, Any]]:
    common: dict[str, Any] = {"claim": verdict.claim.name, "figure": verdict.figure, "verdict": verdict.word}
    if verdict.fit:
        common |= dict(zip(OF_RUNS, verdict.fit, strict=True))
    checks = [
        {
            "check": check.what,
            "median": check.median,
            "least": float(min(check.measured, default=np.nan)),
            "greatest": float(max(check.measured, default=np.nan)),
            "needed": format_range(check),
            "answer": check.answer,
            **check.interval._asdict(),
            "seeds": len(check.measured),
            "missing": check.missing or None,
            "agree": check.fulfilling,
            "number": check.number,
            "of": check.estimate.of if check.estimate else "seeds",
            "why_untested": check.why_untested,
        }
        for check in verdict.checks
    ]
    return [common | check for check in [*checks, *({"check": reason} for reason in verdict.missing)]]


def _settings(records: Sequence[Record]) -> list[tuple[str, str]]:
    """Return the settings that all runs share."""
    flat = pd.DataFrame([record.settings() for record in records])
    flat = flat.drop(columns=["seed", *(name for name in flat if equals_seed(flat, str(name)))]).map(str)
    shared = flat.loc[:, (flat.nunique() == 1) & (flat.iloc[0] != "nan")]
    return [(str(key), value) for key, value in shared.iloc[0].items()]


def _runs(records: Sequence[Record]) -> dict[str, Any]:
    """Return how many runs there are, their cost, and the versions that made them."""
    environments = pd.DataFrame([record.environment for record in records])
    seconds = pd.Series([record.seconds for record in records])
    made = {key: ", ".join(sorted(set(environments[key].astype(str)))) for key in MADE_WITH if key in environments}
    return {
        "number": len(records),
        "diverged": [record for record in records if record.diverged_at is not None],
        "seconds": float(seconds.sum()),
        "median_seconds": float(seconds.median()),
        "made": made,
        "drawn": {library: version(library) for library in LIBRARIES},
    }
