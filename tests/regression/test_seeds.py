"""Seeds of their own for initial weights, training data and test sequences."""

import pytest
import torch

from support.configs import config
from synthlab.errors import InputError
from synthlab.regression.config import RunConfig
from synthlab.regression.construction import build_models
from synthlab.regression.family import make_objective
from synthlab.sweeps.sweep_grid import grid
from synthlab.training.execution import execute

OWN = RunConfig.SEEDS[1:]
# What a run with another seed of one kind has in common with the run as it was.
SAME = {"weight_seed": set(), "data_seed": {"initial"}, "test_seed": {"initial", "training"}}


def parts(run: RunConfig) -> dict[str, str]:
    """What a run draws of each seed, or makes of it, as text."""
    record, model = execute(run), build_models([run])
    tables = {"training": record.training.to_csv(), "metrics": record.metrics.to_csv()}
    return {"initial": str([p.tolist() for p in model.state_dict().values()])} | tables


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("encoding", ["learned", "randomized"])  # one with weights, one that draws positions
def test_a_seed_decides_what_is_its_own(name, encoding):
    plain, other = (parts(config(f"encoding={encoding}", "seed=3", *more)) for more in ([], [f"{name}=4"]))
    assert {part for part in plain if plain[part] == other[part]} == SAME[name]


def test_data_are_the_same_whatever_the_initial_weights():
    configs = [config("task=sum"), config("task=sum", "weight_seed=1"), config("task=sum", "data_seed=1")]
    first, same, other = (each.draw()[0] for each in make_objective(build_models(configs), configs).examples)
    assert torch.equal(first, same)
    assert not torch.equal(first, other)


def test_seeds_written_out_are_the_same_run():
    plain, written = config("seed=3"), config("seed=3", *(f"{name}=3" for name in OWN))
    assert (plain, plain.id) == (written, written.id)
    assert parts(plain) == parts(written)
    assert len({config("seed=3", f"{name}=4").id for name in OWN} | {plain.id}) == 1 + len(OWN)


@pytest.mark.parametrize("apart", [5, 7])
def test_with_seeds(apart):
    run = config("seed=3").with_seeds({"seed": 5, "test_seed": apart, "data_seed": None})
    assert [getattr(run, name) for name in RunConfig.SEEDS] == [5, 5, 5, apart]
    assert run == config("seed=5", f"test_seed={apart}")
    assert config("seed=3", "test_seed=7").with_seeds({"seed": 5}) == config("seed=5")  # no seed is kept by chance


def test_sweeps_cross_seeds_and_keep_those_that_are_set_whatever_the_seed():
    crossed = grid(["weight_seed=0,1,2", "data_seed=0,1,2"]).configs
    assert {(c.weight_seed, c.data_seed, c.test_seed) for c in crossed} == {
        (w, d, 0) for w in range(3) for d in range(3)
    }
    one_test = grid(["seed=range(3)", "test_seed=0"]).configs
    assert [(c.seed, c.weight_seed, c.test_seed) for c in one_test] == [(0, 0, 0), (1, 1, 0), (2, 2, 0)]
    assert [c.id for c in grid(["seed=0,1", "test_seed=null"]).configs] == [c.id for c in grid(["seed=0,1"]).configs]


def test_a_sweep_over_seeds_on_which_no_run_depends_is_refused():
    with pytest.raises(InputError) as refused:
        grid(["seed=range(3)", "weight_seed=0,1", "data_seed=0", "test_seed=0"])
    message = (
        "seed=range(3): has no effect, because weight_seed, data_seed, test_seed are all set; leave one of them out"
    )
    assert refused.value.lines == (message,)
