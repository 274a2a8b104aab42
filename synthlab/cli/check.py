"""``synthlab check``: measure the laws that a class of your own must keep, such as ``mine:LogDistance``."""

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from synthlab.cli.arguments import Parser, exit_on_input_error
from synthlab.errors import InputError, format_error
from synthlab.output import print_out
from synthlab.runs.conf_files import families, run_type, tasks_of
from synthlab.runs.registry import find_class

if TYPE_CHECKING:
    from synthlab.models.laws import Law
    from synthlab.runs.run import Run

# The training that a class is tried in: a few steps, with settings that the command line may replace.
SHORT_TRAINING = ("protocol.steps=4", "protocol.batch=4", "protocol.record_every=2", "protocol.warmup=0.0")


def find_groups(made: Any) -> dict[str, str]:
    """Return the config group of a class, by each family of tasks that has it; empty if no family can use it."""
    import torch

    found: dict[str, str] = {}
    for family in families() if isinstance(made, type) else ():
        bases = {group: registry.base for group, registry in run_type(family).load_family().groups.items()}
        fitting = [group for group, base in bases.items() if issubclass(made, base)]
        if issubclass(made, torch.optim.Optimizer):
            found[family] = "protocol.optimizer"
        elif fitting:  # any module may be a model, so a more special base decides
            found[family] = next((group for group in fitting if bases[group] is not torch.nn.Module), fitting[0])
    return found


def measure_laws(config: "Run") -> "Iterator[Law]":
    """Yield the laws that the classes of a run keep: those of its family, and two of training."""
    import torch

    from synthlab.models.laws import Law
    from synthlab.training.devices import use_one_thread
    from synthlab.training.execution import fit

    def train(*seeds: int) -> torch.Tensor:
        ensemble, _ = fit([config.with_seeds({"seed": seed}) for seed in seeds])
        return torch.cat([parameter.detach()[0].flatten() for parameter in ensemble.parameters()])

    def differ(a: torch.Tensor, b: torch.Tensor) -> float:
        return float((a - b).abs().max() / a.abs().max()) if len(a) else 0.0

    yield from config.load_family().measure_laws(config)
    with use_one_thread():
        alone = train(0)
        yield Law("", "the same seed trains the same model", differ(alone, train(0)), 0.0)
        if not config.protocol.has_user_optimizer:
            yield Law("", "beside another model it trains as it does alone", differ(alone, train(0, 1)))
    yield Law("", "all parameters are numbers after training", float(not alone.isfinite().all()), 0.0)


def check(name: str, settings: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Yield lines on each law of the class ``name``, in each family that can use it, and whether all is well.

    Raises InputError for a class that is none of the lab's, and for settings that do not fit it.
    """
    from synthlab.models.laws import BROKEN
    from synthlab.runs.composition import compose
    from synthlab.runs.run import resolve

    groups = find_groups(find_class(name, "class"))
    if not groups:
        has_laws = "an encoding, a model, a map, a task, inputs, a sampler of positions or an optimizer"
        raise InputError(f"{name}: must be {has_laws}; other classes have no laws")
    given, tried = [each for each in settings if each.startswith("task=")], False
    for family, group in [*groups.items()][: 1 if given else None]:
        # A map meets the targets of every task; others are tried on one.
        default = [name] if group == "task" else [run_type(family).default_task]
        tasks = tasks_of(family) if group == "outrep" else default
        for task in given or [f"task={each}" for each in tasks]:
            choice = [task] if group == "task" else [task, f"{group}={name}"]
            try:
                config = resolve(compose([*choice, *SHORT_TRAINING, *settings]))
            except InputError as error:
                broken = all(BROKEN in line for line in error.lines)
                if not broken and (given or len(groups) == 1):
                    raise
                yield from ((f"{task}: {line}", not broken) for line in error.lines)
                tried |= broken
                continue
            tried = True
            yield " ".join(choice), True
            try:
                for law in measure_laws(config):
                    if law.field in ("", group) or group == "model":
                        yield f"  {'holds' if law.holds else 'FAILS'}  {law.text} ({law.missed_by:.1e})", law.holds
            except Exception as error:  # a class of the user may raise anything
                yield f"  FAILS  trains without an error ({format_error(error)})", False
    if not tried:
        yield f"{name}: no task can use it", False


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line; exit with status 1 if a law does not hold."""
    parser = Parser(prog="synthlab check", description=(__doc__ or "").partition(": ")[2], allow_abbrev=False)
    parser.add_argument("name", metavar="package.module:Class", help="a class of your own")
    parser.add_argument("settings", nargs="*", metavar="key=value", help="settings of the run to try it in: task=copy")
    with exit_on_input_error():
        args = parser.parse_args(argv)
        sys.path.insert(0, "")
        sound = True
        for line, holds in check(args.name, args.settings):
            print_out(line)
            sound &= holds
    sys.exit(0 if sound else 1)
