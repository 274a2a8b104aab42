"""Each answer depends on its token and those before it, under every encoding, extension, sampler of positions and
pattern but one."""

import pytest
import torch

from support.configs import small
from synthlab.language.evaluation import evaluate_models
from synthlab.language.objective import WindowLoss
from synthlab.language.training import build_extension, build_models, train_models
from synthlab.models.encodings import ENCODINGS
from synthlab.positions.samplers import SAMPLERS
from synthlab.runs.composition import conf_dir
from synthlab.training.execution import execute

TOKENS = 16
LEAKS = {"rolled"}
SETTINGS = ["task=hidden_markov", "train_length=16", "task.vocabulary=16", "protocol.batch=1"]


def names(group: str) -> list[str]:
    return sorted(path.stem for path in (conf_dir() / group).glob("*.yaml"))


def depends(*overrides: str) -> torch.Tensor:
    """Row i is True for the tokens that the answer after token i depends on, in training: those whose embedding has a
    gradient. All tokens of the text are different."""
    config = small(*SETTINGS, *overrides)
    ensemble = build_models([config])
    if config.extension is not None:
        ensemble.encoding = build_extension([config])
    objective = WindowLoss(ensemble, [config])
    x = torch.arange(TOKENS).view(1, 1, -1)
    positions, *_ = objective._draw_positions([0])
    outputs = objective.answer(x, positions)
    weights = torch.randn(outputs.shape[-1], generator=torch.Generator().manual_seed(0))
    answers = (outputs[0, 0] * weights).sum(-1)
    gradients = [torch.autograd.grad(answer, ensemble.token_embeddings, retain_graph=True)[0][0] for answer in answers]
    return torch.stack([gradient.abs().sum(-1) > 0 for gradient in gradients])


BEFORE = torch.ones(TOKENS, TOKENS, dtype=torch.bool).tril()


@pytest.mark.parametrize(
    "setting",
    [
        *(f"encoding={name}" for name in ENCODINGS),
        *(f"extension={name}" for name in names("extension")),
        *(f"positions={name}" for name in SAMPLERS),
    ],
)
def test_answers_depend_on_the_tokens_before(setting):
    found = depends(setting)
    if setting == "encoding=threshold":  # which sees only keys with positive logits
        assert found.any(1).all()
        found = found | BEFORE
    assert torch.equal(found, BEFORE)


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("pattern", names("pattern"))
def test_a_pattern_sees_what_its_hops_reach(pattern, depth):
    found = depends(f"pattern={pattern}", f"model.depth={depth}")
    assert bool((found & ~BEFORE).any()) == (pattern in LEAKS)
    # A token sees the others of its group in either half of the heads, and in the next layer what those have seen.
    size = 1 if pattern == "full" else TOKENS // 4
    place = torch.arange(TOKENS)
    plain = (place[:, None] // size == place // size) & BEFORE
    shifted = ((place[:, None] + size // 2) // size == (place + size // 2) // size) & BEFORE
    if pattern == "rolled":
        shifted[: size // 2, -(size // 2) :] = True
    once = BEFORE if pattern == "full" else plain | shifted
    assert torch.equal(found, torch.matrix_power(once.double(), depth) > 0)


@pytest.mark.parametrize("later", [(), ("extension=rope", "finetune.steps=2")])
@pytest.mark.parametrize("pattern", ["shifted", "rolled"])
def test_a_pattern_applies_to_the_last_training_alone(pattern, later):
    plain, sparse = (small(*later, f"pattern={each}", "train_length=16") for each in ("full", pattern))
    before, after = execute(plain), execute(sparse)
    steps = before.training["step"] <= 4
    assert before.training[steps].equals(after.training[steps]) == bool(later)
    assert not before.training["loss"].equals(after.training["loss"])
    # Testing is with full attention: the trained model is tested as if it had no pattern.
    ensemble = build_models([sparse])
    train_models(ensemble, [sparse])
    assert evaluate_models(ensemble, [0], [plain])[0][0].equals(after.metrics)
