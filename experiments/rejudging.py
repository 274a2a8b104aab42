"""Verdicts from committed tables: judge the studies of a paper again, without records and without training."""

from pathlib import Path

import pandas as pd

from experiments.committed_verdicts import CLAIMS, RUNS, read_tables
from synthlab.cli.studies import read_studies, studies_of
from synthlab.studies.report import add_statements
from synthlab.studies.study import Paper
from synthlab.studies.verdicts import judge


def rejudge(paper: Paper, folder: Path) -> dict[str, pd.DataFrame]:
    """Return the table of claims of each study of a ``paper`` whose tables are in ``folder``, by its name.

    Studies are left out if they have no table of the data of their claims, or if a run diverged, since their tables
    lack that run.
    """
    found, claims = {}, read_tables(folder / CLAIMS)
    for name, runs in read_tables(folder / RUNS).items():
        if (
            name not in studies_of(paper.name)
            or name not in claims
            or claims[name].get("diverged", pd.Series()).fillna(0).any()
        ):
            continue
        [study] = paper.studies(read_studies(paper.name, name)).values()
        evidence = study.reread(runs)
        if evidence is not None:
            trained = {key: _count_runs(table) for key, table in evidence.items() if isinstance(table, pd.DataFrame)}
            claim_data = study.claim_data(evidence, trained)
            found[name] = add_statements(judge(paper.claims.values(), study.title.split(":")[0], claim_data))
    return found


def _count_runs(table: pd.DataFrame) -> int:
    """Return how many runs a table has; a table of scores has no identities."""
    identity = next(([name] for name in ("run", "id") if name in table), ["task", "seed", "arm"])
    return len(table.drop_duplicates(identity))
