"""Sentences of the pages on language models that no claim judges, on the committed tables of runs."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

from experiments.committed_verdicts import RUNS, read_tables
from experiments.correlations import lead
from experiments.long_short_alignment.arms import differences
from experiments.long_short_alignment.run_table import less_means
from experiments.reference import REFERENCE

MAPS = ["Self-Extend", "ReRoPE", "leaky ReRoPE", "dual chunk"]
tables = cache(lambda: read_tables(REFERENCE / "long_short_alignment" / RUNS))


def changes(study: str, quantity: str) -> pd.DataFrame:
    """What the regularizer at 0.1 changes: a row for each seed, a column for each model."""
    rows = differences(tables()[study], quantity)
    return rows[rows["arm"] == "alpha 0.1"].pivot(index="seed", columns="variant", values=quantity)


def losses(study: str, quantity: str) -> pd.DataFrame:
    return tables()[study].pivot(index="seed", columns="arm", values=quantity)


@pytest.mark.parametrize("reach", ["2x", "to_4x"])
def test_calibrated_all_runs_under_yarn_and_eabf_stay_worse_with_the_regularizer(reach):
    left = changes("finetune", f"calibrated_loss_{reach}").filter(regex="yarn|eabf")
    assert (left.size, (left > 0).to_numpy().all()) == (20, True)


def test_at_the_paper_s_ratio_a_third_to_a_half_of_the_harm_is_no_over_confidence():
    left, harm = (changes("finetune", f"{name}_2x").filter(regex="yarn|eabf") for name in ("calibrated_loss", "loss"))
    shares = (left / harm).median()
    assert (shares.min().round(1), shares.max().round(1)) == (0.3, 0.4)
    assert (left.median() / harm.median()).max().round(1) == 0.5
    assert (changes("finetune", "accuracy_2x").filter(regex="yarn|eabf") < 0).to_numpy().all()


def test_on_top_of_five_methods_of_seven_the_regularizer_raises_the_loss_with_every_seed():
    beyond, twice = changes("regularized", "loss_4x"), changes("regularized", "loss_2x")
    rises = (beyond > 0).all()
    assert sorted(rises.index[~rises].str[:4]) == ["clex", "ntk,"]
    assert (twice.loc[:, ~rises] > 0).to_numpy().all()
    assert not (beyond < 0).all().any()


def test_maps_lead_every_trained_method_at_eight_lengths_and_not_clearly_at_four():
    far, near = (losses("methods", k).min(axis=1) - losses("untrained", k)[MAPS].T for k in ("loss_8x", "loss_4x"))
    assert far.to_numpy().min() == pytest.approx(0.084, abs=1e-3)
    assert near.loc["dual chunk"].min() == pytest.approx(0.0036, abs=1e-4)
    assert near.drop(index="dual chunk").to_numpy().min() == pytest.approx(0.0135, abs=1e-4)


def test_clex_trails_ntk_at_four_lengths_and_leads_at_eight():
    near, far = (losses("methods", k)["NTK"] - losses("methods", k)["CLEX"] for k in ("loss_4x", "loss_8x"))
    assert (near < 0).all()
    assert [far.min(), far.max()] == pytest.approx([0.62, 0.96], abs=0.01)


def test_the_lead_beyond_entropy_rests_on_two_encodings():
    runs, columns = tables()["table1"], ["excess", "loss_1x", "loss_4x"]
    found = []
    for left_out in ([], ["learned", "sinusoidal"]):
        rows = less_means(runs[~runs["encoding"].isin(left_out)], ["setting"], columns)
        found.append(lead(rows, "excess_within", "loss_1x_within", "loss_4x_within", "encoding"))
    assert np.round([each.value for each in found], 2).tolist() == [0.32, 0.07]
    assert [each.low > 0 for each in found] == [True, False]


def test_at_the_paper_s_ratio_single_runs_keep_a_quarter_to_two_thirds_of_the_harm():
    left, harm = (changes("finetune", f"{name}_2x").filter(regex="yarn|eabf") for name in ("calibrated_loss", "loss"))
    shares = (left / harm).to_numpy()
    assert [shares.min(), shares.max()] == pytest.approx([0.26, 0.66], abs=0.005)


@pytest.mark.parametrize("arm", ["alpha 0.3", "alpha 0.5", "alpha 1"])
@pytest.mark.parametrize("reach", ["1x", "2x", "4x"])
def test_from_a_weight_of_0_3_on_accuracy_falls_at_all_lengths(arm, reach):
    rows = differences(tables()["finetune"], f"accuracy_{reach}")
    lost = rows[rows["arm"] == arm][f"accuracy_{reach}"]
    assert (len(lost), (lost < 0).all()) == (30, True)


def test_the_regularizer_on_clex_and_ntk_gains_accuracy_far_out_but_loses_over_the_whole_text():
    over_all, accuracy = (changes("regularized", q).filter(regex="clex|ntk") for q in ("loss_to_4x", "accuracy_4x"))
    assert [over_all.to_numpy().min(), over_all.to_numpy().max()] == pytest.approx([0.006, 0.030], abs=5e-4)
    assert (accuracy > 0).sum().tolist() == [2, 3]  # CLEX, NTK


def test_most_interpolating_methods_have_not_recovered_within_the_training_length():
    before = losses("untrained", "loss_1x")["RoPE"].median()
    after = losses("methods", "loss_1x").median()
    worse = after[["PI", "PI, PoSE", "PI, CREAM", "LongQLoRA", "CLEX"]]
    assert [before, worse.min(), worse.max()] == pytest.approx([1.74, 1.82, 1.88], abs=0.005)
    assert after["PI, long windows"] == pytest.approx(2.09, abs=0.005)


def test_untrained_clex_already_leads_fine_tuned_ntk_at_eight_lengths():
    lead_far = losses("methods", "loss_8x")["NTK"] - losses("untrained", "loss_8x")["CLEX"]
    assert [lead_far.min(), lead_far.max()] == pytest.approx([0.36, 0.39], abs=0.005)
    lead_near = losses("methods", "loss_4x")["CLEX"] - losses("methods", "loss_4x")["NTK"]
    assert [lead_near.min(), lead_near.max()] == pytest.approx([0.18, 0.25], abs=0.005)


def test_maps_use_far_tokens_on_facts():
    facts = losses("depths", "accuracy@256@0")
    maps = facts[["Self-Extend", "ReRoPE", "dual chunk"]]
    assert (maps.median().round(2).min(), maps.median().round(2).max()) == (0.97, 0.98)
    assert maps.to_numpy().min() == pytest.approx(0.945, abs=5e-4)
    assert facts["RoPE"].median().round(2) == 0.58
