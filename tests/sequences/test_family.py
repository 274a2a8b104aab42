"""Models of sequence tasks: settings, objective, training, tests, early stop."""

from functools import partial

import pytest
import torch

from support.configs import small_sequences as small
from synthlab.errors import InputError
from synthlab.models.layers import Member
from synthlab.rng import stream
from synthlab.sequences import family
from synthlab.sequences.evaluation import Outputs, by_bin, score_examples, score_lengths, wilson
from synthlab.sequences.family import build_models
from synthlab.sequences.objective import AnswerLoss, draw_batches
from synthlab.sequences.run import METRICS
from synthlab.sequences.task import AnswerTask
from synthlab.sequences.tasks import TASKS
from synthlab.sequences.trained import TrainedSequences
from synthlab.training.execution import execute, execute_together


def perfect_scorer(config):
    """Return the function that scores a model that is told the answers to the batch that was drawn last."""
    problem, batches = TASKS.build(config.task), []
    draw = problem.batch
    problem.batch = lambda *given: batches.append(draw(*given)) or batches[-1]

    def model(tokens, positions):
        rows = (batches[-1].tokens[:, None] == tokens[0]).all(-1).float().argmax(0)
        targets = batches[-1].targets[rows]
        if targets.dtype == torch.bool:
            return targets[None].float() * 20 - 10
        return torch.nn.functional.one_hot(targets[None], problem.vocabulary).float() * 20

    encoding, generators = build_models([config]).encoding, [stream(0, "evaluation_positions")]
    return partial(score_examples, model, encoding, problem, position_generators=generators)


@pytest.mark.parametrize("name", TASKS)
def test_a_perfect_model_scores_1(name):
    config = small(f"task={name}")
    metrics, outputs = score_lengths(perfect_scorer(config), [config])[0]
    assert metrics["length"].tolist() == TASKS.build(config.task).lengths(1, 8)
    assert list(metrics.columns) == ["length", *METRICS]
    assert (metrics[["exact", "tokens"]] == 1).all(axis=None)
    assert (metrics["loss"] < 1e-3).all()
    assert by_bin(metrics, outputs, config)["horizon"].iloc[0] == metrics["length"].iloc[-1]


def test_teacher_forcing_is_greedy_decoding():
    config = small("task=copy", "protocol.steps=60", "protocol.batch=16", "train_length=3", "test_length=3")
    record = execute_together([config], keep=[60])[0]
    model = TrainedSequences(record)
    problem, matched = model.task, set()
    assert isinstance(problem, AnswerTask)
    for length in (1, 2, 3):
        batch = problem.batch(torch.full((30,), length), problem.width(length), torch.Generator().manual_seed(length))
        with torch.no_grad():
            right = (problem.right(Member(model.module, 0)(batch.tokens), batch) | ~batch.scored).all(1).tolist()
        prompts = ["".join(map(problem.written, row[1 : length + 1].tolist())) for row in batch.tokens]
        answers = [answer.replace(" ", "") for answer in model.answers(prompts)]
        decoded = [answer == prompt for answer, prompt in zip(answers, prompts, strict=True)]
        assert decoded == right
        matched |= set(right)
    assert matched == {True, False}


def test_loss_by_hand():
    config = small("task=copy")
    ensemble = build_models([config])
    batch = next(draw_batches(config))
    logits = ensemble(batch.tokens[None])[0].log_softmax(-1)
    by_hand = [
        -logits[row, place, batch.targets[row, place]]
        for row in range(4)
        for place in range(batch.tokens.shape[1])
        if batch.scored[row, place]
    ]
    torch.testing.assert_close(AnswerLoss(ensemble, [config])()[0], torch.stack(by_hand).mean())


def test_leaving_out_padding_keeps_the_loss():
    config = small("task=copy", "protocol.batch=4096")
    ensemble = build_models([config])
    without, padded = (AnswerLoss(ensemble, [config]) for _ in range(2))
    assert without.leaves_out_padding
    padded.leaves_out_padding = False
    torch.testing.assert_close(without(), padded())


def test_a_curriculum_grows_from_its_start():
    config = small("curriculum.start=1", "curriculum.until=0.5", "protocol.steps=8", "protocol.batch=64")
    batches = draw_batches(config)
    longest = [int(next(batches).sizes.max()) - 3 for _ in range(8)]  # begin, separator, answer
    assert longest == [1, 1, 2, 3, 4, 4, 4, 4]  # 1 + 3 step / 4, rounded down


@pytest.mark.slow
def test_early_stop():
    how = ["train_length=2", "protocol.steps=400", "protocol.record_every=20", "stop.every=20", "model.width=16"]
    configs = [small(*how, "stop.exact=1.0", f"seed={seed}") for seed in range(3)]
    together = execute_together(configs)
    ends = [int(record.training["step"].iloc[-1]) for record in together]
    assert len(set(ends)) > 1  # some trained on beside those that had stopped
    for record, config in zip(together, configs, strict=True):
        alone = execute(config)
        assert record.training.equals(alone.training)
        assert record.metrics.equals(alone.metrics)
        assert record.diverged_at is None
    assert max(ends) < 400


def test_bins_are_as_wide_as_the_training_lengths():
    assert family.default_bins(20, 60) == [[21, 40], [41, 60]]
    assert family.default_bins(20, 50) == [[21, 40], [41, 50]]
    assert family.default_bins(20, 20) == []
    # 9 is the third bin, but (aa)* has no string of 9.
    assert small("task=aa_star", "train_length=4", "test_length=9").bins == [[5, 8]]


def test_wilson_interval_by_hand():
    # Of 10 of 20 it is symmetric: 1/2 -+ sqrt(z^2 / 80 + z^4 / 1600) / (1 + z^2 / 20).
    assert [round(number, 4) for number in wilson(0.5, 20)] == [0.5, 0.2993, 0.7007]
    assert (wilson(0.0, 5)[1], wilson(1.0, 5)[2]) == (0, 1)


SAID = torch.tensor([[1.0, 0.0], [0.5, 0.5], [0.3, 0.7], [0.1, 0.9]])
WANTED = torch.tensor([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])


def test_shifts_by_hand():
    config = small("train_from=1", "train_length=2", "bins=[[3,4]]", "test_length=4")
    outputs = Outputs([1, 2, 3, 4], SAID, WANTED)
    # A quarter of two training lengths is the longest of them alone, where both tokens were said alike.
    assert outputs.shifts(3, 4, config) == pytest.approx({"shift": 0.3, "target_shift": 0.5})
    assert outputs.shifts(2, 2, config) == {"shift": 0, "target_shift": 0}
    assert outputs.shifts(1, 2, config) == pytest.approx({"shift": 0.25, "target_shift": 0})


def test_tests_may_have_other_keys_of_the_task_than_training():
    overrides = ("task=flip_flop", "train_length=6", "evaluation.sequences=64")
    dense, sparse = small(*overrides, "task.ignore=0.0"), small(*overrides, "task.ignore=0.0", "test_task.ignore=1.0")
    assert (dense.id, sparse.shape) == (small(*overrides, "task.ignore=0", "test_task={}").id, dense.shape)
    assert sparse.id != dense.id
    records = execute_together([dense, sparse])
    assert records[0].training.equals(records[1].training)
    assert not records[0].metrics.equals(records[1].metrics)
    # All instructions between the first and the last are to ignore: other ones do not occur.
    evaluated = TASKS.build(sparse.tested_task)
    tokens = evaluated.batch(torch.full((50,), 6), evaluated.width(6), torch.Generator()).tokens
    assert {evaluated.written(token) for token in tokens[:, 3:11:2].flatten().tolist()} == {"i"}


@pytest.mark.parametrize("name", TASKS)
def test_targets_are_distributions(name):
    problem = TASKS.build(small(f"task={name}").task)
    lengths = torch.tensor(problem.lengths(1, 8))
    batch = problem.batch(lengths, problem.width(8), torch.Generator().manual_seed(0))
    wanted = problem.target_distribution(batch)
    assert torch.allclose(wanted.sum(-1)[batch.scored], torch.ones(int(batch.scored.sum()), dtype=wanted.dtype))
    logits = torch.randn(*wanted.shape, generator=torch.Generator().manual_seed(1)) * 300
    said = problem.predict_distribution(logits)
    assert torch.allclose(said.sum(-1), torch.ones(said.shape[:2]))
    assert problem.right(torch.where(wanted > 0, 1.0, -1.0), batch)[batch.scored].all()


@pytest.mark.parametrize(
    ("overrides", "line"),
    [
        (["task=sort", "task.symbols=7"], "test_length=8: task=sort has no training length"),
        (["task=selective_copy", "train_length=3"], "train_length=3: task=selective_copy has no training length"),
        (["train_from=3", "test_length=2"], "test_length=2: task=majority has no training length"),
        (["encoding=learned", "encoding.table=9"], "encoding=learned: has 9 positions; train_length=4"),
        (["encoding=dynamic_ntk"], "encoding=dynamic_ntk: depends on the length"),
        (["bins=[[4,8]]"], "bins=[4, 8]: must be"),
        (["task=flip_flop", "test_task.ignor=0.5"], "test_task.ignor=0.5: unknown key, did you mean ignore?"),
        (["task=copy", "test_task.symbols=3"], "test_task={'symbols': 3}: changes the symbols"),
        (["task=mqar", "task.keys=9", "test_task.queries=9"], "test_length=8: task=mqar has no"),
    ],
)
def test_bad_input_is_refused_in_one_line(overrides, line):
    with pytest.raises(InputError) as error:
        small(*overrides)
    assert len(error.value.lines) == 1
    assert error.value.lines[0].startswith(line)
