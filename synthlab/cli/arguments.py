"""Arguments of the commands that are not Hydra's."""

import argparse
import sys
from typing import NoReturn

from synthlab.output import tell


class Parser(argparse.ArgumentParser):
    """Arguments, refused in one line like everything else."""

    def error(self, message: str) -> NoReturn:
        tell(f"error: {message}")
        sys.exit(2)
