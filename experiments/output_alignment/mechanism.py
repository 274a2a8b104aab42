"""``synthlab mechanism``: measure in trained models why 1/x extrapolates best without position encoding.

A readout of NoPE sees BOS, k symbols and itself. If its logits do not depend on k, softmax gives BOS the weight
w = 1 / (a + b k): the length reaches the model as w, and lengths beyond training lie between the last w seen and 0.
As a function of w, 1/x = b w / (1 - a w) is smooth at 0, while 1/sqrt(x) has infinite slope there, 1/log(x + 1) rises
more steeply still, and log, sqrt and the plain target diverge, ever faster. This measures whether trained models do
attend so.
"""

from typing import cast

import numpy as np
import torch

from synthlab.cli.arguments import Parser
from synthlab.config.composition import compose
from synthlab.models.inspection import readout_attention
from synthlab.models.transformer import Transformer
from synthlab.output import say
from synthlab.regression.construction import data, resolve
from synthlab.rng import stream
from synthlab.training.execution import fit


def inverse_weights(outrep: str, lengths: int = 50, sequences: int = 256) -> np.ndarray:
    """1 / w for each head (rows) and length 1..``lengths`` (columns), w being the weight on BOS, averaged over
    sequences, of a length-task NoPE model trained with ``outrep`` on lengths up to 10."""
    config = resolve(compose(["task=length", "encoding=nope", f"outrep={outrep}", "train_length=10"]))
    model, _ = fit([config])
    _, inputs, _ = data(config)
    x = inputs.draw(sequences, lengths, stream(config.test_seed, "evaluation"))
    with torch.no_grad():
        return (1 / readout_attention(cast(Transformer, model), x[None])[0, ..., 0].mean(0)).numpy()


def line_from_training(values: np.ndarray, train_length: int = 10) -> float:
    """What a line through ``values`` at lengths 1..``train_length`` says of the last length."""
    slope, offset = np.polyfit(np.arange(1, train_length + 1), values[:train_length], 1)
    return float(slope * len(values) + offset)


def main() -> None:
    Parser(prog="synthlab mechanism", description=(__doc__ or "").partition(": ")[2]).parse_args()
    torch.set_num_threads(1)
    say("1 / (weight on BOS) at lengths 10 and 50, and what a line fitted on lengths 1..10 says of 50")
    say(f"{'map':<12} {'head':>4} {'at 10':>8} {'at 50':>8} {'line':>8} {'off by':>7}")
    for outrep in ("reciprocal", "rsqrt", "identity"):
        for head, values in enumerate(inverse_weights(outrep)):
            line = line_from_training(values)
            row = f"{values[9]:>8.2f} {values[-1]:>8.2f} {line:>8.2f} {line / values[-1] - 1:>7.1%}"
            say(f"{outrep:<12} {head:>4} {row}")


if __name__ == "__main__":
    main()
