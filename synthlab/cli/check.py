"""``synthlab check``: measure the laws that a class of your own must keep, such as ``mine:LogDistance``."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from synthlab.cli.arguments import Parser, exit_on_input_error
from synthlab.errors import InputError, format_error
from synthlab.output import say
from synthlab.runs.conf_files import families, run_type, tasks_of
from synthlab.runs.registry import Registry, find_class

if TYPE_CHECKING:
    from synthlab.models.laws import Law
    from synthlab.runs.run import Run

# The training that a class is tried in: a few steps, with settings that the command line may replace.
SHORT = ("protocol.steps=4", "protocol.batch=4", "protocol.record_every=2", "protocol.warmup=0.0")
OPTIMIZER = "protocol.optimizer"


def find_groups(made: Any) -> dict[str, str]:
    """Return the config group of a class, by each family of tasks that has it; empty if no family can use it."""
    import torch

    if isinstance(made, type) and issubclass(made, torch.optim.Optimizer):
        return dict.fromkeys(families(), OPTIMIZER)
    found: dict[str, str] = {}
    for family in families():
        kinds: Mapping[str, Registry[Any]] = run_type(family).load_family().groups
        fitting = [group for group, kind in kinds.items() if isinstance(made, type) and issubclass(made, kind.base)]
        # Any module may be a model, so a more special base decides.
        special = [group for group in fitting if kinds[group].base is not torch.nn.Module]
        if fitting:
            found[family] = (special or fitting)[0]
    return found


def measure_laws(config: "Run") -> "Iterator[Law]":
    """Yield the laws that the classes of a run keep: those of its family, and two of training."""
    import torch

    from synthlab.models.laws import Law
    from synthlab.training.devices import use_one_thread
    from synthlab.training.execution import fit

    def train(*seeds: int) -> list[torch.Tensor]:
        ensemble, _ = fit([config.with_seeds({"seed": seed}) for seed in seeds])
        return [torch.cat([p.detach()[i].flatten() for p in ensemble.parameters()]) for i in range(len(seeds))]

    yield from config.load_family().measure_laws(config)
    with use_one_thread():
        (first,), (again,) = train(0), train(0)
        yield Law("", "the same seed trains the same model", _differ(first, again), 0.0)
        if not config.protocol.has_own_optimizer:
            yield Law("", "beside another model it trains as it does alone", _differ(first, train(0, 1)[0]))
    yield Law("", "all parameters are numbers after training", float(not first.isfinite().all()), 0.0)


def _differ(a: Any, b: Any) -> float:
    return float((a - b).abs().max() / a.abs().max()) if len(a) else 0.0


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
    given = next((each.partition("=")[2] for each in settings if each.startswith("task=")), None)
    usable = 0
    for family, group in groups.items():
        # A map meets the targets of every task; others are tried on one.
        tasks = tasks_of(family) if group == "outrep" else [run_type(family).default_task]
        for task in [name] if group == "task" else [given] if given else tasks:
            choice = [f"task={task}"] if group == "task" else [f"task={task}", f"{group}={name}"]
            try:
                config = resolve(compose([*choice, *SHORT, *settings]))
            except InputError as error:
                broken = all(BROKEN in line for line in error.lines)
                if not broken and (given or len(groups) == 1):
                    raise
                yield from ((f"task={task}: {line}", not broken) for line in error.lines)
                usable += broken
                continue
            usable += 1
            yield " ".join(choice), True
            try:
                for law in measure_laws(config):
                    if law.field in ("", group) or group == "model":
                        yield f"  {'holds' if law.holds else 'FAILS'}  {law.says} ({law.missed_by:.1e})", law.holds
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # a class of the user may raise anything
                yield f"  FAILS  trains without an error ({format_error(error)})", False
        if given:
            break
    yield from [] if usable else [(f"{name}: no task can use it", False)]


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
            say(line)
            sound &= holds
    sys.exit(0 if sound else 1)


if __name__ == "__main__":
    main()
