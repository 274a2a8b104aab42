"""Baselines of the benchmarks: the same architecture as others would train and test it."""

from collections.abc import Callable, Iterable
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from synthlab.models.layers import LayerNorm, Linear
from synthlab.models.packing import BOS, EOS
from synthlab.models.transformer import Transformer
from synthlab.numbers.run import NumbersRun

PADDING = 4


def make_padded_step(config: NumbersRun) -> Callable[[], None]:
    """Return a training step of the length task in x-transformers, with as many examples as a step of ``config``.

    Each example is a row of its own, padded to the longest. Forward, backward and optimizer are those of that library's
    examples.
    """
    # Part of the extra bench.
    from x_transformers import Decoder, TransformerWrapper  # pyright: ignore[reportMissingImports]

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
        loss = F.mse_loss(readout(last), lengths.float())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


class CausalBaseline(nn.Module):
    """The first model of an ensemble without position encoding, as a plain causal Transformer on [BOS, x, EOS].

    It reads out whole rows, all of one length.
    """

    def __init__(self, stack: Transformer):
        super().__init__()
        self.heads = stack.blocks[0].attention.heads
        self.tokens = nn.Parameter(stack.token_embeddings[0].detach().clone())
        blocks = nn.ModuleList(
            nn.ModuleDict(
                {
                    "norm1": _norm(block.pre1),
                    "queries": _linear(block.attention.queries),
                    "keys_values": _linear(block.attention.keys_values),
                    "output": _linear(block.attention.output),
                    "norm2": _norm(block.pre2),
                    **dict(zip(("up", "down"), _mlp(block.mlp), strict=True)),
                }
            )
            for block in stack.blocks
        )
        # PyTorch does not declare the type of a ModuleList's elements.
        self.blocks = cast(Iterable[nn.ModuleDict], blocks)
        self.norm = _norm(stack.norm)
        self.up, self.down = _mlp(stack.head)

    def forward(self, x: Int[Tensor, "B L"]) -> Float[Tensor, " B"]:
        h = self.tokens[F.pad(F.pad(x, (1, 0), value=BOS), (0, 1), value=EOS)]
        for block in self.blocks:
            stream = block["norm1"](h)
            q = block["queries"](stream).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            k, v = block["keys_values"](stream).unflatten(-1, (2, self.heads, -1)).transpose(1, 3).unbind(2)
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            h = h + block["output"](mixed.transpose(1, 2).flatten(-2))
            h = h + block["down"](F.gelu(block["up"](block["norm2"](h))))
        return self.down(F.gelu(self.up(self.norm(h[:, -1])))).squeeze(-1)


def _linear(layer: Linear) -> nn.Linear:
    weight, bias = layer.weight[0].T, layer.bias[0, 0]
    copy = nn.Linear(weight.shape[1], weight.shape[0])
    copy.load_state_dict({"weight": weight, "bias": bias})
    return copy


def _mlp(layers: nn.Module) -> tuple[nn.Linear, nn.Linear]:
    up, _, down = cast(Iterable[Linear], layers)
    return _linear(up), _linear(down)


def _norm(layer: nn.Module) -> nn.LayerNorm:
    layer = cast(LayerNorm, layer)
    copy = nn.LayerNorm(layer.scale.shape[-1])
    copy.load_state_dict({"weight": layer.scale[0, 0], "bias": layer.shift[0, 0]})
    return copy
