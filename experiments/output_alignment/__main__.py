"""``synthlab figures``: short for synthlab study output_alignment, with figure=1 for output_alignment/figure1."""

import re
import sys

from experiments.papers import papers
from synthlab.cli import studies


def main() -> None:
    """Run ``synthlab figures``."""
    words, study = [], "output_alignment"
    for word in sys.argv[1:]:
        key, _, value = word.partition("=")
        if key == "figure":
            study = f"output_alignment/{'figure' if value.isdigit() else ''}{value}"
        else:
            words.append(re.sub(r"^(\+*)figure\.", r"\1study.", word))
    studies.main(papers(), words if {"-h", "--help", "-sc"} & set(words) else [study, *words])


if __name__ == "__main__":
    main()
