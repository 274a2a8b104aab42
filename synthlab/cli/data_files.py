"""Config files that are data: a check that they set nothing but their own keys, before Hydra applies them."""

import os
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from synthlab.config.families import conf_dir
from synthlab.config.hydra_errors import input_errors
from synthlab.errors import InputError


def check_data_files(args: Namespace, group: str, keys: Sequence[str]) -> None:
    """Raise InputError unless each file of a config group that a command line chooses sets ``keys`` alone.

    Hydra runs what the node ``hydra`` of a config names, and a file can set any node, by a key, a header or a list of
    defaults. So the files are read here first, as plain YAML.

    Args:
        args: The parsed command line.
        group: The group.
        keys: The keys that its files may have, at the top of the config.
    """
    from hydra.core.override_parser.overrides_parser import OverridesParser

    words = os.environ.get("COMP_LINE", "").split() if args.shell_completion else args.overrides
    chosen = [word for word in words if group in word.partition("=")[0]]
    with input_errors(chosen):
        parsed = OverridesParser.create().parse_overrides(chosen)
    folders = [conf_dir(), *([Path(args.config_dir)] if args.config_dir else [])]
    for each in parsed:
        if each.key_or_group == group and each.value() is not None:
            files = [folder / group / f"{str(each.value()).removesuffix('.yaml')}.yaml" for folder in folders]
            found = [file for file in files if file.is_file()]
            if found or not args.shell_completion:  # a name may be half typed
                _check_files(str(each.input_line), found, keys)


def _check_files(given: str, files: Sequence[Path], keys: Sequence[str]) -> None:
    import yaml

    if not files:
        raise InputError(f"{given}: is in no folder of the command; give its folder as --config-dir")
    for file in files:
        with input_errors([given]):
            text = file.read_text(encoding="utf-8")
            content = yaml.safe_load(text)
        others = [str(name) for name in content if name not in keys] if isinstance(content, dict) else ["no keys"]
        headers = [line for line in text.splitlines() if line.replace(" ", "").startswith("#@")]
        if [line.split() for line in headers] != [["#", "@package", "_global_"]]:
            others.append("a package other than _global_")
        if "${" in text:
            others.append("references ${...}")
        if others:
            raise InputError(f"{given}: {file} has {', '.join(others)}; it is data, with the keys {' and '.join(keys)}")
