"""Do maps of positions use far tokens, or only drop them? Is training on long windows really worse than a map?

A model that is given the last N tokens of a text alone, N its training length, never extrapolates and needs nothing
new (a reviewer's first choice). A map that uses far tokens must do better: on the lab's text, and on recall, a text
whose facts hold from beginning to end, so that far tokens are worth reading. Position interpolation, fine-tuned on
windows of 4N tokens at three rates, says whether the text's far tokens are worth anything to a model of this size.

Predictions, written before the runs:

1. On text no map has a lower loss than the last N tokens at 8N: maps only drop there.
2. On recall every map has a lower loss than the last N tokens at 8N, and recalls facts that these lack.
3. Interpolation on long windows has a lower loss on text after 7N to 8N than RoPE on the last N tokens, fine-tuned on
   as many tokens at the same rate, at 1e-3 and 3e-3; at 2e-4, the rate of the study methods, a higher one.

What would refute them: (1) a map's interval below 0 on text; (2) one above 0 on recall; (3) an interval above 0
at 1e-3 or 3e-3, or one below 0 at 2e-4.
"""

import pandas as pd

from experiments.long_short_alignment.checks import checks
from synthlab.studies.verdicts import Claims

FAR = Claims[pd.DataFrame]()
MAPS = ("Self-Extend", "ReRoPE", "leaky ReRoPE", "dual chunk")

FAR.claim(
    "U",
    where="our question, on maps of relative positions",
    statement="(Ours.) Maps of positions use tokens beyond N: they beat the same model on the last N tokens.",
    quantity=(
        "loss after 7N to 8N tokens, and share of facts in the first half of 8N tokens that are not recalled, less "
        "that on the last N tokens, the same seed"
    ),
    why="any gain counts",
)(
    lambda runs: [
        *checks(runs, MAPS, "loss_8x", "change of the loss after 7N to 8N tokens, nats", high=0.0),
        *checks(runs, MAPS, "recall_error_8x", "change of the share of facts not recalled at 8N", high=0.0),
    ]
)
