"""Plots of one model: where its heads attend, and its error by length."""

import os
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from synthlab.errors import InputError
from synthlab.inspection.hooked import Activations
from synthlab.output import save_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LABELLED = 24  # the most tokens whose texts fit along an axis
INCHES = 2.6  # the side of a panel


def attention(activations: Activations, path: str | os.PathLike[str] | None = None) -> "Figure":
    """Plot the attention weights of one sequence: a panel for each head, a row of panels for each layer.

    Raises InputError for activations of several sequences.
    """
    import matplotlib.pyplot as plt
    from matplotlib.colors import CenteredNorm, PowerNorm

    layers = [values for name, values in activations.items() if name.endswith("attn.hook_pattern")]
    if len(layers[0]) != 1:
        raise InputError(f"sequence: there are {len(layers[0])}; must be one, to be drawn")
    heads, texts = layers[0].shape[1], activations.tokens[0]
    size = (INCHES * heads + 0.8, (INCHES + 0.3) * len(layers) + 0.6)
    figure, grid = plt.subplots(
        len(layers), heads, figsize=size, squeeze=False, sharex=True, sharey=True, layout="constrained"
    )
    greatest = max(values.abs().max().item() for values in layers)
    signed = min(values.min().item() for values in layers) < 0  # weights of linear attention can be negative
    # BOS attends only to itself, with weight 1; on a linear scale the weights of long sequences would be too pale next
    # to it.
    norm, colours = (CenteredNorm(0.0, greatest), "RdBu") if signed else (PowerNorm(0.5, 0.0, greatest), "Blues")
    for (layer, head), axes in np.ndenumerate(grid):
        axes.imshow(layers[layer][0, head].numpy(), norm=norm, cmap=colours)
        axes.set_title(f"layer {layer}, head {head}", fontsize="small")
    every = 1 if len(texts) <= LABELLED else 10 * -(-len(texts) // 200)  # label only some of many tokens
    places = range(0, len(texts), every)
    labels = texts if every == 1 else list(map(str, places))
    for axes in grid[-1]:
        axes.set_xticks(places, labels, fontsize="x-small", rotation=90)
        axes.set_xlabel("attends to", fontsize="small")
    for axes in grid[:, 0]:
        axes.set_yticks(places, labels, fontsize="x-small")
        axes.set_ylabel("token", fontsize="small")
    figure.colorbar(grid[0, 0].images[0], ax=grid, label="attention weight", shrink=0.8)
    save_picture(figure, "path", path)
    return figure


def plot_by_length(
    metrics: pd.DataFrame, metric: str, meaning: str, train_length: int, path: str | os.PathLike[str] | None = None
) -> "Figure":
    """Plot a metric at each length, with the training lengths shaded; on a log scale if all values are positive."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
    axes.axvspan(0.5, train_length + 0.5, color="0.2", alpha=0.1, lw=0)
    axes.plot(metrics["length"], metrics[metric])
    axes.set(xlabel="sequence length", ylabel=meaning, xlim=(0.5, metrics["length"].max() + 0.5))
    axes.set_title(f"trained on the shaded lengths, 1 to {train_length}", fontsize="small")
    if (metrics[metric].dropna() > 0).all():
        axes.set_yscale("log")
    save_picture(figure, "path", path)
    return figure
