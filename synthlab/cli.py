"""What the command lines share: Hydra around a task function, and one line instead of a traceback for bad input."""

import os
import sys
from argparse import Namespace
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from typing import Any

from synthlab.composition import compose, conf_dir, input_errors
from synthlab.errors import InputError


def main(task: Callable[[dict[str, Any]], bool], config_name: str, no_sweeps: str | None = None) -> None:
    """Run ``task`` on the config that Hydra makes of ``conf/`` and the command line; exit with its status.

    ``no_sweeps`` says why -m is refused, where it is.

    Status 0: done. 1: ``task`` returned False, or a run failed. 2: the input was refused, with one line for each
    problem. 130: interrupted.
    """
    import hydra
    from omegaconf import OmegaConf

    args = _arrange_arguments()
    overrides = args.overrides
    refused: dict[str, None] = {}  # a sweep can refuse many runs for one reason
    succeeded: list[bool] = []

    def guarded(config: Any) -> None:
        # Hydra prints a heading of its own for whatever a task raises, so problems are reported after it has returned.
        try:
            with input_errors(overrides):
                raw = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
            succeeded.append(task(raw))
        except InputError as error:
            refused.update(dict.fromkeys(error.lines))
        except BrokenExecutor:
            print("failed: a worker was killed, perhaps for want of memory; finished runs are kept", file=sys.stderr)
            succeeded.append(False)

    os.environ["HYDRA_FULL_ERROR"] = "1"  # let errors reach us: Hydra's own report takes many lines
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # a user's own classes, as with python -m
    app = hydra.main(config_path=str(conf_dir()), config_name=config_name, version_base="1.3")(guarded)
    try:
        with input_errors(overrides):
            if args.multirun and no_sweeps:
                raise InputError(f"-m: {no_sweeps}")
            _check_sweep(args)
            app()
    except InputError as error:
        refused.update(dict.fromkeys(error.lines))
    except KeyboardInterrupt:
        print("interrupted: finished runs are kept; the same command goes on from there", file=sys.stderr)
        sys.exit(130)
    for line in refused:
        print(f"error: {line}", file=sys.stderr)
    sys.exit(2 if refused else 0 if all(succeeded) else 1)


def _arrange_arguments() -> Namespace:
    """Put the command line's flags before its overrides, as Hydra wants them, and return what they say."""
    from hydra._internal.utils import get_args_parser

    words = sys.argv[1:]
    args = get_args_parser().parse_intermixed_args(words)
    for override in args.overrides:
        words.remove(override)
    sys.argv[1:] = [*words, *args.overrides]
    return args


def _check_sweep(args: Namespace) -> None:
    """Refuse a sweep with a single bad run, or nowhere to write, before the first one is trained.

    Each combination is composed once, with its first seed, and each seed once, with the first combination. Sweepers
    that choose runs as they go have theirs checked one at a time.
    """
    if not args.multirun or any(override.startswith("hydra/sweeper") for override in args.overrides):
        return
    from hydra import initialize_config_dir
    from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
    from hydra.core.global_hydra import GlobalHydra
    from hydra.core.override_parser.overrides_parser import OverridesParser

    from synthlab.assembly import resolve
    from synthlab.store import Store
    from synthlab.workers import find_device

    searchpath = [f"file://{os.path.abspath(args.config_dir)}"] if args.config_dir else []
    own = [given for given in args.overrides if given.startswith("hydra.searchpath") or not given.startswith("hydra")]
    with initialize_config_dir(str(conf_dir()), version_base="1.3"):
        parsed = OverridesParser.create(GlobalHydra.instance().config_loader()).parse_overrides(own)
        batches = BasicSweeper.split_arguments(parsed, max_batch_size=None)
    seen: set[Any] = set()
    stores: dict[Any, Store] = {}
    refused: dict[str, None] = {}
    for overrides in (list(job) for batch in batches for job in batch):
        seeds = tuple(given for given in overrides if given.startswith("seed="))
        parts = {seeds, tuple(given for given in overrides if given not in seeds)}
        if parts <= seen:
            continue
        seen |= parts
        try:
            raw = compose(overrides, searchpath)
            resolve(raw)
            find_device(raw["device"])
            store = Store(raw["results"])
            stores[store.root] = store
        except InputError as error:
            refused.update(dict.fromkeys(error.lines))
    if refused:
        raise InputError(*refused)
    for store in stores.values():
        store.make_writable()
