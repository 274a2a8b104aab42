"""Pages made from templates: what a reader gets needs nothing beside it."""

import base64
from collections.abc import Callable
from pathlib import Path

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, Template


def template(package: str, name: str, markup: bool, **filters: Callable[..., str]) -> Template:
    """A template of ``package``'s, which may extend those beside this file; with ``markup``, what is put into it is
    escaped. ``filters`` are added to ``embedded``, which turns a file into a link that contains it."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package, "."), PackageLoader("synthlab.studies.presentation", ".")]),
        autoescape=markup,
        undefined=StrictUndefined,
        trim_blocks=True,  # a line that only directs the template leaves no line
        lstrip_blocks=True,
    )
    environment.filters |= {"embedded": _embed, **filters}
    return environment.get_template(name)


def _embed(path: Path) -> str:
    kind = {".png": "image/png", ".csv": "text/csv", ".tex": "text/x-tex"}[path.suffix]
    return embed_data(path.read_bytes(), kind)


def embed_data(data: bytes, kind: str) -> str:
    """A link that contains ``data``, of the media type ``kind``."""
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
