"""The parameters of a learned map of the target over the course of training."""

from torch import nn

from synthlab.regression.construction import module_of
from synthlab.regression.outrep import LearnedOutRep
from synthlab.training.loop import Observer, Training


class MapTrace:
    """An observer of an ensemble's training that records the parameters of its map at each point of the curve."""

    def __init__(self, outrep: LearnedOutRep | None, observe: Observer | None):
        self.outrep, self.observe = outrep, observe
        self._points: list[dict[str, list[float]]] = []

    def __call__(self, step: int, losses: list[float]) -> None:
        if self.outrep is not None:
            self._points.append({name: values.tolist() for name, values in self.outrep.learned().items()})
        if self.observe is not None:
            self.observe(step, losses)

    def add_to(self, training: Training, index: int) -> Training:
        """Return the training curve of one model with the parameters of its map at each point."""
        points = self._points[: len(training.steps)]
        names = points[0] if points else {}
        return training._replace(learned={name: [point[name][index] for point in points] for name in names})


def find_learned(ensemble: nn.Module) -> LearnedOutRep | None:
    """Return the map that is learned with the models of an ensemble, if there is one."""
    outrep = module_of(ensemble)
    return outrep if isinstance(outrep, LearnedOutRep) else None
