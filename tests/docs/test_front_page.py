"""The picture of the README and of the site's first page, and the numbers of the README's first screen."""

import importlib.util
import json
import re

import pandas as pd
import pytest

from experiments.committed_verdicts import TABLES, read_tables
from experiments.reference import REFERENCE, ROOT, count_verdicts
from synthlab.runs.conf_files import families, tasks_of


def load(name: str):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def answers():
    return load("answers")


def test_the_pictures_on_language_models_are_what_the_committed_tables_draw(tmp_path):
    load("alignment_pictures").draw_all(tmp_path)
    for name in ("regularizer.svg", "untrained.svg"):
        assert (tmp_path / name).read_text() == (ROOT / "docs" / name).read_text()


def test_the_committed_picture_is_what_the_committed_table_draws(answers, tmp_path):
    answers.draw(tmp_path / "answers.svg")
    assert (tmp_path / "answers.svg").read_text() == answers.PICTURE.read_text()


def test_the_sentences_below_the_picture_are_the_table(answers):
    table = pd.read_csv(answers.TABLE)
    assert set(table["seeds"]) == {20}
    rows = table[table["length"] == 50].set_index("outrep")
    plain, mapped = (rows.loc[name, ["median", "least", "greatest"]].round() for name in ("identity", "reciprocal"))
    assert plain["median"] == 9
    said = f"answers nine. Trained to answer 1/x, it answers {mapped.iloc[0]:.0f}; its seeds range from "
    said += f"{mapped.iloc[1]:.0f} to {mapped.iloc[2]:.0f}."
    assert said in " ".join((ROOT / "README.md").read_text().split())


@pytest.mark.parametrize("outrep", ["identity", "reciprocal"])
def test_the_table_is_of_the_runs_of_the_reference(answers, outrep):
    """Of the worst seed of each map, the error is hardly more than the square of how far off its mean answer is."""
    errors = read_tables(REFERENCE / "output_alignment" / TABLES)["figure1c_plus"].set_index(["series", "length"])
    table = pd.read_csv(answers.TABLE).set_index(["outrep", "length"])
    off = abs(table.loc[(outrep, 50), ["least", "greatest"]] - 50).max()
    assert off**2 == pytest.approx(errors.loc[(outrep, 50), "high"], rel=0.01)


def test_what_the_readme_prints_are_the_medians_of_the_reference():
    errors = read_tables(REFERENCE / "output_alignment" / TABLES)["figure1c_plus"].set_index(["series", "length"])
    text = (ROOT / "README.md").read_text()
    for line in (line.split() for line in text.splitlines() if line.split()[1:2] == ["20"]):
        assert float(line[4]) == pytest.approx(errors.loc[(line[0], 50), "median"], rel=0.005)


def test_how_fast_how_broad_and_how_judged():
    bench, gpu = (json.loads((REFERENCE / f"{name}.json").read_text())["rows"] for name in ("bench", "gpu"))
    told = {row["measure"]: row["value"] + row["details"] for row in bench}
    ratio = told["default model against x-transformers on padded batches"]
    faster, fairly = (round(float(number)) for number in re.findall(r"([\d.]+)x", ratio))
    seconds = told["figures 1, 3, 4, 5 from nothing: 170 runs"].split(" s")[0]
    models = max(row["numbers"]["models_an_hour"] for row in gpu if "GPU: default model" in row["measure"])
    tasks = sum(len(tasks_of(family)) for family in families())
    encodings = {path.stem for path in (ROOT / "conf" / "encoding").glob("*.yaml")}
    extensions = {path.stem for path in (ROOT / "conf" / "extension").glob("*.yaml")} & encodings - {"rope"}
    text = (ROOT / "README.md").read_text()
    for said in (
        f"verdicts take {seconds} s",
        f"trains {round(models, -4):,} models an hour",
        f"{fairly} to {faster} times as fast",
        "Over 40 [tasks](docs/reference.md#tasks) and 30 [encodings]",
        "over 10 of which extend a context",
    ):
        assert said in text, said
    assert tasks >= 40
    assert len(encodings) >= 30
    assert len(extensions) > 10
    *papers, counts, _ = count_verdicts()
    assert counts["all"] == sum(row["all"] for row in papers)
    judged = f"{counts['all']} published claims, tested on small models: {counts['holds']} hold, "
    assert judged + f"{counts['fails']} fail, {counts['fails in part']} fail in part" in text
