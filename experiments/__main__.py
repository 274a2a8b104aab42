"""``synthlab figures``: train what is missing for the paper's figures, draw them, and judge its claims."""

from synthlab.cli import studies


def paper():
    """Import Output Alignment, when its command has something to do."""
    from experiments.output_alignment.paper import PAPER

    return PAPER


def main() -> None:
    no_sweeps = "figures are not swept; name one, or several in a file of conf/figure/"
    studies.main(paper, "figures", "experiments", "figure", no_sweeps)


if __name__ == "__main__":
    main()
