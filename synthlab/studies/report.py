"""The report: figures, verdicts, deviations, settings and versions on one self-contained page."""

from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd
from omegaconf import OmegaConf

from synthlab.analysis.tables import follows_seed
from synthlab.storage.files import write_whole
from synthlab.storage.records import Record
from synthlab.studies.checks import FACTORS, FEW, Check, Witnesses
from synthlab.studies.forest import forest
from synthlab.studies.intervals import ConfidenceInterval
from synthlab.studies.pages import template
from synthlab.studies.verdicts import Verdict

MEASURED = ["median", "least", "greatest", "needed", "answer", *ConfidenceInterval._fields]
RESTING_ON = ["seeds", "missing", "agree", *Witnesses._fields, "why_untested"]
# Columns at half and twice the thresholds.
AT_OTHERS = [f"{what}_{name}" for what in ("verdict", "answer") for name in FACTORS]
OF_RUNS = ["runs", "diverged", "fit", "verdict_fit"]
FEW_FIT = ["number_fit", "of_fit"]  # the units of the verdict over the runs that fit, if they are too few
COLUMNS = ["claim", "figure", "verdict", "check", *MEASURED, *RESTING_ON, *AT_OTHERS, *OF_RUNS, *FEW_FIT]
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
        word, reason = format_word(verdict.word, verdict.witnesses), "; ".join(verdict.missing) or verdict.counts
        variants = describe_variants(verdict) if verdict.checks else ""
        told = f"{word}, {reason}{f' ({variants})' if variants else ''}"
        lines.append(f"{verdict.claim.name} ({verdict.figure}): {told}")
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
        for each in (format_median, format_range, format_word, describe_missing, describe_variants, forest)
    }
    page = template("synthlab.studies", "report.html.j2", markup=True, **filters).render(
        factors=FACTORS,
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
    few = f"no verdict from {Witnesses(int(row['number']), row['of'])}" if row["answer"] == FEW else row["answer"]
    return f"{few}: {row['check']}: {describe_measured(row)}"


def describe_measured(row: Mapping[str, Any]) -> str:
    """Return the measured and the needed value of a row of ``verdict_table`` in words."""
    measured, missing = _spread(row["median"], row["low"], row["high"], row["number"]), row.get("missing")
    lost = "" if missing is None or pd.isna(missing) else f" ({describe_missing(int(missing))})"
    return f"{measured}{lost}, needed {row['needed']}"


def describe_missing(number: int) -> str:
    """Return how many values of a check are missing, in words; empty for none."""
    return f"{number} value{'s' * (number > 1)} missing" if number else ""


def format_word(word: str, witnesses: Witnesses) -> str:
    """Return a verdict's word or a check's answer, with the number of seeds or other units if they are few."""
    if word == FEW:
        return f"{witnesses}: no verdict"
    return f"undecided at {witnesses}" if word == "undecided" and witnesses.number else word


def describe_variants(verdict: Verdict) -> str:
    """Return the verdict at half and at twice all thresholds; how many runs fit, and the verdict over those."""
    told, fit = [], verdict.fit
    if verdict.scales and verdict.word != FEW:
        half, twice = (verdict.at(factor).word for factor in FACTORS.values())
        told.append(f"at half the thresholds: {half}, at twice: {twice}")
    elif verdict.word != FEW:
        told.append("no other threshold")
    if fit and fit.fit == fit.runs:
        told.append(f"all {fit.runs} runs fit")
    elif fit:
        diverged = f", {fit.diverged} diverged" if fit.diverged else ""
        word = format_word(fit.word, fit.witnesses)
        told.append(f"{fit.fit} of {fit.runs} runs fit{diverged}, over those: {word}")
    return "; ".join(told)


def format_median(check: Check) -> str:
    """Return the median over seeds and, in brackets, its confidence interval."""
    return _spread(check.median, check.interval.low, check.interval.high, check.witnesses.number)


def _spread(median: float, low: float, high: float, witnesses: int | float) -> str:
    return f"{median:.3g}" if witnesses < 2 else f"{median:.3g} [{low:.3g}, {high:.3g}]"


def format_range(check: Check) -> str:
    """Return the range that the median must lie in."""
    low, high = f"{check.low:g}", f"{check.high:g}"
    if check.high == float("inf"):
        return f"at least {low}"
    return f"under {high}" if check.low == float("-inf") else f"{low} to {high}"


def _rows(verdict: Verdict) -> list[dict[str, Any]]:
    factors = FACTORS.items() if verdict.word != FEW else ()
    common: dict[str, Any] = {"claim": verdict.claim.name, "figure": verdict.figure, "verdict": verdict.word}
    if verdict.fit:
        common |= dict(zip(OF_RUNS, verdict.fit[:4], strict=True))
        common |= dict(zip(FEW_FIT, verdict.fit.witnesses, strict=True)) if verdict.fit.word == FEW else {}
    if verdict.scales:
        common |= {f"verdict_{name}": verdict.at(factor).word for name, factor in factors}
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
            **check.witnesses._asdict(),
            "why_untested": check.why_untested,
            **{f"answer_{name}": check.at(factor).answer for name, factor in factors if check.scales},
        }
        for check in verdict.checks
    ]
    return [common | check for check in [*checks, *({"check": reason} for reason in verdict.missing)]]


def _settings(records: Sequence[Record]) -> list[tuple[str, str]]:
    """Return the settings that all runs share."""
    flat = pd.DataFrame([record.settings() for record in records])
    flat = flat.drop(columns=["seed", *(name for name in flat if follows_seed(flat, str(name)))]).map(str)
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
