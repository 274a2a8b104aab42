"""Config files that would take for ever: a few lines of YAML, aliases of aliases, can stand for billions of values."""

import os
from contextlib import suppress
from functools import cache
from typing import Any, cast

from synthlab.errors import InputError

MOST_VALUES, SUSPECT = 10_000, 100_000  # values of a file; bytes of one that is counted though it has no alias


@cache
def bound_files() -> None:
    """Have Hydra, in this process, raise InputError for a config file of more than ``MOST_VALUES`` values.

    OmegaConf writes all aliases out as it reads, and there is nothing to set against that.
    """
    from hydra._internal.sources_registry import SourcesRegistry
    from hydra.core.plugins import Plugins

    Plugins.instance()  # registers what reads files
    reader: Any = SourcesRegistry.instance().resolve("file")
    load = reader.load_config

    def load_bounded(source: Any, config_path: str) -> Any:
        folder, name = cast(tuple[str, str], (source.path, source._normalize_file_name(config_path)))
        path = os.path.join(folder, name)
        with suppress(OSError):  # Hydra says it better
            with open(path, "rb") as file:
                number = values(file.read())
            if number > MOST_VALUES:
                raise InputError(f"{path}: must hold at most {MOST_VALUES:,} values, its aliases written out")
        return load(source, config_path)

    reader.load_config = load_bounded


def values(text: bytes) -> int:
    """How many values YAML stands for, aliases written out, as far as ``MOST_VALUES`` and one more, which also stands
    for what is part of itself. 0 for what is short and has no alias, and for what is no YAML."""
    if len(text) < SUSPECT and not (b"&" in text and b"*" in text):
        return 0
    import yaml

    known: dict[int, int] = {}

    def count(node: Any) -> int:
        if id(node) not in known:
            known[id(node)] = MOST_VALUES + 1  # until it is counted
            parts: list[Any] = node.value if isinstance(node, yaml.CollectionNode) else []
            inner = [part for pair in parts for part in pair] if isinstance(node, yaml.MappingNode) else parts
            known[id(node)] = min(MOST_VALUES + 1, 1 + sum(map(count, inner)))
        return known[id(node)]

    with suppress(yaml.YAMLError, RecursionError, ValueError):
        loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        # Types of PyYAML do not say what compose returns: a node.
        return count(yaml.compose(text, Loader=loader))  # pyright: ignore[reportUnknownMemberType]
    return 0
