"""Runs followed in Weights & Biases."""

import os
import tempfile
from pathlib import Path
from typing import Any, Literal

from synthlab.errors import require
from synthlab.sweeps.trackers.base import Track, Tracker, check_local, outcome, tests


class WandB(Tracker):
    """Weights & Biases: ``train/loss`` against ``step``; ``test/mse`` and the other metrics against ``length``.

    A run's id there is its identity, so a run that begins again continues under the same id, with the same points.
    Nothing is printed, and nothing written outside ``folder``.
    """

    def __init__(
        self,
        project: str,
        folder: str,
        entity: str | None = None,
        group: str | None = None,
        mode: Literal["online", "offline", "disabled"] = "online",
    ):
        require("wandb", "wandb", what="tracker=wandb")
        self.folder, self.about = (
            check_local(folder),
            {"project": project, "entity": entity, "group": group, "mode": mode},
        )

    def begin(self, config):
        folder = Path(self.folder).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()  # if it cannot write there, W&B would silently write elsewhere
        os.environ.setdefault("WANDB_CACHE_DIR", str(folder))  # for the log of W&B's own process
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")  # with it, 30 runs end in 20 seconds, without in 2
        import wandb  # pyright: ignore[reportMissingImports] - an extra

        settings = wandb.Settings(
            silent=True,
            console="off",
            disable_git=True,
            disable_code=True,
            x_disable_stats=True,  # statistics of the machine: the same for all runs of an ensemble
            x_save_requirements=False,
            init_timeout=30,  # seconds; the default is 90
            finish_timeout=60,  # seconds, by default unlimited; the rest is on disk, for wandb sync
            finish_timeout_raises=True,
        )
        wandb.setup()  # starts W&B's own process, which ends with this one
        wandb.termsetup(settings, None)  # otherwise W&B asks for an account on the terminal
        parts = [getattr(config, group, {"name": ""})["name"] for group in ("task", "encoding", "outrep")]
        run = wandb.init(
            config=config.model_dump(),
            settings=settings,
            id=config.id,
            name=" ".join([*filter(None, parts), f"seed {config.seed}"]),
            dir=str(folder),
            reinit="create_new",
            resume="allow",
            tags=[self.tag] if self.tag else None,
            **self.about,
        )
        for axis, drawn in {"step": "train/*", "length": "test/*"}.items():
            run.define_metric(axis, hidden=True)
            run.define_metric(drawn, step_metric=axis)
        return _WandBTrack(run)


class _WandBTrack(Track):
    def __init__(self, run: Any):
        self.run = run

    def point(self, step, loss):
        self.run.log({"step": step, "train/loss": loss})

    def end(self, record, error=None):
        for length, values in tests(record):
            self.run.log({"length": length, **values})
        self.run.summary.update({"error": None, **outcome(record, error)})  # an earlier attempt may have left an error
        self.run.finish(exit_code=int(record is None))
