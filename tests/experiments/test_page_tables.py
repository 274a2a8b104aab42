"""The tables of pages on language models, by hand."""

import numpy as np
import pandas as pd

from experiments.long_short_alignment.page_tables import (
    CHANGES,
    format_change,
    tabulate_changes,
    tabulate_coefficients,
    tabulate_facts,
    tabulate_losses,
    tabulate_numbers,
)

SEEDS = 3


def runs(**arms: list[float]) -> pd.DataFrame:
    """Runs of two models under three seeds: ``arms`` have a value for each seed, which the second model has twice."""
    rows = []
    for place, (arm, values) in enumerate(arms.items()):
        for model, factor in {"pi": 1, "yarn": 2}.items():
            for seed, value in enumerate(values):
                names = [*CHANGES, "calibrated_loss_2x", "sce", "excess", "temperature"]
                measured = dict.fromkeys(names, factor * value)
                rows.append(
                    {"arm": arm.replace("_", " "), "baseline": place == 0, "variant": model, "seed": seed} | measured
                )
    return pd.DataFrame(rows)


def test_changes_are_those_of_seeds_from_the_first_arm():
    first, second = tabulate_changes(runs(none=[1.0, 1.0, 1.0], much=[1.01, 1.03, 1.02]))
    assert (first["model"], first["arm"], second["model"]) == ("PI", "much", "YaRN")
    assert first[CHANGES["loss_4x"]] == "+0.0200 [+0.0100, +0.0300]"
    assert second[CHANGES["loss_4x"]] == "+0.0400 [+0.0200, +0.0600]"
    assert first[CHANGES["accuracy_4x"]] == "+2.00 [+1.00, +3.00]"


def test_a_weight_spans_the_medians_of_its_models():
    none, much = tabulate_coefficients(runs(alpha_0=[1.0, 1.0, 1.0], alpha_1=[1.2, 1.5, 1.4]))
    assert none == {
        "weight": "0",
        **dict.fromkeys([told for name, told in CHANGES.items() if name != "loss_1x"], ""),
        "calibrated loss after 1 to 2 l, nats": "",
    } | {
        "misalignment, nats": "1.00 to 2.00",
        "beyond entropy, nats": "1.000 to 2.000",
        "temperature": "1.00 to 2.00",
    }
    assert much[CHANGES["loss_4x"]] == "+0.40 to +0.80"
    assert much["misalignment, nats"] == "1.40 to 2.80"


def test_losses_are_sorted_by_the_farthest():
    table = pd.DataFrame({"arm": ["a", "a", "b"], "loss_1x": 1.0, "loss_4x": 2.0, "loss_8x": [3.0, 4.0, 3.6]})
    assert [row["loss, nats"] for row in tabulate_losses(table)] == ["b", "a"]
    assert tabulate_losses(table)[1]["7N to 8N"] == "3.500"


def test_facts_are_medians_by_depth():
    answers = {f"{kind}@{length}@{depth}": np.array([0.5, 0.75, 1.0]) - (length == 256) / 4
               for kind in ("accuracy", "answer_loss") for length in (64, 256) for depth in ("0.0", "0.5")}  # fmt: skip
    table = pd.DataFrame(
        {"arm": "a", "baseline": True, "variant": "rope", "seed": range(SEEDS), "train_length": 64} | answers
    )
    assert tabulate_facts(table) == [{"model": "a", "within, depth 0": "0.75", "depth 0": "0.50", "depth 0.5": "0.50"}]


def test_numbers_are_correlated_with_distances_both_scaled_and_not():
    # The error grows with the scaled distance and falls with the other; encoding f does not fit.
    distance = np.resize([1.0, 1.1, 1.2, 1.3, 1.4, 9.0], 12)
    table = pd.DataFrame({"task": "length", "outrep": np.repeat(["identity", "sqrt"], 6), "seed": 0})
    table = table.assign(encoding=np.resize(list("abcdef"), 12), error_5x=distance, wasserstein_scaled=distance)
    table = table.assign(wasserstein=1 / distance, fit=table["encoding"] != "f")
    scaled, raw = tabulate_numbers(table)
    assert (scaled["distance"], raw["distance"]) == ("scaled", "not scaled")
    assert (scaled["rank correlation"][:4], raw["rank correlation"][:5]) == ("1.00", "-1.00")
    assert (scaled["among runs that fit"][:4], raw["among runs that fit"][:5]) == ("1.00", "-1.00")
    assert scaled["how far these lie apart"] == "33.33 %"  # 0.4 of 1.2


def test_changes_have_their_signs():
    assert format_change("loss_4x", [0.01234, -0.5]) == ["+0.0123", "-0.50"]
    assert format_change("accuracy_4x", [-0.0123]) == ["-1.23"]
