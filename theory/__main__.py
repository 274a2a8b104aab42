"""``synthlab theory``: check the paper's appendix B, train what is missing, and write ``results/theory/``."""

import shlex
import sys
from functools import partial
from typing import Annotated, Any

from pydantic import BaseModel, Field, PositiveInt

from synthlab.cli import hydra_app as cli
from synthlab.errors import InputError, require
from synthlab.runs.registry import STRICT, validate

HeadDim = Annotated[int, Field(gt=0, le=1024)]


class TrainedSettings(BaseModel):
    """Settings of the runs of one model: of its protocol, its model and its evaluation."""

    model_config = STRICT
    linear: dict[str, Any]
    softmax: dict[str, Any]


class Settings(BaseModel):
    """The settings of the command; ``conf/theory.yaml`` describes each key."""

    model_config = STRICT
    train_length: Annotated[int, Field(gt=1, le=100)]
    test_length: Annotated[int, Field(gt=1, le=1000)]
    head_dims: Annotated[list[HeadDim], Field(min_length=1)]
    seeds: Annotated[int, Field(gt=0, le=10_000)]
    workers: PositiveInt | None
    results: str
    trained: TrainedSettings
    language: dict[str, Any]


def task(raw: dict[str, Any], command: str) -> bool:
    """Check the statements, train missing runs, compare them with the theory, and write the results.

    These are tables, figures and pages. ``command`` is the command line. Returns False if a run diverged.
    """
    require("theory", "sympy", "mpmath", "latex2mathml", what="synthlab theory")
    from synthlab.output import print_out
    from synthlab.storage.store import Store
    from synthlab.studies.report import left_out_lines
    from synthlab.sweeps.sweep import count_workers, ensure
    from theory import language, results, trained
    from theory.page import write_theory

    settings = validate(Settings, raw, "")
    workers = count_workers(settings.workers)
    if settings.test_length < settings.train_length + 2:
        raise InputError(
            f"test_length={settings.test_length}: must be at least 2 more than train_length={settings.train_length}"
        )
    text = language.LanguageSettings.from_raw(settings.language)
    lengths = {"train_length": settings.train_length, "test_length": settings.test_length}
    plain, mapped = trained.plain_cases(settings.head_dims), trained.mapped_cases()
    runs = trained.list_configs(
        dict.fromkeys([*plain, *mapped]), settings.trained.model_dump(), lengths, settings.seeds
    )
    store = Store(settings.results)
    folder = store.root / "theory"
    store.make_writable("theory")

    tables = {"ledger": results.ledger()}
    print_out(*results.ledger_lines(tables["ledger"]), "", *results.closed_form_lines(), "")
    bound_runs = [language.BoundConfig.from_language(text, seed) for seed in range(settings.seeds)]
    bound_store = Store(f"{settings.results}/theorem1")
    tables["theorem1"] = language.bounds(ensure(bound_runs, bound_store))
    wanted = [case for case in runs if case in plain or (case.outrep, case.shift) in trained.TRAINED_MAPS[case.bos]]
    configs = [config for case in wanted for config in runs[case]]
    records = {record.config.id: record for record in ensure(configs, store, workers)}
    found = {case: [records[config.id] for config in runs[case]] for case in wanted}

    tables["optima"] = results.optima(sorted({1, 2, 3, 5, 10, settings.train_length}), settings.test_length)
    tables["agreement"] = trained.agreement(found)
    tables["training"] = trained.comparison({case: runs[case] for case in plain}, found)
    tables["maps"] = trained.comparison({case: runs[case] for case in mapped}, found)
    tables["predictions"] = results.predictions(tables["training"], found)
    try:
        files = write_theory(folder, tables, command)
    except OSError as error:
        raise InputError(f"{error.filename}: cannot be written ({error.strerror}); the runs are kept") from None
    lost = left_out_lines(records.values())
    print_out(*results.training_lines(tables), "written:", *(f"  {file}" for file in files), *lost)
    return not lost


def main() -> None:
    """Run ``synthlab theory``."""
    command = shlex.join(["synthlab", "theory", *sys.argv[1:]])
    cli.main(partial(task, command=command), "theory", "the theory is not swept; give one value for each key")


if __name__ == "__main__":
    main()
