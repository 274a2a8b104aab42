"""``synthlab demo``: open a page on which a class watches models learn."""

from typing import Any

from synthlab.cli import hydra_app as cli


def task(raw: dict[str, Any]) -> bool:
    """Serve the page until Ctrl-C."""
    from synthlab.errors import require

    require("demo", "bokeh", "sympy", what="synthlab demo")
    from classroom.server import read_config, serve

    settings, lessons = read_config(raw)
    serve(settings, lessons)
    return True


def main() -> None:
    """Run ``synthlab demo``."""
    cli.main(task, "classroom", "the page is not swept; give one value for each key")


if __name__ == "__main__":
    main()
