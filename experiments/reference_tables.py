"""The tables that list members on the pages of ``docs/``, made from ``conf/``, metrics and ``Encoding``."""

import inspect
import re
from collections.abc import Callable, Iterator
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

from synthlab.models.encodings.base import HOOKS, Encoding
from synthlab.runs.comments import comments_of_member, find_group_files
from synthlab.runs.conf_files import families, run_type, tasks_of

Rows = list[dict[str, Any]]
LIST = "list_of_"  # how the name of a block begins that has a line for each member
# The groups of conf/ that a block lists, by the block's name.
GROUPS = {
    "inputs": "inputs",
    "encodings": "encoding",
    "maps": "outrep",
    "models": "model",
    "protocols": "protocol",
}


def make_tables() -> dict[str, Rows]:
    """Return the rows of each table by the name of its block."""
    tables = {f"tasks_{family}": list_members("task", tasks_of(family)) for family in families()}
    tables |= {name: list_members(group) for name, group in GROUPS.items()}
    tables |= {f"metrics_{family}": list_metrics(family) for family in families()}
    texts = dict(find_hooks())
    tables["hooks"] = [describe_hook(name, texts[name]) for name in HOOKS]
    return {LIST + name: rows for name, rows in tables.items()}


def list_members(group: str, names: list[str] | None = None) -> Rows:
    """Return a row for each file of a config group: its name, and the comment that it begins with."""
    rows = []
    for name in names or [path.stem for path in find_group_files(group)]:
        title = comments_of_member(group, name).title
        rows.append({f"`{group}=`": f"`{name}`", "what it is": _escape(title)})
    return rows


def list_metrics(family: str) -> Rows:
    """Return a row for each metric of a family: its name, its meaning and which values are better."""
    metrics = run_type(family).measures().metrics
    return [
        {"metric": f"`{name}`", "meaning": metric.meaning, "better": metric.better or ""}
        for name, metric in metrics.items()
    ]


def find_hooks() -> Iterator[tuple[str, str]]:
    """Yield each method and attribute that an encoding may override: its name, and the first sentence on it."""
    methods = {name: inspect.getdoc(member) or "" for name, member in vars(Encoding).items() if _is_hook(name, member)}
    # An attribute has a comment above it in place of a docstring.
    comments = re.findall(r"\n    # (.+)\n    (\w+) = ", inspect.getsource(Encoding))
    for name, text in [*methods.items(), *((name, comment) for comment, name in comments)]:
        first = text.split("\n\n")[0].replace("\n", " ").split(". ")[0]
        yield name, first.rstrip(".").replace("``", "`")


def describe_hook(name: str, text: str) -> dict[str, str]:
    """Return the row of a hook: what it takes and returns, with shapes, and what it does."""
    signature = inspect.signature(getattr(Encoding, name))
    taken = [f"{each.name} {_shape(each.annotation)}" for each in signature.parameters.values() if each.name != "self"]
    returned = _shape(signature.return_annotation)
    return {"hook": f"`{name}`", "takes": ", ".join(taken), "returns": returned, "what it does": text}


def _shape(annotation: Any) -> str:
    """Return the shape of a tensor as pages write it: [E, B, T], with ... for dimensions that may be several."""
    if isinstance(annotation, UnionType):
        return " or ".join("None" if each is NoneType else _shape(each) for each in get_args(annotation))
    if not hasattr(annotation, "dim_str"):
        return "a function" if get_origin(annotation) is Callable else "terms"
    # C is there only where hidden states locate tokens.
    named = [each for each in annotation.dim_str.split() if each != "*C"]
    dimensions = ["..." if each.startswith("*") else each.lstrip("#") for each in named]
    return f"[{', '.join(dimensions)}]"


def _is_hook(name: str, member: object) -> bool:
    return inspect.isfunction(member) and not name.startswith("_")


def _escape(text: str) -> str:
    """Return a comment as Markdown that shows it."""
    return text.replace("*", r"\*")
