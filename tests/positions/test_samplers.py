"""Laws that every sampler of position ids keeps."""

import pytest
import torch

from support.small import small
from synthlab.config.composition import conf_dir
from synthlab.errors import InputError
from synthlab.positions.samplers import SAMPLERS
from synthlab.training.execution import execute

NAMES = sorted(path.stem for path in (conf_dir() / "positions").glob("*.yaml"))


def test_the_config_group_has_every_sampler():
    assert sorted(SAMPLERS) == NAMES


def test_a_run_at_contiguous_positions_is_the_run_that_it_was_before_there_were_samplers():
    assert small("positions=contiguous").positions is None
    assert "positions" not in small().model_dump()
    assert small().id == "c671c1deed2d4f99"


@pytest.mark.parametrize("name", [name for name in NAMES if name != "contiguous"])
@pytest.mark.parametrize("later", [(), ("extension=pi", "finetune.steps=2")])
def test_every_sampler_trains(name, later):
    config = small(f"positions={name}", *later)
    assert config.id != small(*later).id
    record = execute(config)
    assert record.metrics["loss"].notna().all()
    assert not record.training["loss"].equals(execute(small(*later)).training["loss"])


@pytest.mark.parametrize("name", NAMES)
def test_positions_increase_and_stay_within_reach(name):
    sampler = SAMPLERS.build(small(f"positions={name}").positions or {"name": name})
    drawn = sampler.positions(64, 8, torch.Generator().manual_seed(0))
    assert drawn.shape == (64, 8)
    assert (drawn[:, 1:] > drawn[:, :-1]).all()
    assert drawn.min() >= 0
    assert drawn.max() < sampler.reach(8)
    again = sampler.positions(64, 8, torch.Generator().manual_seed(0))
    assert torch.equal(drawn, again)


def test_a_sampler_beside_drawn_positions_is_refused():
    for name in set(NAMES) - {"contiguous"}:
        with pytest.raises(InputError, match=f"positions={name}: encoding=randomized draws positions itself"):
            small(f"positions={name}", "encoding=randomized")
