"""Seeds of their own for initial weights, training data and test sequences."""

import pytest

from support.configs import config
from synthlab.errors import InputError
from synthlab.numbers.family import build_models
from synthlab.numbers.run import NumbersRun
from synthlab.sweeps.sweep_grid import grid
from synthlab.training.execution import execute

OWN = NumbersRun.SEEDS[1:]
# What a run with another seed of one kind has in common with the run as it was.
SAME = {"weight_seed": set(), "data_seed": {"initial"}, "test_seed": {"initial", "training"}}


def drawn(run: NumbersRun) -> dict[str, str]:
    """Return, as text, the initial weights, the training curve and the metrics of a run."""
    record, model = execute(run), build_models([run])
    tables = {"training": record.training.to_csv(), "metrics": record.metrics.to_csv()}
    return {"initial": str([p.tolist() for p in model.state_dict().values()])} | tables


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("encoding", ["learned", "randomized"])  # one with weights, one that draws positions
def test_a_seed_decides_what_is_its_own(name, encoding):
    plain, other = (drawn(config(f"encoding={encoding}", "seed=3", *more)) for more in ([], [f"{name}=4"]))
    assert {part for part in plain if plain[part] == other[part]} == SAME[name]


def test_seeds_written_out_are_the_same_run():
    plain, written = config("seed=3"), config("seed=3", *(f"{name}=3" for name in OWN))
    assert (plain, plain.id) == (written, written.id)
    assert len({config("seed=3", f"{name}=4").id for name in OWN} | {plain.id}) == 1 + len(OWN)


def test_with_seeds():
    run = config("seed=3").with_seeds({"seed": 5, "test_seed": 7, "data_seed": None})
    assert [getattr(run, name) for name in NumbersRun.SEEDS] == [5, 5, 5, 7]
    assert run == config("seed=5", "test_seed=7")
    assert config("seed=3", "test_seed=7").with_seeds({"seed": 5}) == config("seed=5")  # no seed is kept by chance


def test_a_sweep_over_a_seed_without_effect_is_refused():
    with pytest.raises(InputError) as refused:
        grid(["seed=range(3)", "weight_seed=0,1", "data_seed=0", "test_seed=0"])
    (line,) = refused.value.lines
    assert line.startswith("seed=range(3): has no effect, because weight_seed, data_seed, test_seed are all set")
