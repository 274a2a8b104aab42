"""``synthlab study``: list papers and their studies, or train, plot and judge a paper's study."""

from experiments.papers import papers
from synthlab.cli import studies


def main() -> None:
    """Run ``synthlab study``."""
    studies.main(papers())


if __name__ == "__main__":
    main()
