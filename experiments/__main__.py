"""``synthlab study``: list papers and their studies, or train, plot and judge a paper's study."""

from experiments.papers import atlas, papers
from synthlab.cli import studies


def main() -> None:
    """Run ``synthlab study``."""
    studies.main({**papers(), "atlas": atlas})


if __name__ == "__main__":
    main()
