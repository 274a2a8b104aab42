"""What a study is: arms, a grid of models, and what is made of them. Read from ``conf/study/``."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, Field

from experiments.long_short_alignment.analyses import ANALYSES
from experiments.long_short_alignment.run_table import Planned
from experiments.long_short_alignment.scalar import ScalarConfig
from synthlab.config.base import BOOKKEEPING, Config
from synthlab.config.composition import Composed, compose, settings_of, typed_overrides
from synthlab.config.registry import STRICT, validated
from synthlab.errors import InputError
from synthlab.language.config import LanguageConfig
from synthlab.studies.settings import NameOrMember, OneOrMore, Seeds, Values, check_name, combinations

NOT_RUNS = ("study", "seeds", "replot")  # keys of conf/language.yaml that are the command's, not its runs'


class Study(BaseModel):
    """``arms``, each trained as every model of the grids in ``vary``, all with the settings in ``fixed``, under so many
    ``seeds``."""

    model_config = STRICT
    title: str
    seeds: Seeds = 3
    fixed: dict[str, Any] = Field(default_factory=dict)
    arms: Annotated[dict[str, dict[str, Any]], Field(min_length=1)] = {"": {}}
    vary: Annotated[list[dict[str, Values]], OneOrMore, Field(min_length=1)] = [{}]
    analysis: Annotated[dict[str, Any], NameOrMember]


def studies(raw: Any) -> dict[str, Study]:
    """The studies of the config group ``study``, by name. Raises InputError for what is no study."""
    if not isinstance(raw, Mapping) or not raw:
        raise InputError(f"study={raw}: must be a mapping of studies, as in conf/study/table1.yaml")
    found = {}
    for name, spec in raw.items():
        check_name(f"study.{name}", name)
        found[name] = validated(Study, spec, f"study.{name}")
        field = f"study.{name}.analysis"
        ANALYSES.arguments(found[name].analysis, field)
        ANALYSES.build(found[name].analysis, field=field)
    return found


def plan(name: str, study: Study, overrides: Mapping[str, str], seeds: int | None = None) -> Planned:
    """The runs of a study under the command line's ``overrides``, given by key; ``seeds`` of None are its own. Raises
    InputError for an override of what makes the study what it is, and for runs that its analysis could make nothing
    of."""
    analysis = ANALYSES.find(study.analysis["name"])
    _check(name, study, analysis.least_arms)
    mine = _heeded(analysis.kind, overrides)
    base = Composed(compose(list(mine.values()), name=analysis.kind.config_name), mine, name=analysis.kind.config_name)
    edits = [override for key, override in overrides.items() if key.startswith(f"study.{name}.")]
    planned = Planned([], {}, {}, {}, " ".join([*mine.values(), *edits]))
    for arm, settings in study.arms.items():
        for chosen in (chosen for grid in study.vary for chosen in combinations(grid)):
            for key in (*study.fixed, *settings, *chosen):
                if key in overrides:
                    raise InputError(f"{overrides[key]}: study.{name} sets {key} itself; see conf/study/")
            config = described(analysis.kind, base, study.fixed | chosen | settings)
            analysis.check(name, config)
            for run in map(config.with_seed, range(seeds or study.seeds)):
                if run.id in planned.arms:
                    raise InputError(f"study.{name}: the same run is there twice; leave one of its series out")
                planned.configs.append(run)
                planned.arms[run.id] = arm
                planned.variants[run.id] = variant(config, chosen)
                planned.groups[run.id] = f"{arm} {_told(config.encoding['name'], chosen)}".strip()
    return planned


def variant(config: Config, chosen: Mapping[str, Any]) -> str:
    """What a model is called: its extension or encoding, how it was fine-tuned, and whatever else was ``chosen``."""
    extension, finetune = (getattr(config, field, None) for field in ("extension", "finetune"))
    name = (extension or config.encoding)["name"]
    if finetune is not None and finetune.steps:
        name += f", fine-tuned{f' {finetune.steps} steps' if 'finetune.steps' in chosen else ''}"
    return _told(name, chosen)


def _told(name: str, chosen: Mapping[str, Any]) -> str:
    """``name``, and the settings ``chosen`` beside it of which it does not tell."""
    beside = {key: value for key, value in chosen.items() if key not in ("encoding", "extension", "finetune.steps")}
    return "".join([name, *(f", {key}={value}" for key, value in beside.items())])


def described(kind: type[LanguageConfig] | type[ScalarConfig], base: Composed, settings: Mapping[str, Any]) -> Config:
    """The run of this kind that a study's ``settings`` on top of ``base`` describe."""
    raw = base.with_settings(dict(settings_of(settings)))
    return kind.resolved({key: value for key, value in raw.items() if key not in NOT_RUNS})


def all_heeded(overrides: Mapping[str, str], kinds: Iterable[type[Config]]) -> None:
    """Raise InputError for an override that no run of these kinds takes."""
    heeded = {key for kind in kinds for key in _heeded(kind, overrides)}
    for key, override in overrides.items():
        if key not in heeded and not key.startswith("study."):
            raise InputError(f"{override}: no run of these studies has such a setting; leave it out")


def _heeded(kind: type[Config], overrides: Mapping[str, str]) -> dict[str, str]:
    """The overrides that are about a kind of runs. Those of language models are all; what others do not have, such as
    a language, is not for them."""
    given = {key: override for key, override in overrides.items() if not key.startswith("study.")}
    if kind.config_name == "language":
        return given
    default = compose([], name=kind.config_name)
    groups = {key: override for key, override in given.items() if "." not in key and _has(default, key.split("@")[0])}
    chosen = compose(list(groups.values()), name=kind.config_name)
    return {key: override for key, override in given.items() if key in groups or _has(chosen, key)}


def _check(name: str, study: Study, least_arms: int) -> None:
    """Refuse settings that are the command line's, and fewer arms than are compared."""
    for settings in (study.fixed, *study.arms.values(), *study.vary):
        for key in settings:
            if key in (*NOT_RUNS, *BOOKKEEPING, "seed"):
                raise InputError(f"study.{name}: sets {key}, which is the command line's; leave it out")
    if len(study.arms) < least_arms:
        raise InputError(
            f"study.{name}.arms: has {len(study.arms)}; study.{name}.analysis={study.analysis['name']} compares two or "
            f"more"
        )


def _has(config: Any, key: str) -> bool:
    """Whether a config has the dotted ``key``."""
    for name in key.split("."):
        if not isinstance(config, Mapping) or name not in config:
            return False
        config = config[name]
    return True


def overrides_of(settings: Iterable[str]) -> dict[str, str]:
    """The command line's overrides of the runs' own settings, by key; ``settings`` are keys that are not theirs. Raises
    InputError for one that studies take no account of."""
    given = typed_overrides()
    if "seed" in given:
        raise InputError(f"{given['seed']}: studies take their seeds from 0 on; give seeds=N")
    return {
        key: override
        for key, override in given.items()
        if key.startswith("study.") or key.split(".")[0] not in settings
    }
