"""A Transformer as a PyTorch user would write it, compared with the lab's on sequence tasks."""

import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from experiments.bench.probes import seconds_a_call
from synthlab.language.family import evaluate_models
from synthlab.language.run import LanguageRun
from synthlab.language.training import build_extension
from synthlab.runs.composition import compose
from synthlab.runs.run import resolve
from synthlab.training.execution import initialize


class PlainBlock(nn.Module):
    """A pre-norm block with PyTorch's own layers, its fused attention, and RoPE on halves of each head."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.project, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, h: Float[Tensor, "B T D"], cos: Float[Tensor, "T p"], sin: Float[Tensor, "T p"]) -> Tensor:
        qkv = self.project(self.before_attention(h)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        q, k = (torch.cat((a * cos - b * sin, a * sin + b * cos), -1) for a, b in (x.chunk(2, -1) for x in qkv[:2]))
        heads = F.scaled_dot_product_attention(q, k, qkv[2], is_causal=True)
        h = h + self.output(heads.transpose(1, 2).flatten(-2))
        return h + self.mlp(self.before_mlp(h))


class PlainModel(nn.Module):
    """Token embeddings, blocks and a head."""

    def __init__(self, vocabulary: int, width: int, depth: int, heads: int):
        super().__init__()
        self.pairs = width // heads // 2
        self.embed = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(PlainBlock(width, heads) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)

    def forward(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        angle = torch.arange(tokens.shape[1])[:, None] * 10_000.0 ** (-torch.arange(self.pairs) / self.pairs)
        h = self.embed(tokens)
        for block in self.blocks:
            h = block(h, angle.cos(), angle.sin())
        return self.head(self.norm(h))


def make_plain_step(config: Any, vocabulary: int, tokens: int) -> Callable[[], None]:
    """Return a training step on random texts, of the model and batch of ``config``."""
    sizes = config.model
    model = PlainModel(vocabulary, sizes["width"], sizes["depth"], sizes["heads"])

    def loss() -> Tensor:
        text = torch.randint(vocabulary, (config.protocol.batch, tokens + 1))
        return F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())

    return _make_step(model, loss, config)


def make_lab_step(configs: Sequence[Any]) -> Callable[[], None]:
    """Return a training step of the lab's models of runs of one shape, data included."""
    model = initialize(configs)
    objective = configs[0].load_family().make_objective(model, configs)
    return _make_step(model, lambda: objective().sum(), configs[0])


def _make_step(model: nn.Module, loss: Callable[[], Tensor], config: Any) -> Callable[[], None]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.protocol.lr, fused=True)

    def step() -> None:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    return step


def step_seconds(config: Any, vocabulary: int, tokens: int, seconds: float, rounds: int) -> tuple[float, float, float]:
    """Return the seconds of a training step of one model on one thread, in the plain loop and in the lab.

    The plain loop has ``tokens`` tokens for each row of the batch. These are medians of alternating rounds; the third
    value is the median of their ratios.
    """
    torch.set_num_threads(1)
    steps = (make_plain_step(config, vocabulary, tokens), make_lab_step([config]))
    timed = [[seconds_a_call(step, seconds / 4) for step in steps] for _ in range(rounds)]
    plain, lab = (median(each) for each in zip(*timed, strict=True))
    return plain, lab, median(a / b for a, b in timed)


def testing_seconds(*overrides: str) -> float:
    """Return the seconds of testing an untrained language model on one thread."""
    torch.set_num_threads(1)
    config = cast(LanguageRun, resolve(compose(list(overrides))))
    model = initialize([config])
    if config.extension is not None:
        model.encoding = build_extension([config])
    started = time.perf_counter()
    evaluate_models(model, [0], [config])
    return time.perf_counter() - started
