"""``python -m experiments.bench.mqar [ROWS [PASSES]]``: seconds to recall, on one core and on two.

This is a published cell of multi-query associative recall (Arora et al., 2023, arXiv 2312.04927, figure 2, in their
code zoology): texts of 64 tokens, four pairs of a key and a value, four queries, 8,192 tokens, 100,000 texts, 512 a
step, and a Transformer of two layers of width 64. A user of that code reports 99.17 % after 20 passes over the texts,
in 577.8 s on 8 cores, with logits at the queries only, as here (github.com/UOR-Foundation/uor-r4, pull request 1052).

The model is that of the lab's task ``mqar``, with the lab's loop and optimizer. It has RoPE, small MLPs and an output
layer of its own, where that user's has learned positions, dropout, no MLPs, and outputs tied to the embeddings. The
task itself asks its queries right after the pairs; the texts here have gaps between.
"""

import sys
import time
from collections.abc import Iterator
from typing import NamedTuple, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from experiments.bench.probes import BenchRow, run_in_processes
from synthlab.models.attention import Causal, causal_mask, lay_out_layers
from synthlab.models.transformer import Decoder, count_up
from synthlab.output import print_out
from synthlab.rng import stream
from synthlab.runs.composition import compose
from synthlab.runs.run import resolve
from synthlab.training.devices import count_cores
from synthlab.training.execution import initialize
from synthlab.training.loop import train_ensemble

KEYS, VALUES, PAIRS, TOKENS, POWER = 4095, 4096, 4, 64, 0.01
FILLER = KEYS + VALUES  # the token between queries: the first that is neither a key nor a value
ROWS, TEST_ROWS, BATCH, PASSES = 100_000, 3_000, 512, 20
GOAL = 11_900 / 12_000
MODEL = ["model.width=64", "model.depth=2", "model.heads=1", "model.mlp_ratio=0.25", "encoding=rope"]
PROTOCOL = ["protocol.lr=1e-2", "protocol.warmup=0", "protocol.schedule=constant", f"protocol.batch={BATCH}"]


class Recalls(NamedTuple):
    """N texts: pairs of a key and a value, then queried keys between fillers."""

    tokens: Int[Tensor, "N T"]
    queries: Int[Tensor, "N P"]  # the place of each pair's key among the queries
    values: Int[Tensor, "N P"]  # the target there


class Outcome(NamedTuple):
    """A training: passes over the texts, the share of test queries answered right at its end, and seconds."""

    passes: int
    right: float
    seconds: float


def draw_recalls(rows: int, generator: torch.Generator) -> Recalls:
    """Draw texts with different keys, different values, and a query of each pair.

    A query lies 2g tokens after the pairs, where the gaps g of a text are different and have probabilities proportional
    to (g + 1) to the power ``POWER`` - 1.
    """
    keys, values = (_draw_distinct(rows, many, generator) for many in (KEYS, VALUES))
    values = KEYS + values
    weights = torch.arange(1, (TOKENS - 2 * PAIRS) // 2 + 1, dtype=torch.float64) ** (POWER - 1)
    queries = 2 * PAIRS + 2 * weights.expand(rows, -1).multinomial(PAIRS, generator=generator)
    tokens = torch.full((rows, TOKENS), FILLER)
    tokens[:, : 2 * PAIRS] = torch.stack((keys, values), 2).flatten(1)
    return Recalls(tokens.scatter_(1, queries, keys), queries, values)


def _draw_distinct(rows: int, many: int, generator: torch.Generator) -> Int[Tensor, "N P"]:
    """Draw ``PAIRS`` different numbers below ``many`` for each row: rows with equal ones are drawn again."""
    drawn = torch.randint(many, (rows, PAIRS), generator=generator)
    while (again := drawn.sort(1).values.diff(dim=1).eq(0).any(1)).any():
        drawn[again] = torch.randint(many, (int(again.sum()), PAIRS), generator=generator)
    return drawn


def compute_logits(model: Decoder, texts: Recalls) -> Float[Tensor, "N P V"]:
    """Return the logits at the queries of ``texts`` only: those of all tokens would take four fifths of a step."""
    tokens = texts.tokens[None]
    places, mask = count_up(tokens), causal_mask(TOKENS, tokens.device)
    layouts = lay_out_layers(model.encodings(), lambda encoding: Causal.build(encoding, places, mask))
    h = model.embed(tokens, places)
    for block, layout in zip(model.blocks, layouts, strict=True):
        h = block(h, layout)
    return model.head(model.norm(h.gather(2, texts.queries[None, ..., None].expand(1, -1, -1, h.shape[-1]))))[0]


def train(rows: int, threads: int, passes: int = PASSES) -> Outcome:
    """Train one model on ``rows`` texts until it answers ``GOAL`` of new queries right, and tell each pass."""
    torch.set_num_threads(threads)
    began, steps = time.perf_counter(), rows // BATCH
    lengths = [f"train_length={PAIRS}", f"test_length={PAIRS}", f"task.queries={PAIRS}"]
    sizes = [f"task.keys={KEYS}", f"task.values={VALUES}", f"protocol.steps={passes * steps}"]
    often = f"protocol.record_every={steps}"
    config = resolve(compose(["task=mqar", *lengths, *sizes, often, *MODEL, *PROTOCOL]))
    model, generator = cast(Decoder, initialize([config])), stream(0, "training")
    texts, tests = draw_recalls(rows, generator), draw_recalls(TEST_ROWS, stream(0, "evaluation"))
    outcomes: list[Outcome] = []

    def batches() -> Iterator[Recalls]:
        while True:
            for rows_of_step in torch.randperm(rows, generator=generator).split(BATCH)[:steps]:
                yield Recalls(*(part[rows_of_step] for part in texts))

    coming = batches()

    def objective() -> Float[Tensor, " 1"]:
        batch = next(coming)
        return F.cross_entropy(compute_logits(model, batch).flatten(0, 1), batch.values.flatten())[None]

    def test(step: int, losses: list[float]) -> None:
        with torch.no_grad():
            right = (compute_logits(model, tests).argmax(-1) == tests.values).double().mean().item()
        outcomes.append(Outcome(step // steps, right, time.perf_counter() - began))
        print_out(f"pass {step // steps}: loss {losses[0]:.3f}, {right:.2%} right, {outcomes[-1].seconds:.1f} s")

    train_ensemble(model.parameters(), objective, [config.protocol], test, lambda: outcomes[-1].right >= GOAL)
    return outcomes[-1]


def measure(rows: int = ROWS, passes: int = PASSES) -> Iterator[BenchRow]:
    """Measure the cell on one core and on all."""
    for threads in sorted({1, count_cores()}):
        [found] = run_in_processes(train, rows, threads, passes)
        yield BenchRow(
            f"associative recall (MQAR), {rows:,} texts of {TOKENS} tokens, to {GOAL:.2%}, threads: {threads}",
            f"{found.seconds:.0f} s",
            "",
            f"{found.right:.2%} after {found.passes} passes",
            {"seconds": found.seconds, "right": found.right, "passes": found.passes, "threads": threads},
        )


if __name__ == "__main__":
    for row in measure(*map(int, sys.argv[1:])):
        print_out(f"{row.measure}: {row.value}; {row.details}")
