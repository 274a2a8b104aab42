"""Every family prints, summarizes, plots, compares and ranks by what it measures; several families side by side."""

from dataclasses import replace

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from experiments.long_short_alignment.scalar import ScalarRun
from support.configs import SHAPE, composed
from support.records import made
from synthlab.analysis.comparison import gather_points
from synthlab.analysis.panels import draw_comparison
from synthlab.analysis.record_list import Records
from synthlab.errors import InputError
from synthlab.language.run import horizon
from synthlab.numbers.evaluation import constant_errors
from synthlab.runs.run import Run, resolve, run_type
from synthlab.storage.records import Record
from synthlab.sweeps.ranking import rankings, render_rankings, summarize_run
from theory.language import BoundConfig, LanguageSettings

SMALL_RUN = ["train_length=8", "test_length=32", *SHAPE]
SIZES = {"vocabulary": 4, "topics": 2, "stay": 0.9, "width": 3, "train_length": 8, "test_lengths": [12, 32]}


def _run(task: str, seed: int, lr: float) -> Run:
    return resolve(composed(*SMALL_RUN, f"task={task}", f"seed={seed}", f"protocol.lr={lr}"))


def _scalar(seed: int, lr: float) -> Run:
    return ScalarRun.from_raw(_run("length", seed, lr).model_dump(exclude={"family"}))


def _bound(seed: int, lr: float) -> Run:
    protocol = _run("length", seed, lr).protocol.model_dump()
    return BoundConfig.from_language(LanguageSettings.from_raw(SIZES | {"sequences": 8, "protocol": protocol}), seed)


CONFIGS = {
    "numbers": lambda seed, lr: _run("length", seed, lr),
    "sequences": lambda seed, lr: _run("majority", seed, lr),
    "language": lambda seed, lr: _run("text", seed, lr),
    "scalar": _scalar,
    "theorem1": _bound,
}


def of_family(family: str, value: float, seed: int = 0, lr: float = 0.003) -> Record:
    """A record of ``family`` whose every metric is ``value`` at every length."""
    config = CONFIGS[family](seed, lr)
    lengths = SIZES["test_lengths"] if family == "theorem1" else range(1, config.test_length + 1)
    metrics = pd.DataFrame({"length": lengths, **dict.fromkeys(config.measures().metrics, value)})
    return Record(config, metrics, pd.DataFrame({"step": [2, 4], "loss": [1.0, 0.5]}))


FAMILIES = list(CONFIGS)


def points(table, metric=None, x="length", facet=None):
    return gather_points(table, metric, x, None, facet, None)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_record_prints_its_metrics(family):
    one, measures = of_family(family, 0.5), run_type(family).measures()
    lines = repr(Records([one])).splitlines()
    shown = [name.replace("_", " ") for name, metric in measures.metrics.items() if metric.format]
    assert lines[0].startswith("1 run: ")
    assert lines[1].split() == ["length", *" ".join(shown).split(), *["chance"] * (measures.chance is not None)]
    assert len({len(line) for line in lines[1:-1]}) == 1
    assert (f"(tested to {one.config.test_length})" in lines[-1]) == (measures.criterion is not None)


@pytest.mark.parametrize("family", FAMILIES)
def test_summary_plot_and_comparison(family):
    records = Records([of_family(family, 0.5), of_family(family, 0.25, seed=1)])
    measures = run_type(family).measures()
    metric = measures.metrics[measures.primary]
    assert records.summary().iloc[0].tolist() == [0.375]
    assert "<table" in records._repr_html_()
    axes = records.plot().axes[0]
    assert (axes.get_yscale(), " ".join(axes.get_ylabel().split())) == (metric.scale, metric.label)
    assert measures.primary in repr(records).splitlines()[1]
    for name in {each.scale: name for name, each in measures.metrics.items()}.values():  # one of each scale
        figure = draw_comparison(points(records.table(), name))
        assert " ".join(figure.axes[0].get_ylabel().split()) == measures.metrics[name].label
        figure.canvas.draw()
    plt.close("all")


@pytest.mark.parametrize("family", FAMILIES)
def test_runs_rank_in_the_direction_of_their_metric(family):
    first = run_type(family).measures().ranking[0]
    better = run_type(family).measures().metrics[first].better
    rates = dict(zip((0.001, 0.002, 0.003), (0.25, 0.5, float("nan")), strict=True))
    rows = [summarize_run(of_family(family, value, lr=rate)) for rate, value in rates.items()]
    [ranking] = rankings(rows).values()
    best = [0.002, 0.001] if better == "higher" else [0.001, 0.002]
    assert [float(rate) for rate in ranking.iloc[:, 0]] == [*best, 0.003]
    assert first.replace("_", " ") in render_rankings(rankings(rows))


def test_records_of_several_families():
    records = Records(of_family(family, 0.5) for family in ("numbers", "sequences", "language"))
    assert records.summary().columns.get_level_values(0).tolist() == ["mse", "exact", "loss"]
    assert records._repr_html_().count("<table") == 3
    for family, table in rankings([summarize_run(one) for one in records]).items():
        record = next(each for each in records if each.config.family == family)
        assert {*record.config.measures().ranking, "training_loss"} <= {*table}
        [level] = table["chance"]
        assert level == run_type(family).measures().chance(record.config, record.metrics)[-1]


def test_families_without_a_common_metric_share_no_axis():
    mixed = Records(of_family(family, 0.5) for family in ("numbers", "sequences", "language")).table()
    for metric, line in ((None, "metric: "), ("loss", "metric=loss: ")):
        with pytest.raises(InputError, match=f"^{line}"):
            points(mixed, metric)
    assert "left out: 2 runs with no finite mse" in points(mixed, "mse").remarks
    found = points(mixed, "horizon", x="task")
    assert sorted(found.points["task"]) == ["length", "majority", "text"]
    assert "relative error" in found.measured.label
    assert "exact match" in found.measured.label
    with pytest.raises(InputError, match="have no primary metric in common"):
        Records(of_family(family, 0.5) for family in ("numbers", "language")).plot()


def test_best_constant_answer():
    [run] = made(1, (0,), train_length=5, test_length=8)
    assert constant_errors(run.config).tolist() == [(length - 3) ** 2 for length in range(1, 9)]
    own = run.config.model_copy(update={"task": {"name": "mine:Task"}})
    assert "chance" not in repr(Records([replace(run, config=own)]))


def test_horizon_of_a_language_model():
    config, lengths = of_family("language", 0.5).config, range(1, 33)  # trained to 8, averaged over 2
    early = [3.0] * 6  # short contexts tell little

    def reached(later):
        return horizon(config, pd.DataFrame({"length": lengths, "loss": early + later}))

    assert reached([1.0] * 26) == 32
    assert reached([1.0] * 10 + [1.15] * 16) == 17  # the first mean over two is within 0.1
    assert reached([1.0] * 10 + [float("nan")] * 16) == 16
    assert reached([6.0] * 26) == 0  # a uniform guess has log 256 = 5.5
