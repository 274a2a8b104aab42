"""The paper's figures: errors of models of number tasks, and measurements inside these models."""

from typing import cast

from experiments.output_alignment.inside import Inside
from experiments.output_alignment.map_plots import Learned, Powers, ReadoutPowers
from experiments.output_alignment.regrets import Regrets
from experiments.output_alignment.spread import Spread
from synthlab.numbers.evaluation import constant_loss
from synthlab.numbers.run import NumbersRun
from synthlab.runs.registry import Registry
from synthlab.studies.figures import Figure
from synthlab.studies.plots import PLOTS, Plot


class NumberFigure(Figure):
    """A figure whose runs fit if their training loss is at most ``fit`` times that of the best constant prediction."""

    plots = Registry(
        "plot",
        Plot,
        {
            **PLOTS,
            "inside": Inside,
            "learned": Learned,
            "powers": Powers,
            "readout": ReadoutPowers,
            "regrets": Regrets,
            "spread": Spread,
        },
    )

    def level(self, config):
        return self.fit and self.fit * constant_loss(cast(NumbersRun, config))  # these tasks have no other kind of runs
