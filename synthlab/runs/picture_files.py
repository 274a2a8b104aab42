"""Picture files that users name."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from synthlab.errors import InputError
from synthlab.runs.argument_checks import shorten

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def check_picture(field: str, path: str | os.PathLike[str] | None, suffixes: Iterable[str] = ()) -> None:
    """Raise InputError unless ``path`` is None or ends in one of ``suffixes``, by default those of Matplotlib."""
    from matplotlib.backend_bases import FigureCanvasBase

    allowed = list(suffixes) or [f".{kind}" for kind in sorted(FigureCanvasBase.filetypes)]
    if path is not None and Path(path).suffix.lower() not in allowed:
        raise InputError(f"{field}={shorten(str(path))[1:-1]}: must end in {', '.join(allowed)}")


def save_picture(figure: "Figure", field: str, path: str | os.PathLike[str] | None, **how: Any) -> None:
    """Save a picture unless ``path`` is None. Raises InputError if it cannot be written."""
    if path is None:
        return
    try:
        cast(Any, figure).savefig(path, **how)
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        import matplotlib.pyplot as plt

        plt.close(figure)
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise InputError(f"{field}={shorten(str(path))[1:-1]}: cannot be written ({reason})") from None
