"""Studies, from the command line to their figures, tables and claims."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from experiments.long_short_alignment.arms import differences
from experiments.long_short_alignment.claims import CLAIMS
from experiments.long_short_alignment.correlation_claims import check_lead
from experiments.long_short_alignment.far_tokens import MAPS
from experiments.long_short_alignment.paper import PAPER
from experiments.long_short_alignment.run_table import average_losses, errors
from experiments.long_short_alignment.step_costs import STEPS
from experiments.long_short_alignment.studies import AlignmentStudy
from support.configs import SMALL, small
from support.figures import studies
from support.hasty import hastily
from synthlab.language.run import LanguageRun
from synthlab.studies.evidence import NoEvidence
from synthlab.studies.verdicts import ClaimData, Verdict, judge
from synthlab.training.execution import execute

EVERY: dict[str, AlignmentStudy] = {
    name: study
    for group in ("default", "extensions", "predictors", "encodings", "controls", "quick")
    for name, study in studies(PAPER, group).items()
}
# Tested up to five training lengths, which the numbers are.
OVERRIDES = {override.split("=")[0]: override for override in [*SMALL, "test_length=40"]}


def left_open(study: AlignmentStudy) -> list[str]:
    """The overrides of what a study does not set itself."""
    own = {*study.fixed, *(key for settings in (*study.arms.values(), *study.vary) for key in settings)}
    return [override for key, override in OVERRIDES.items() if key not in own]


def judged(study: str, runs: pd.DataFrame) -> list[Verdict]:
    return judge(CLAIMS.values(), "by hand", [ClaimData(EVERY[study].claims, runs)])


@pytest.fixture
def hasty(monkeypatch):
    """Every run is trained for two steps, and again for two, and tested up to eight training lengths at most."""

    def shortened(config, quick):
        quick["test_length"] = min(config.test_length, 8 * config.train_length)
        if isinstance(config, LanguageRun):
            longer = config.finetune.length and 4 * config.train_length
            quick["finetune"] |= {"steps": min(2, config.finetune.steps), "length": longer}
            quick["evaluation"] |= {"sequences": 2, "questions": 2}

    monkeypatch.setattr("synthlab.studies.rounds.ensure", hastily(shortened))


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_every_study_at_small_size(name, invoke, hasty, tmp_path):
    # Table 1 in two of its grids, with a small model in place of its own settings.
    fewer = "study.table1.vary=[{encoding:[nope,rope,randomized],model.mlp_ratio:[2]},{encoding:[rope],extension:[pi]}]"
    given = [*OVERRIDES.values(), fewer] if name == "table1" else left_open(EVERY[name])
    if name == "predictors":  # in one setting
        given += ["study.predictors.vary={model.width:[16]}"]
    if EVERY[name].drawn:  # one of each family
        given.append(f"study.{name}.drawn.each=1")
    if name in ("scalar", "encodings_numbers"):
        given = [override for override in given if not override.startswith("evaluation.questions=")]  # it asks none
    found = invoke("experiments", f"long_short_alignment/{name}", *given, "seeds=1", "workers=1", f"results={tmp_path}")
    assert (found.status, found.err.count("Traceback")) == (0, 0)
    folder = tmp_path / "long_short_alignment" / "figures"
    assert all(re.search(rf"^long_short_alignment\.{claim} \(", found.out, re.M) for claim in EVERY[name].claims)
    if name == "compute":
        assert pd.read_csv(folder / "compute_cost.csv")["step"].tolist() == list(STEPS)


def runs(changes: dict[str, list[float]], seeds: int = 6) -> pd.DataFrame:
    """Runs whose losses at four training lengths are 3, or 3 and what ``changes`` says, in turn for the seeds."""
    return pd.DataFrame(
        [
            {"arm": arm, "baseline": arm == "alpha 0", "variant": "rope", "seed": seed, "loss_4x": 3.0 + change}
            for arm, of_arm in ({"alpha 0": [0.0, 0.0]} | changes).items()
            for seed, change in enumerate(np.resize(of_arm, seeds))
        ]
    ).assign(loss_1x=2.0, excess=0.1, sce=3.0, calibrated_loss_2x=3.0, accuracy_4x=0.5, train_length=8)


def test_differences_are_from_the_first_arm():
    rows = runs({"alpha 0.1": [-0.5, 0.25]}, 2)
    rows.loc[rows["seed"] == 1, "loss_4x"] += 1
    assert differences(rows, "loss_4x")["loss_4x"].tolist() == [0, 0, -0.5, 0.25]


def by_alpha(*changes: list[float]) -> pd.DataFrame:
    return runs({f"alpha {alpha}": change for alpha, change in zip(("0.1", "0.3", "0.5", "1"), changes, strict=False)})


def test_claims_about_the_coefficient_by_hand():
    def words(found: pd.DataFrame) -> dict[str, str]:
        return {verdict.claim.id: verdict.word for verdict in judged("finetune", found)}

    found = by_alpha([-0.5, -0.1], [-0.2, -0.1], [0.5, 0.4], [1.0, 2.0])
    trained = found["arm"] != "alpha 0"
    found.loc[trained, ["sce", "accuracy_4x", "calibrated_loss_2x"]] -= [0.5, 0.1, -0.001]
    # The loss within does not change; what it loses beyond is not back at the right temperature.
    wanted = dict.fromkeys(("A1", "A2", "A3", "W"), "holds") | dict.fromkeys(("A1r", "A1s"), "fails")
    assert words(found) == wanted
    worse = words(by_alpha([0.1, 0.1], [0.1, 0.2]))
    assert (worse["A1"], worse["A2"]) == ("fails", "not tested")


def test_equal_compute_is_held_against_both_counts():
    arms = {"two, 5 % more steps": [-0.1, -0.1], "one, twice the steps": [-0.5, -0.5], "two, alpha 0.1": [-0.2, -0.2]}
    [found] = judged("compute", runs(arms))
    assert [check.median for check in found.checks] == pytest.approx([-0.1, 0.3])
    assert found.word == "fails in part"


def test_leads_by_hand():
    loss = np.linspace(-1, 1, 24)
    rows = pd.DataFrame({"seed": 0, "loss_to_4x_within": loss, "sce_within": 2 * loss})
    rows = rows.assign(encoding=np.resize(list("abcdef"), 24), setting=np.resize(list("stuvw"), 24))
    rows = rows.assign(loss_1x_within=np.cos(7 * loss))
    found = [check_lead(rows, "sce", "x", "loss_to_4x_within", of) for of in ("settings", "encodings")]
    assert [(check.answer, check.number) for check in found] == [("holds", 5), ("holds", 6)]
    for bad, of in ((rows[rows["setting"].isin(["s", "t"])], "settings"), (rows.assign(sce_within=1.0), "encodings")):
        with pytest.raises(NoEvidence):
            check_lead(bad, "sce", "x", "loss_to_4x_within", of)


def test_a_diverged_baseline_is_not_replaced():
    left = by_alpha([0.1, 0.1], [0.2, 0.2])
    left = left[left["arm"] != "alpha 0"]
    with pytest.raises(NoEvidence, match="no finished run of the arm that the others are held against"):
        differences(left, "loss_4x")
    assert {verdict.word for verdict in judged("finetune", left)} == {"not tested"}


def facts(recalled: dict[str, dict[float, float]]) -> pd.DataFrame:
    """Runs of which facts at some depths are recalled so often."""
    rows = runs({arm: [0.0, 0.0] for arm in recalled if arm != "alpha 0"})
    for depth in (0.0, 0.25, 0.5):
        share = [recalled[arm][depth] for arm in rows["arm"]]
        rows = rows.assign(**{f"accuracy@8@{depth:g}": share, f"answer_loss@8@{depth:g}": 0.3})
    return rows


def test_claims_about_facts_by_hand():
    recalled = {"alpha 0": {0.0: 0.9, 0.25: 0.9, 0.5: 0.9}, "alpha 0.1": {0.0: 0.89, 0.25: 0.5, 0.5: 0.5}}
    found = {verdict.claim.id: verdict for verdict in judged("recall", facts(recalled))}
    assert {id: verdict.word for id, verdict in found.items()} == {"N1": "holds", "N3": "not tested"}
    assert found["N1"].checks[0].median == pytest.approx(-0.01)
    [unfit, _] = judged("recall", facts(recalled).assign(fit=False))
    assert unfit.word == "not tested"


def test_claims_about_ranges_and_distances_by_hand():
    arms = {"1 to l/4": [0.005, 0.0], "l/4 to l/2": [0.1, 0.1], "1 to l": [-0.5, 0.5], "1 to l/20": [0.1, 0.1]}
    answers = {v.claim.id: [check.answer for check in v.checks] for v in judged("range", runs(arms))}
    assert answers == {"R1": ["holds"], "R1_far": ["holds"], "R2": ["undecided"], "R3": ["holds"]}
    within = runs({"alpha 0.1": [0.0, 0.0]})
    within.loc[within["arm"] == "alpha 0.1", "loss_1x"] = 2.1
    verdict = next(verdict for verdict in judged("finetune", within) if verdict.claim.id == "W")
    assert verdict.checks[0].median == pytest.approx(0.1)
    arms = {"alpha 0.1": [0.5, 0.5], "alpha 0.1, excess": [-0.1, -0.1], "alpha 1, excess": [-0.2, -0.2]}
    (verdict,) = judged("distance", runs(arms))
    assert [check.answer for check in verdict.checks] == ["holds"] * 2


def test_an_entropy_bonus_is_held_against_the_entropies_alone():
    gains = {"alpha 0.1": [0.004, 0.005], "alpha 0.1, entropy": [0.003, 0.0045]}
    rows = runs(gains, 10)
    accuracies = {f"accuracy_{multiple}x": rows["loss_4x"] for multiple in (2, 4, 8)}
    losses = {f"calibrated_loss_{multiple}x": 3 * rows["loss_4x"] for multiple in (2, 4, 8)}
    scores, alike = judged("entropy_bonus", rows.assign(**accuracies | losses))
    assert [check.answer for check in scores.checks] == [*["holds"] * 3, *["fails"] * 3]  # a loss must fall
    assert [check.median for check in alike.checks] == pytest.approx([*[0.00075] * 3, *[0.00225] * 3])
    assert alike.word == "holds"
    apart = rows.assign(**accuracies | losses)
    apart.loc[apart["arm"] == "alpha 0.1", "accuracy_8x"] += 0.002
    assert [check.answer for check in judged("entropy_bonus", apart)[1].checks][:3] == ["holds", "holds", "fails"]


def test_far_tokens_are_used_where_the_last_ones_do_worse():
    last = "last N tokens"
    rows = runs({last: [0.0, 0.0]} | {name: [-0.2, -0.1] for name in MAPS}, 10)
    rows = rows[rows["arm"] != "alpha 0"].assign(baseline=rows["arm"] == last, loss_8x=rows["loss_4x"])
    recall = rows.assign(variant="recall", recall_error_8x=1.0 - (rows["arm"] != last))
    [found] = judged("far_tokens", pd.concat([rows, recall]))
    assert (found.word, [check.median for check in found.checks]) == (
        "holds",
        pytest.approx([*[-0.15] * 8, *[-1.0] * 4]),
    )


def test_losses_are_means_over_contexts():
    record = execute(small("task=hidden_markov"))
    found, metrics = average_losses(record), record.metrics
    assert found["loss_1x"] == pytest.approx(metrics["loss"][:8].mean())
    assert found["loss_4x"] == pytest.approx(metrics["loss"][24:32].mean())
    assert found["loss_to_4x"] == pytest.approx(metrics["loss"].mean())
    assert found["accuracy_2x"] == pytest.approx(metrics["accuracy"][8:16].mean())


def test_errors_are_means_over_depths():
    record = execute(small("task=tracking", "evaluation.depths=[0,1]", "evaluation.lengths=[1,4]"))
    shares = {"accuracy@8@0": 0.5, "accuracy@8@1": 1.0, "accuracy@32@0": 0.25, "accuracy@32@1": 0.25, "needle@8@0": 1.0}
    shares |= {"tracking@80@0": 0.1, "tracking@32@1": 0.3, "tracking_loss@8@0": 7.0, "needle@8@1": 0.0}
    found = errors(replace(record, outputs=pd.DataFrame([shares])))
    wanted = {"recall_error_1x": 0.25, "recall_error_4x": 0.75, "needle_error_1x": 0.5, "tracking_error_4x": 0.7}
    assert found == pytest.approx(wanted)
