"""``synthlab sweep``: train every combination of the values given, and rank them; also ``synthlab -m``."""

import sys

from synthlab.cli import hydra_app
from synthlab.cli.run import task


def main() -> None:
    """Run ``synthlab sweep``."""
    sys.argv.insert(1, "-m")
    hydra_app.main(task, "config")


if __name__ == "__main__":
    main()
