"""What others would write instead: x-transformers on padded batches, and a plain PyTorch loop; in turn with the lab."""

from collections.abc import Callable
from statistics import median
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from experiments.bench.probes import compose_run, seconds_a_call
from synthlab.models.packing import BOS, EOS
from synthlab.training.execution import initialize

PADDING = 4


def padded_examples_per_second(overrides: list[str], seconds: float, threads: int) -> float:
    """Return the training examples of the length task a second in x-transformers, as many a step as in the lab.

    Each example is a row of its own, padded to the longest. Forward, backward and optimizer are those of that library's
    examples.
    """
    # Part of the extra bench.
    from x_transformers import Decoder, TransformerWrapper  # pyright: ignore[reportMissingImports]

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    config = compose_run(*overrides)
    width, heads = config.model["width"], config.model["heads"]
    longest, rows = config.train_length, config.protocol.batch * config.train_length
    sizes = {"dim": width, "depth": config.model["depth"], "heads": heads, "attn_dim_head": width // heads}
    hidden = round(config.model["mlp_ratio"] * width)
    net = TransformerWrapper(
        num_tokens=PADDING + 1,
        max_seq_len=longest + 2,
        use_abs_pos_emb=False,
        attn_layers=Decoder(ff_mult=config.model["mlp_ratio"], **sizes),
    )
    readout = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, 1))
    optimizer = torch.optim.Adam([*net.parameters(), *readout.parameters()], lr=config.protocol.lr)
    place = torch.arange(longest + 2)

    def step() -> None:
        lengths = torch.randint(1, longest + 1, (rows, 1))
        tokens = torch.randint(0, 2, (rows, longest + 2))
        tokens[:, 0] = BOS
        tokens = torch.where(place == lengths + 1, EOS, tokens).masked_fill(place > lengths + 1, PADDING)
        h = net(tokens, return_embeddings=True)  # causal: no token sees the padding after it
        last = h[torch.arange(rows), lengths.squeeze(1) + 1]
        F.mse_loss(readout(last), lengths.float()).backward()
        optimizer.step()
        optimizer.zero_grad()

    return rows / seconds_a_call(step, seconds)


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


def make_step(model: nn.Module, loss: Callable[[], Tensor], config: Any) -> Callable[[], None]:
    """Return a training step of a plain loop."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.protocol.lr, fused=True)

    def step() -> None:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    return step


def step_seconds(config: Any, vocabulary: int, tokens: int, seconds: float, rounds: int) -> tuple[float, float, float]:
    """Return the seconds of a training step of one model on one thread, in the plain loop and in the lab.

    The plain loop has ``tokens`` random tokens for each row of the batch; the lab draws its examples. These are medians
    of alternating rounds; the third value is the median of their ratios.
    """
    torch.set_num_threads(1)
    sizes = config.model
    plain, lab = PlainModel(vocabulary, sizes["width"], sizes["depth"], sizes["heads"]), initialize([config])
    objective = config.load_family().make_objective(lab, [config])

    def loss() -> Tensor:
        text = torch.randint(vocabulary, (config.protocol.batch, tokens + 1))
        return F.cross_entropy(plain(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())

    steps = (make_step(plain, loss, config), make_step(lab, lambda: objective().sum(), config))
    timed = [[seconds_a_call(step, seconds / 4) for step in steps] for _ in range(rounds)]
    one, other = (median(each) for each in zip(*timed, strict=True))
    return one, other, median(a / b for a, b in timed)
