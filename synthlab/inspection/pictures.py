"""The plot of a model's attention."""

import os
from typing import TYPE_CHECKING

import numpy as np

from synthlab.errors import InputError
from synthlab.inspection.hooked import Activations
from synthlab.output import save_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_LABELS = 24  # the most tokens whose texts fit along an axis
PANEL_INCHES = 2.6  # the side of a panel


def attention(activations: Activations, path: str | os.PathLike[str] | None = None) -> "Figure":
    """Plot the attention weights of one sequence: a panel for each head, a row of panels for each layer.

    Raises InputError for activations of several sequences.
    """
    import matplotlib.pyplot as plt
    from matplotlib.colors import CenteredNorm, PowerNorm

    layers = [values for name, values in activations.items() if name.endswith("attn.hook_pattern")]
    if not layers:
        raise InputError("model.mixer: this model has no attention to plot; choose model.mixer=attention")
    if len(layers[0]) != 1:
        raise InputError(f"sequence: there are {len(layers[0])}; must be one, to be drawn")
    heads, texts = layers[0].shape[1], activations.tokens[0]
    size = (PANEL_INCHES * heads + 0.8, (PANEL_INCHES + 0.3) * len(layers) + 0.6)
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
    places = range(len(texts)) if len(texts) <= MAX_LABELS else []
    for axes in grid[-1]:
        axes.set_xlabel("attends to", fontsize="small")
        if places:
            axes.set_xticks(places, texts, fontsize="x-small", rotation=90)
    for axes in grid[:, 0]:
        axes.set_ylabel("token", fontsize="small")
        if places:
            axes.set_yticks(places, texts, fontsize="x-small")
    figure.colorbar(grid[0, 0].images[0], ax=grid, label="attention weight", shrink=0.8)
    save_picture(figure, "path", path)
    return figure
