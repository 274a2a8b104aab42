"""``synthlab study``: list papers and their studies, or train, plot and judge a paper's study."""

import json
import os
import shlex
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synthlab.cli import hydra_app
from synthlab.cli.arguments import exit_on_input_error
from synthlab.config.base import Config
from synthlab.config.comments import read_comments
from synthlab.config.families import conf_dir
from synthlab.config.registry import did_you_mean, first_key, key_of
from synthlab.errors import InputError
from synthlab.output import say
from synthlab.studies.overrides import OF_THE_COMMAND

if TYPE_CHECKING:
    from synthlab.studies.study import Paper

NO_SWEEPS = "studies are not swept; vary settings in a file of conf/study/"
# Studies that every paper has: the one that runs by default, and one that takes minutes.
DEFAULT, QUICK = "default", "quick"
SEEDS = 5  # of a study that names no number, and the first ones of seeds=auto
Papers = Mapping[str, Callable[[], "Paper"]]


def main(papers: Papers, words: list[str] | None = None) -> None:
    """Run ``synthlab study``. ``papers`` import a paper only when it is needed.

    The words name a paper and its study, ``PAPER/STUDY``. Settings of runs do not go to Hydra, since the tasks of the
    study's runs decide which settings exist.
    """
    words = sys.argv[1:] if words is None else words
    command = shlex.join(["synthlab", "study", *words])
    args = hydra_app.parse_words(words)
    if not words:
        with exit_on_input_error():
            say(*overview(papers))
        sys.exit(0)
    if args.shell_completion:
        _complete(papers)
    chosen, named = "", _list_names(args)
    if not (args.help or args.hydra_help or args.shell_completion):
        with exit_on_input_error():
            chosen = _choose_study(args, papers)
        for_runs = [word for word in args.overrides if word not in named and not is_of_the_command(word)]
        words = [*(word for word in words if word not in (*named, *for_runs)), f"study={chosen}"]
    given = {key_of(word): word for word in args.overrides if word not in named}

    def train(raw: dict[str, Any]) -> bool:
        from synthlab.studies.command import train_and_report

        return train_and_report(papers[chosen.partition("/")[0]](), raw, given, command)

    hydra_app.main(train, "study", NO_SWEEPS, words=words)


def _complete(papers: Papers) -> None:
    """Print the papers and studies that begin with the last word of the line, and leave only keys to Hydra."""
    program, *words = os.environ.get("COMP_LINE", "").split(" ")
    names = [*papers, *(f"{paper}/{study}" for paper in papers for study in studies_of(paper))]
    if words and "=" not in words[-1]:
        say(*(name for name in names if name.startswith(words[-1])))
    kept = [each for each in words[:-1] if "=" in each or each.startswith("-")]
    os.environ["COMP_LINE"] = " ".join([program, *kept, *words[-1:]])


def _list_names(args: Namespace) -> list[str]:
    """Return the words that are not settings."""
    return [word for word in args.overrides if "=" not in word and not word.startswith("~")]


def is_of_the_command(override: str) -> bool:
    """Return True for an override of the command itself, or of Hydra, that no run of a study has."""
    return first_key(override) in ("hydra", *OF_THE_COMMAND)


def _choose_study(args: Namespace, papers: Papers) -> str:
    """Return ``PAPER/STUDY`` as the command line names it. Raises InputError for an unknown paper or study."""
    named, choices = _list_names(args), f"choose from {', '.join(papers)}"
    quick = any(word.lower() == f"{QUICK}=true" for word in args.overrides)
    if len(named) != 1:
        raise InputError(f"{' '.join(named) or 'study'}: must be one paper, as PAPER or PAPER/STUDY; {choices}")
    paper, _, study = named[0].partition("/")
    if paper not in papers:
        raise InputError(f"{named[0]}: unknown paper{did_you_mean(paper, papers)}; {choices}")
    if quick and study not in ("", QUICK):
        raise InputError(f"{QUICK}=true: selects the study quick; give {paper} without /{study}")
    study = QUICK if quick else study or DEFAULT
    files = studies_of(paper, args.config_dir)
    if study not in files:
        raise InputError(f"{paper}/{study}: unknown study{did_you_mean(study, files)}; choose from {', '.join(files)}")
    return f"{paper}/{study}"


def studies_of(paper: str, more: str | None = None) -> list[str]:
    """Return the names of the files in ``conf/study/PAPER/``, and in the same place of the folder ``more``."""
    folders = [conf_dir(), *([Path(more)] if more else [])]
    return sorted({path.stem for folder in folders for path in (folder / "study" / paper).glob("*.yaml")})


@cache
def read_studies(paper: str, file: str) -> dict[str, Any]:
    """Return the studies in a file of ``conf/study/PAPER/``, including those of the files that it names."""
    from omegaconf import OmegaConf

    path = conf_dir() / "study" / paper / f"{file}.yaml"
    values: Any = OmegaConf.to_container(OmegaConf.load(path))
    for other in values.pop("defaults", []):  # such as /study/crasp/tasks@_global_.study
        values |= read_studies(paper, Path(other.partition("@")[0]).name)
    return values


def overview(papers: Papers) -> Iterator[str]:
    """Yield a line for each paper, and one for each of its studies, with about how many runs it has."""
    yield "synthlab study PAPER[/STUDY] [key=value ...]    synthlab study --help says which keys"
    yield "About how many runs each has, if none is recorded:"
    for paper in papers:
        yield f"\n{paper}: {read_comments(conf_dir() / 'study' / paper / f'{DEFAULT}.yaml').title}"
        for file in studies_of(paper):
            specs = read_studies(paper, file)
            about = ", ".join(specs) if len(specs) > 1 else next(iter(specs.values()))["title"]
            yield f"  {file:<14} {count_runs(specs):>5} runs   {about}"


def count_runs(specs: Mapping[str, Any]) -> int:
    """Return about how many runs studies have, as their files describe them: a run of two grids counts once."""
    series: dict[str, int] = {}
    for spec in specs.values():
        for grid in spec.get("panels", spec.get("tasks", {"": spec})).values():
            number = grid.get("seeds") or spec.get("seeds", SEEDS)
            for settings in _list_series(spec, grid):
                key, every = json.dumps(settings, sort_keys=True), SEEDS if number == "auto" else number
                one = all(settings.get(name) is not None for name in Config.SEEDS[1:])  # nothing follows the seed
                series[key] = max(series.get(key, 0), 1 if one else every)
    return sum(series.values())


def _list_series(spec: Mapping[str, Any], grid: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the settings of each series of a grid, under each setting that it is tuned over."""
    shared = spec.get("arms", {"": {}})
    arms = {name: shared.get(name, {}) | own for name, own in grid.get("arms", shared).items()}
    varied = grid.get("vary", {})
    for vary, arm in product(varied if isinstance(varied, list) else [varied], arms.values()):
        choices = vary | grid.get("tune", {})
        for values in product(*choices.values()):
            yield spec.get("fixed", {}) | grid.get("fixed", {}) | dict(zip(choices, values, strict=True)) | arm
