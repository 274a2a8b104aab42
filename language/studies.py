"""What a study is: arms, a grid of models, and what is made of them. Read from ``conf/study/``."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field

from language.analyses import ANALYSES
from language.summary import Planned
from synthlab.composition import Composed, compose, settings_of
from synthlab.config import BOOKKEEPING, Config
from synthlab.errors import InputError
from synthlab.registry import STRICT, validated

NOT_RUNS = ("study", "seeds", "replot")  # keys of conf/language.yaml that are the command's, not its runs'
TIMES = re.compile(r"(\d+(?:\.\d+)?)x")  # of a number of steps: so many times those of the other arms
Values = Annotated[list[Any], Field(min_length=1)]


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, Mapping) else value


def _as_member(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


class Study(BaseModel):
    """``arms``, each trained as every model of the grids in ``vary``, all with the settings in ``fixed``."""

    model_config = STRICT
    title: str
    fixed: dict[str, Any] = Field(default_factory=dict)
    arms: Annotated[dict[str, dict[str, Any]], Field(min_length=1)] = {"": {}}
    vary: Annotated[list[dict[str, Values]], BeforeValidator(_as_list), Field(min_length=1)] = [{}]
    analysis: Annotated[dict[str, Any], BeforeValidator(_as_member)]


def studies(raw: Any) -> dict[str, Study]:
    """The studies of the config group ``study``, by name. Raises InputError for what is no study."""
    if not isinstance(raw, Mapping) or not raw:
        raise InputError(f"study={raw}: must be a mapping of studies, as in conf/study/table1.yaml")
    found = {}
    for name, spec in raw.items():
        if not re.fullmatch(r"[A-Za-z0-9_+-]+", str(name)):
            raise InputError(f"study.{name}: the name must consist of letters, digits, _, + and -")
        found[name] = validated(Study, spec, f"study.{name}")
        field = f"study.{name}.analysis"
        ANALYSES.arguments(found[name].analysis, field)
        ANALYSES.build(found[name].analysis, field=field)
    return found


def plan(name: str, study: Study, overrides: Mapping[str, str], seeds: int) -> Planned:
    """The runs of a study under the command line's ``overrides``, given by key. Raises InputError for an override of
    what makes the study what it is, and for runs that its analysis could make nothing of."""
    analysis = ANALYSES.find(study.analysis["name"])
    _check(name, study, analysis.least_arms)
    mine = _heeded(analysis.kind, overrides)
    base = Composed(compose(list(mine.values()), name=analysis.kind.config_name), mine, name=analysis.kind.config_name)
    edits = [override for key, override in overrides.items() if key.startswith(f"study.{name}.")]
    planned = Planned([], {}, {}, " ".join([*mine.values(), *edits]))
    for arm, settings in study.arms.items():
        for chosen in (chosen for grid in study.vary for chosen in _combinations(grid)):
            for key in (*study.fixed, *settings, *chosen):
                if key in overrides and not _is_times(settings.get(key)):
                    raise InputError(f"{overrides[key]}: study.{name} sets {key} itself; see conf/study/")
            config = described(analysis.kind, base, study.fixed | chosen | settings)
            analysis.check(name, config)
            for run in map(config.with_seed, range(seeds)):
                if run.id in planned.arms:
                    raise InputError(f"study.{name}: the same run is there twice; leave one of its series out")
                planned.configs.append(run)
                planned.arms[run.id] = arm
                planned.variants[run.id] = variant(config, chosen)
    return planned


def variant(config: Config, chosen: Mapping[str, Any]) -> str:
    """What a model is called: its extension or encoding, and whatever else was ``chosen`` for it."""
    extension, finetune = (getattr(config, field, None) for field in ("extension", "finetune"))
    name = (extension or config.encoding)["name"]
    tuned = [", fine-tuned"] if finetune is not None and finetune.steps else []
    told = ("encoding", "extension", "finetune.steps")
    return "".join([name, *tuned, *(f", {key}={value}" for key, value in chosen.items() if key not in told)])


def described(kind: type[Config], base: Composed, settings: Mapping[str, Any]) -> Config:
    """The run of this kind that a study's ``settings`` on top of ``base`` describe. A number of steps such as ``"2x"``
    is taken times the steps that there would be."""
    times = {key: value for key, value in settings.items() if _is_times(value)}
    raw = base.with_settings(dict(settings_of({key: v for key, v in settings.items() if key not in times})))
    for key, value in times.items():
        if key != "protocol.steps":
            raise InputError(f"{key}={value}: must be a value; only protocol.steps can be given as a multiple")
        raw["protocol"] = raw["protocol"] | {"steps": round(float(value[:-1]) * raw["protocol"]["steps"])}
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


def _is_times(value: Any) -> bool:
    return isinstance(value, str) and TIMES.fullmatch(value) is not None


def _combinations(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def overrides_of(settings: Iterable[str]) -> dict[str, str]:
    """The command line's overrides of the runs' own settings, by key; ``settings`` are keys that are not theirs. Raises
    InputError for one that studies take no account of."""
    from hydra.core.hydra_config import HydraConfig
    from omegaconf import OmegaConf

    as_typed = OmegaConf.to_container(HydraConfig.get().overrides.task, resolve=False)
    given = {override.lstrip("+~").split("=")[0]: override for override in as_typed}
    if "seed" in given:
        raise InputError(f"{given['seed']}: studies take their seeds from 0 on; give seeds=N")
    return {
        key: override
        for key, override in given.items()
        if key.startswith("study.") or key.split(".")[0] not in settings
    }
