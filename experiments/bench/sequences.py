"""Tasks whose answers are tokens: the time to draw their examples, and that to train on them."""

from itertools import islice
from typing import NamedTuple

import torch

from experiments.bench.probes import repeat_seeds, seconds_a_call
from synthlab.config.composition import compose
from synthlab.sequences.config import SequencesConfig
from synthlab.sequences.construction import build_models, resolve
from synthlab.sequences.objective import AnswerLoss, Examples
from synthlab.sequences.tasks import PROBLEMS
from synthlab.training.ensembles import ensemble_size


class Times(NamedTuple):
    """Seconds that a step of one model takes on one thread, in a stack of the size that a sweep takes: to draw its
    examples, and in all; and the tokens of its batch, padding included."""

    drawing: float
    step: float
    tokens: int

    @property
    def share(self) -> float:
        """The time to draw, in times that of the rest of the step."""
        return self.drawing / (self.step - self.drawing)


def compose_run(*overrides: str) -> SequencesConfig:
    """The run that overrides describe."""
    return resolve(compose(list(overrides)))


def step_times(seconds: float, *overrides: str) -> Times:
    """Of a run; each part is timed for about so many ``seconds``."""
    torch.set_num_threads(1)
    first = compose_run(*overrides)
    configs = repeat_seeds(first, ensemble_size(first))
    examples = Examples(first)
    batches, model = iter(examples), build_models(configs)
    objective = AnswerLoss(model, configs)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)

    def draw() -> None:
        for _ in islice(batches, examples.steps):  # as many as are drawn at once
            pass

    def train() -> None:
        for _ in range(examples.steps):
            optimizer.zero_grad()
            objective().sum().backward()
            optimizer.step()

    drawing, training = seconds_a_call(draw, seconds), seconds_a_call(train, seconds)
    step = training / examples.steps / len(configs)
    return Times(drawing / examples.steps, step, first.protocol.batch * examples.width)


def every_step_times(seconds: float) -> dict[str, Times]:
    """Of every task as ``conf/task/`` has it."""
    return {name: step_times(seconds, f"task={name}") for name in PROBLEMS}
