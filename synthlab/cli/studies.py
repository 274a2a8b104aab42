"""``synthlab study``: list papers and their studies, or train, plot and judge a paper's study."""

import os
import re
import shlex
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synthlab.cli import hydra_app
from synthlab.cli.arguments import exit_on_input_error
from synthlab.config.base import BOOKKEEPING
from synthlab.config.families import conf_dir
from synthlab.config.registry import did_you_mean
from synthlab.errors import InputError
from synthlab.output import say
from synthlab.studies.overrides import NOT_RUNS

if TYPE_CHECKING:
    from synthlab.studies.study import Paper

NO_SWEEPS = "studies are not swept; vary settings in a file of conf/study/"
# Studies that every paper has: the one that runs by default, and one that takes minutes.
DEFAULT, QUICK = "default", "quick"
OF_THE_COMMAND = (*NOT_RUNS, "hydra", *BOOKKEEPING)
Papers = Mapping[str, Callable[[], "Paper"]]


def main(papers: Papers) -> None:
    """Run ``synthlab study``. ``papers`` import a paper only when it is needed.

    The words name a paper and its study, ``PAPER/STUDY``. Settings of runs are taken from the command line before Hydra
    sees it, since the tasks of the study's runs decide which settings exist.
    """
    command = shlex.join(["synthlab", "study", *sys.argv[1:]])
    args = hydra_app.parse_words(sys.argv[1:])
    if len(sys.argv) == 1:
        with exit_on_input_error():
            say(*overview(papers))
        sys.exit(0)
    chosen, word = "", os.environ.get("COMP_LINE", "").split(" ")[-1]
    if args.shell_completion:
        _complete(word, papers)
    if not (args.help or args.hydra_help or args.shell_completion):
        with exit_on_input_error():
            chosen = _choose_study(args, papers)
        of_runs = [
            word for word in args.overrides if word not in _list_names(args) and key_of(word) not in OF_THE_COMMAND
        ]
        for word in (*_list_names(args), *of_runs):
            sys.argv.remove(word)
        sys.argv.append(f"study={chosen}")
    given = {word.lstrip("+~").split("=")[0]: word for word in args.overrides if word not in _list_names(args)}

    def task(raw: dict[str, Any]) -> bool:
        with hydra_app.pause_garbage_collection():
            from synthlab.studies.command import train_and_report

            paper = papers[chosen.partition("/")[0]]()
        return train_and_report(paper, raw, given, command)

    hydra_app.main(task, "study", NO_SWEEPS)


def _complete(word: str, papers: Papers) -> None:
    """Print the papers and studies that begin with ``word``, and leave only keys to Hydra."""
    names = [*papers, *(f"{paper}/{study}" for paper in papers for study in studies_of(paper))]
    if "=" not in word:
        say(*(name for name in names if name.startswith(word)))
    program, *words = os.environ.get("COMP_LINE", "").split(" ")
    kept = [each for each in words[:-1] if "=" in each or each.startswith("-")]
    os.environ["COMP_LINE"] = " ".join([program, *kept, word])


def _list_names(args: Namespace) -> list[str]:
    """Return the words that are not settings."""
    return [word for word in args.overrides if "=" not in word and not word.startswith("~")]


def key_of(override: str) -> str:
    """Return the first part of an override's key."""
    return re.split(r"[./@=]", override.lstrip("+~"))[0]


def _choose_study(args: Namespace, papers: Papers) -> str:
    """Return ``PAPER/STUDY`` as the command line names it. Raises InputError for an unknown paper or study."""
    named = _list_names(args)
    quick = any(word.lower() == f"{QUICK}=true" for word in args.overrides)
    if len(named) != 1:
        raise InputError(f"{' '.join(named) or 'study'}: must be one paper, as PAPER or PAPER/STUDY; {_papers(papers)}")
    paper, _, study = named[0].partition("/")
    if paper not in papers:
        raise InputError(f"{named[0]}: unknown paper{did_you_mean(paper, papers)}; {_papers(papers)}")
    if quick and study not in ("", QUICK):
        raise InputError(f"{QUICK}=true: selects the study quick; give {paper} without /{study}")
    study = QUICK if quick else study or DEFAULT
    files = studies_of(paper, args.config_dir)
    if study not in files:
        raise InputError(f"{paper}/{study}: unknown study{did_you_mean(study, files)}; choose from {', '.join(files)}")
    return f"{paper}/{study}"


def _papers(papers: Papers) -> str:
    return f"choose from {', '.join(papers)}"


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
    """Yield a line for each paper and each of its studies, with their cost."""
    from synthlab.studies.costs import list_runs, minutes
    from synthlab.studies.overrides import Overrides
    from synthlab.sweeps.sweep import count_workers

    workers, overrides = count_workers(None), Overrides()
    yield "synthlab study PAPER[/STUDY] [key=value ...]    synthlab study --help says which keys"
    yield f"Runs, and minutes on the {workers} cores here, within a factor of about two, if none is recorded:"
    for name, load in papers.items():
        paper, files = load(), {file: read_studies(name, file) for file in studies_of(name)}
        studies = paper.studies({each: spec for specs in files.values() for each, spec in specs.items()})
        known = {each: list_runs(study, overrides) for each, study in studies.items()}
        yield f"\n{name}: {paper.about.part} of {paper.about.title}"
        for file, names in files.items():
            runs = list({id: run for each in names for id, run in known[each].items()}.values())
            about = ", ".join(names) if len(names) > 1 else studies[next(iter(names))].title
            yield f"  {file:<14} {len(runs):>5} runs {max(1, round(minutes(runs, workers))):>5} min   {about}"
