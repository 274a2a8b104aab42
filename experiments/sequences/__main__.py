"""``synthlab sequences``: train models of tasks whose answers are tokens, and show exact match by length."""

from synthlab.cli import studies


def paper():
    """Import what trains and draws, when the command has something to do."""
    from experiments.sequences.paper import PAPER

    return PAPER


def main() -> None:
    studies.main(paper, "sequences", "sequences", "suite", "suites are not swept; vary settings in one of them")


if __name__ == "__main__":
    main()
