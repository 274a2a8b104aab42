"""``synthlab language``: train miniature language models, study long-short misalignment, and judge its claims."""

from synthlab.cli import studies


def paper():
    """Import Long-Short Alignment, when its command has something to do."""
    from experiments.long_short_alignment.paper import PAPER

    return PAPER


def main() -> None:
    studies.main(paper, "language", "language", "study", "studies are not swept; give a grid: study=grid")


if __name__ == "__main__":
    main()
