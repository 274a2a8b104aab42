"""Both papers as the machinery of studies takes them: their studies are the files of ``conf/study/chomsky/``."""

from pathlib import Path

import pandas as pd
from omegaconf import OmegaConf

from experiments.chomsky.claims import CLAIMS, LEVEL
from experiments.chomsky.scores import by_arm, by_task
from experiments.sequences.alignment import with_alignment
from experiments.sequences.comparison import number
from experiments.sequences.reproduction import Reproduction, in_one, series_of
from synthlab.studies.presentation.report import About, Numbers
from synthlab.studies.study import Paper, Results, Rows

HERE = Path(__file__).parent
ABOUT = About(
    "The fifteen tasks of the Chomsky hierarchy, in miniature,",
    "Neural Networks and the Chomsky Hierarchy, and of Randomized Positional Encodings Boost Length Generalization",
    "arXiv 2207.02098 and 2305.16843",
    HERE / "deviations.yaml",
    "study chomsky",
)


class Chomsky(Reproduction):
    """The papers' tasks, by accuracy per token; the maximum, which the papers report, beside median and range."""

    numbers = HERE / "published.yaml"
    level = 1 - LEVEL
    metric = "tokens"
    further_names = (*Reproduction.further_names, "gain")

    def own_lengths(self, task, train_length):
        return {}  # no number is published task by task

    def results(self, plan, records, evidence):
        series = {key: [series_of(cell, records) for cell in cells] for key, cells in plan.cells.items()}
        trained = {
            (key, cell.arm): len(one.records)
            for key, cells in plan.cells.items()
            for cell, one in zip(cells, series[key], strict=True)
        }
        runs, published = in_one(list(evidence.values())), OmegaConf.load(self.numbers)
        arms, tasks = by_arm(runs, trained), by_task(runs)
        told = shown(arms)
        lines = [f"{plan.name}: {self.title}", published.says, *_lines(told), *_lines(rounded(tasks))]
        lines += [f"published: {one.what}: {one.value:.3f} ({one.where})" for one in published.numbers]
        panels = {key: self.panel(plan, key, series[key], evidence[key].empty) for key in self.tasks}
        results = Results(panels, {"bins": runs, "table": arms, "gain": tasks}, lines, Numbers(published.says, told))
        return with_alignment(results, runs, self.metric, plan.overrides)


def shown(arms: pd.DataFrame) -> pd.DataFrame:
    """The table of tasks and arms for a reader, in words."""
    fit = [f"{row.fit} of {row.runs}" for row in arms.itertuples()]
    numbers = rounded(arms[["task", "level", "arm", "within", "median", "least", "greatest"]])
    return numbers.rename(columns={"arm": "encoding"}).assign(fit=fit)


def rounded(table: pd.DataFrame) -> pd.DataFrame:
    """Numbers with three decimals, and nothing where there is none."""
    parts = table.select_dtypes("number")
    return table.assign(**{str(name): parts[name].map(number) for name in parts})


def _lines(table: pd.DataFrame) -> list[str]:
    return [] if table.empty else table.to_string(index=False, justify="left").splitlines()


def results(folder: Path) -> Rows:
    """A row for each task: the maxima that the papers report, and the gain over pairs of runs."""
    return [
        {
            "task": row["task"],
            "best, plain": number(row["plain_maximum"]),
            "best, randomized": number(row["randomized_maximum"]),
            "gain of the best": f"{row['gain_of_maxima']:+.3f}",
            "gain of pairs": f"{row['median_gain']:+.3f} [{row['least_gain']:+.3f}, {row['greatest_gain']:+.3f}]",
        }
        for _, row in pd.read_csv(folder / "tasks_gain.csv").iterrows()
    ]


PAPER = Paper("chomsky", ABOUT, Chomsky, CLAIMS, blocks=lambda folder: {"chomsky_results": results(folder)})
