"""The output of the theory: CSV tables, figures, a self-contained page, and a LaTeX document."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from latex2mathml.converter import convert

from synthlab.analysis.plotting import DataPanel, save_sheet
from synthlab.analysis.series import plain_label
from synthlab.storage.files import write_whole
from synthlab.studies.pages import template
from synthlab.studies.report import Picture
from theory.figures import Bounds, Maps, Optima, OverPaper, Ratio
from theory.ledger import latex
from theory.results import agreement_by_case, bound_words, by_shift, closed_forms, count_statements, propositions

Tables = Mapping[str, pd.DataFrame]


def write_theory(folder: Path, tables: Tables, command: str) -> list[Path]:
    """Write the tables, the figures, ``theory.tex`` and ``theory.html`` into ``folder``; return all files."""
    written = []
    for name, table in tables.items():
        path = folder / f"{name}.csv"
        write_whole(path, table.to_csv(index=False))
        written.append(path)
    pictures = [
        Picture(
            name,
            title,
            [panel.title for panel in panels.values()],
            [*save_sheet(folder, name, title, list(panels.values())), folder / f"{table}.csv"],
        )
        for name, (title, table, panels) in _sheets(tables).items()
    ]
    tex, page = folder / "theory.tex", folder / "theory.html"
    forms = {task: {name: latex(form) for name, form in each.items()} for task, each in closed_forms().items()}
    derivations = {proposition.title: proposition.derivation() for proposition in propositions()}
    known = {
        "propositions": propositions(),
        "derivations": derivations,
        "forms": forms,
        "counted": count_statements(tables["ledger"]),
    }
    write_whole(tex, template("theory", "theory.tex.j2", markup=False, escape=_escape).render(known))
    shown = {
        **known,
        "tables": {**tables, "agreement": agreement_by_case(tables["agreement"])},
        "pictures": {picture.name: picture for picture in pictures},
        "command": command,
        "test_length": int(tables["training"]["length"].max()),
        "bound_words": bound_words(tables["theorem1"]),
        "latex": tex,
        "shifts": _shifts(tables["maps"]),
    }
    write_whole(
        page,
        template("theory", "theory.html.j2", markup=True, math=_mathml, number=_number, words=plain_label).render(
            shown
        ),
    )
    return list(dict.fromkeys([*written, *(file for picture in pictures for file in picture.files), tex, page]))


def _sheets(tables: Tables) -> dict[str, tuple[str, str, dict[str, DataPanel]]]:
    """Return, by figure, its title, the name of its table, and its panels."""
    training, maps, bounds = tables["training"], tables["maps"], tables["theorem1"]
    by_task = {task: training[training["task"] == task] for task in ("length", "sum", "mean")}
    return {
        "optima": (
            "Linear attention: exact optima, the paper's, and trained models",
            "training",
            {
                "a": DataPanel("(a) length task", Optima(), by_task["length"]),
                "b": DataPanel("(b) sum task", Optima(), by_task["sum"]),
                "c": DataPanel("(c) length task, over the paper's optimum", OverPaper(), by_task["length"]),
                "d": DataPanel("(d) sum task, over the paper's optimum", OverPaper(), by_task["sum"]),
                "e": DataPanel("(e) mean task", Optima(), by_task["mean"]),
            },
        ),
        "maps": (
            "Linear attention on the length task under maps",
            "maps",
            {
                "a": DataPanel("(a) without BOS, shift 0", Maps(), maps[~maps["bos"] & (maps["shift"] == 0)]),
                "b": DataPanel("(b) with BOS, the better shift of each map", Maps(), _select_better(maps[maps["bos"]])),
            },
        ),
        "bounds": (
            "Theorem 1 on a trained language model",
            "theorem1",
            {
                "a": DataPanel("(a) error and bounds", Bounds(), bounds),
                "b": DataPanel("(b) weight of misalignment", Ratio(), bounds),
            },
        ),
    }


def _select_better(maps: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the better shift of each map; the column ``left_out`` describes the others."""
    shifts = by_shift(maps)
    others = (
        f"{plain_label(str(row.outrep))} {row.exact:,.0f} ({row.shift})"
        for row in shifts[~shifts["better"]].itertuples()
    )
    left_out = f"of each map the worse shift, with which it errs at {maps['length'].max()} by: {', '.join(others)}"
    return maps.merge(shifts.loc[shifts["better"], ["outrep", "shift"]]).assign(left_out=left_out)


def _shifts(maps: pd.DataFrame) -> pd.DataFrame:
    """Return ``by_shift`` with BOS; columns ``..._without`` have the values without BOS."""
    shifts = by_shift(maps)
    return shifts[shifts["bos"]].merge(shifts[~shifts["bos"]], on=["outrep", "shift"], suffixes=("", "_without"))


def _mathml(tex: str) -> str:
    """Return LaTeX as MathML, which browsers render without help.

    Matrices come without parentheses, which the page draws itself: in fonts not made for mathematics they do not
    stretch.
    """
    return convert(tex.replace("pmatrix", "matrix"), display="block")


def _number(value: Any) -> str:
    """Return a number with four digits, yes or no for a boolean, empty for a missing value."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if pd.isna(value) else f"{value:.4g}"


def _escape(text: str) -> str:
    """Return ``text`` with LaTeX's special characters escaped."""
    special = {c: f"\\{c}" for c in "_&%#{}$"} | {c: rf"\ensuremath{{{c}}}" for c in "<>|"}
    special |= {"^": r"\^{}", "~": r"\~{}", "\\": r"\textbackslash{}"}
    return "".join(special.get(character, character) for character in text)
