"""Config files that are data: a check that they set nothing but their own keys, before Hydra applies them."""

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

import yaml

from synthlab.config.families import conf_dir, own_folders
from synthlab.config.registry import first_key
from synthlab.errors import InputError, format_error


def check_data_files(args: Namespace, group: str, keys: Sequence[str]) -> None:
    """Raise InputError unless each file of a config group that a command line chooses sets ``keys`` alone.

    A file can set any node of a config, by a key, a header or a list of defaults. So the files are read here first, as
    plain YAML.

    Args:
        args: The parsed command line.
        group: The group.
        keys: The keys that its files may have, at the top of the config.
    """
    for word in args.overrides:
        if first_key(word) != group or args.shell_completion:
            continue
        name = word.partition("=")[2].removesuffix(".yaml")
        files = [folder / group / f"{name}.yaml" for folder in (conf_dir(), *own_folders)]
        found = [file for file in files if file.is_file()]
        if not found:
            raise InputError(f"{word}: is in no folder of the command; give its folder as --config-dir")
        for file in found:
            others = _find_others(word, file, keys)
            if others:
                what = f"it is data, with the keys {' and '.join(keys)}"
                raise InputError(f"{word}: {file} has {', '.join(others)}; {what}")


def _find_others(word: str, file: Path, keys: Sequence[str]) -> list[str]:
    """Return what a file has besides ``keys``. Raises InputError for a file that is no YAML."""
    try:
        text = file.read_text(encoding="utf-8")
        content = yaml.safe_load(text)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{word}: {format_error(error)}") from None
    others = [str(name) for name in content if name not in keys] if isinstance(content, dict) else ["no keys"]
    headers = [line.split() for line in text.splitlines() if line.replace(" ", "").startswith("#@")]
    if headers != [["#", "@package", "_global_"]]:
        others.append("a package other than _global_")
    return [*others, "references ${...}"] if "${" in text else others
