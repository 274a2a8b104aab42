"""Verdicts from committed tables: judge the studies of a paper anew, without their records and without training."""

from pathlib import Path

import pandas as pd
from omegaconf import OmegaConf

from synthlab.config.families import conf_dir
from synthlab.studies.presentation.report import stated
from synthlab.studies.study import Paper


def rejudged(paper: Paper, folder: Path) -> dict[Path, pd.DataFrame]:
    """Return the table of claims of each study of a ``paper`` whose tables lie in ``folder``, by its file.

    Left out is a study that keeps no table of what its claims are judged on, and one of which a run diverged, since its
    tables do not have that run.
    """
    found = {}
    for path in sorted(folder.glob("*_claims.csv")):
        name = path.stem.removesuffix("_claims")
        file = conf_dir() / "study" / paper.name / f"{name}.yaml"
        if not file.exists() or pd.read_csv(path)["diverged"].fillna(0).any():
            continue
        [study] = paper.studies(OmegaConf.to_container(OmegaConf.load(file))).values()
        evidence = study.reread(lambda table, name=name: pd.read_csv(folder / f"{name}_{table}.csv"))
        if evidence is not None:
            trained = {key: len(runs.drop_duplicates(_run(runs))) for key, runs in evidence.items()}
            found[path] = stated(study.judged(paper.claims, study.title.split(":")[0], evidence, trained))
    return found


def _run(runs: pd.DataFrame) -> list[str]:
    """The columns that tell runs apart; a table of scores has no identities."""
    return next(([name] for name in ("run", "id") if name in runs), ["task", "seed", "arm"])
