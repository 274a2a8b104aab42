"""Config files that are data: a check that they set nothing but their own keys, before Hydra applies them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from synthlab.config.composition import initialize_hydra, quote
from synthlab.config.families import conf_dir, folders
from synthlab.config.hydra_errors import input_errors
from synthlab.errors import InputError


def check_data_files(config_name: str, overrides: Sequence[str], group: str, keys: Sequence[str]) -> None:
    """Raise InputError unless each chosen file of a config group sets ``keys`` alone, at the top of the config.

    Hydra runs what the node ``hydra`` of a config names, and a file can set any node, by a key, a header or a list of
    defaults.

    Args:
        config_name: The config file in ``conf/`` whose defaults choose a file of the group.
        overrides: Those of the command line, which may choose another.
        group: The group.
        keys: The keys that its files may have.
    """
    from hydra.core.global_hydra import GlobalHydra
    from hydra.types import RunMode

    search = f"hydra.searchpath=[{','.join(quote(folder.absolute()) for folder in folders if folder.is_dir())}]"
    with input_errors(list(overrides)), initialize_hydra():
        loader = cast(Any, GlobalHydra.instance().config_loader())
        defaults = loader.compute_defaults_list(config_name, [*overrides, search], RunMode.RUN).defaults
    for each in defaults:
        if str(each.config_path).startswith(f"{group}/"):
            given = f"{group}={each.config_path.removeprefix(f'{group}/')}"
            _check_file(given, f"{each.config_path.removesuffix('.yaml')}.yaml", each.package, keys)


def _check_file(given: str, file: str, package: str, keys: Sequence[str]) -> None:
    from omegaconf import DictConfig, OmegaConf

    found = [path for folder in (conf_dir(), *folders) if (path := Path(folder, file)).is_file()]
    if not found:
        raise InputError(f"{given}: is in no folder of the command; give its folder as --config-dir")
    for path in found:
        with input_errors([given]):
            content = OmegaConf.load(path)
        names = list(map(str, content)) if isinstance(content, DictConfig) else []
        others = [name for name in names if name not in keys]
        if others or package:
            what = f"sets {', '.join(others)}" if others else f"has the package {package}, and must have _global_"
            raise InputError(f"{given}: {path} {what}; such a file is data and has only {' and '.join(keys)}")
