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
from synthlab.errors import InputError
from synthlab.output import print_out
from synthlab.runs.comments import read_comments
from synthlab.runs.conf_files import conf_dir
from synthlab.runs.registry import did_you_mean, first_key, key_of
from synthlab.studies.overrides import OF_THE_COMMAND

if TYPE_CHECKING:
    from synthlab.studies.study import Paper

NO_SWEEPS = "studies are not swept; vary settings in a file of conf/study/"
# What every paper has: the file of studies that run by default, and in it a study that takes minutes.
DEFAULT, QUICK = "default", "quick"
STUDY = re.compile(r"^(?!defaults:)([\w+-]+):", re.MULTILINE)  # the name of a study in its file
Papers = Mapping[str, Callable[[], "Paper"]]


def main(papers: Papers, words: list[str] | None = None, command: str = "") -> None:
    """Run ``synthlab study``. ``papers`` import a paper only when it is needed; a report names the ``command``.

    The words name a paper and its study, ``PAPER/STUDY``. Settings of runs do not go to Hydra, since the tasks of the
    study's runs decide which settings exist.
    """
    words = sys.argv[1:] if words is None else words
    command = command or shlex.join(["synthlab", "study", *words])
    args = hydra_app.parse_words(words)
    if not words:
        with exit_on_input_error():
            print_out(*overview(papers))
        sys.exit(0)
    if args.shell_completion:
        _complete(papers)
    paper, study, file = "", "", ""
    named = [word for word in args.overrides if "=" not in word and not word.startswith("~")]
    if not (args.help or args.hydra_help or args.shell_completion):
        with exit_on_input_error():
            paper, study, file = _choose_study(args, named, papers)
        for_runs = [word for word in args.overrides if word not in named and not is_command_key(word)]
        words = [*(word for word in words if word not in (*named, *for_runs)), f"study={paper}/{file}"]
    given = {key_of(word): word for word in args.overrides if word not in named}

    def train(raw: dict[str, Any]) -> bool:
        from synthlab.studies.command import train_and_report

        return train_and_report(papers[paper](), raw | {"study": _select(raw["study"], study, file)}, given, command)

    hydra_app.main(train, "study", NO_SWEEPS, words=words)


def _complete(papers: Papers) -> None:
    """Print the papers and studies that begin with the last word of the line, and leave only keys to Hydra."""
    program, *words = os.environ.get("COMP_LINE", "").split(" ")
    names = [*papers, *(f"{paper}/{study}" for paper in papers for study in studies_of(paper))]
    if words and "=" not in words[-1]:
        print_out(*(name for name in names if name.startswith(words[-1])))
    kept = [each for each in words[:-1] if "=" in each or each.startswith("-")]
    os.environ["COMP_LINE"] = " ".join([program, *kept, *words[-1:]])


def is_command_key(override: str) -> bool:
    """Return True for an override of the command itself, or of Hydra, that no run of a study has."""
    return first_key(override) in ("hydra", *OF_THE_COMMAND)


def _choose_study(args: Namespace, named: list[str], papers: Papers) -> tuple[str, str, str]:
    """Return the paper, the study and its file, as the command line names them. Raises InputError for unknown ones."""
    choices = f"choose from {', '.join(papers)}"
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
    return paper, study, files[study]


def studies_of(paper: str, more: str | None = None) -> dict[str, str]:
    """Return the file of each name that selects studies of a paper: the file's own name, or that of a study in it.

    The files are those of ``conf/study/PAPER/``, and of the same place in the folder ``more``.
    """
    folders = [conf_dir(), *([Path(more)] if more else [])]
    paths = [path for folder in folders for path in sorted((folder / "study" / paper).glob("*.yaml"))]
    within = {study: path.stem for path in paths for study in STUDY.findall(path.read_text(encoding="utf-8"))}
    return within | {path.stem: path.stem for path in paths}


@cache
def read_studies(paper: str, name: str) -> dict[str, Any]:
    """Return the studies that ``PAPER/name`` selects, including those of the files that their file includes."""
    file = studies_of(paper)[name]
    values = dict(_read_file(paper, file))
    others = [Path(each.partition("@")[0]).name for each in values.pop("defaults", []) if each != "_self_"]
    found = {key: spec for other in others for key, spec in read_studies(paper, other).items()} | values
    return _select(found, name, file)


@cache
def _read_file(paper: str, file: str) -> dict[str, Any]:
    from omegaconf import OmegaConf

    values: Any = OmegaConf.to_container(OmegaConf.load(conf_dir() / "study" / paper / f"{file}.yaml"))
    return values


def _select(studies: Mapping[str, Any], name: str, file: str) -> dict[str, Any]:
    """Return those of a file's studies that ``name`` selects: that study, or all, of several without the quick one."""
    chosen = [name] if name != file else [key for key in studies if key != QUICK or len(studies) == 1]
    return {key: spec for key, spec in studies.items() if key in chosen}


def overview(papers: Papers) -> Iterator[str]:
    """Yield a line for each paper, and one for each of its studies."""
    yield "synthlab study PAPER[/STUDY] [key=value ...]    synthlab study --help says which keys"
    for paper in papers:
        yield f"\n{paper}: {read_comments(conf_dir() / 'study' / paper / f'{DEFAULT}.yaml').title}"
        for name in studies_of(paper):
            specs = read_studies(paper, name)
            about = ", ".join(specs) if len(specs) > 1 else next(iter(specs.values()))["title"]
            yield f"  {name:<14}   {about}"
