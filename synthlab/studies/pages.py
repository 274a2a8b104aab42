"""Pages made from templates: each is one self-contained file."""

import base64
from collections.abc import Callable
from pathlib import Path

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, Template


def template(package: str, name: str, markup: bool, **filters: Callable[..., str]) -> Template:
    """Return a template of ``package``, which may extend those in this folder.

    With ``markup``, inserted text is escaped. ``filters`` are added to ``embedded``, which turns a file into a link
    that contains it.
    """
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package, "."), PackageLoader("synthlab.studies", ".")]),
        autoescape=markup,
        undefined=StrictUndefined,
        trim_blocks=True,  # lines with only directives leave no empty lines
        lstrip_blocks=True,
    )
    environment.filters |= {"embedded": _embed, **filters}
    return environment.get_template(name)


def _embed(path: Path) -> str:
    kind = {".png": "image/png", ".csv": "text/csv", ".tex": "text/x-tex"}[path.suffix]
    return embed_data(path.read_bytes(), kind)


def embed_data(data: bytes, kind: str) -> str:
    """Return a link that contains ``data``, of the media type ``kind``."""
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
