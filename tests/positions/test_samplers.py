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


def test_stretched_positions_are_random_subsets_of_a_text_t_times_as_long_with_both_ends():
    # Windows of 4 tokens, t 1 or 2: 0, 1, 2, 3, or 0, two of 1..6 and 7.
    drawn = SAMPLERS["stretched"](factor=2).positions(6000, 4, torch.Generator().manual_seed(0))
    assert (drawn[:, 0] == 0).all()
    plain = drawn[:, -1] == 3
    assert plain.double().mean().item() == pytest.approx(0.5, abs=0.03)
    assert (drawn[plain] == torch.arange(4)).all()
    assert (drawn[~plain][:, -1] == 7).all()
    pairs, counts = drawn[~plain][:, 1:3].unique(dim=0, return_counts=True)
    assert len(pairs) == 15  # of 6 places
    assert (counts / counts.sum()).tolist() == pytest.approx([1 / 15] * 15, abs=0.02)
