"""``synthlab study``: list papers and their studies, or train, draw and judge those of a paper."""

from experiments.papers import papers
from synthlab.cli import studies


def main() -> None:
    studies.main(papers())


if __name__ == "__main__":
    main()
