"""Records of a study made by hand: outcomes are chosen, and wmel's own statistics say the rest."""

from dataclasses import replace
from datetime import UTC, datetime
from functools import cache

import numpy as np

from tests.analysis.tables import table
from wmel.analysis.pooling import Arms
from wmel.analysis.scorecard import scorecard
from wmel.analysis.verdict import Correction, Label
from wmel.contract.criterion import Stop
from wmel.reports.analysis_record_types import ClaimsEntry, ComparedEntry, ComparisonEntry, MissingEntry, StudyRecord
from wmel.reports.answers import DIRECTIONS
from wmel.reports.record_entries import estimate_entry, scorecard_entry
from wmel.reports.record_types import EstimateEntry, RunMetadata
from wmel.reports.study_record import cpg_entry
from wmel.schema import Run
from wmel.stats.estimate import Estimate

HOSTILE = "<script>alert(1)</script> a|b </script>"
EPISODES = 40
TESTED = 11  # gaps with a p-value, corrected together
MODELS = ("mlp", "large-mlp")
WON = {  # environment -> plan horizon -> episodes each arm wins
    "maze_toy": {5: (12, 2, 2, 1), 15: (30, 10, 26, 1), 200: (40, 15, 40, 1)},
    "dmc_cartpole": {5: (0, 0, 0, 0), 15: (8, 1, 30, 0), 200: (38, 28, 20, 0)},
}


def study(models: tuple[str, str] = MODELS, name: str = "horizons", **changed) -> StudyRecord:
    """Two environments, three planning horizons, two models; one gap has no mid-p, and one model was retrained."""
    comparisons = [
        _renamed(_comparison(environment, horizon, won), dict(zip(MODELS, models, strict=True)))
        for environment, horizons in WON.items()
        for horizon, won in horizons.items()
    ]
    fields = {
        "schema_version": "2.0",
        "wmel_version": "0.1.0",
        "generated_at": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        "kind": "study",
        "name": name,
        "about": "How far must a planner look ahead?\n\nTwo worlds, two models.",
        "cells": 24,
        "episodes": 24 * EPISODES,
        "rescored": None,
        "comparisons": comparisons,
        "missing": [MissingEntry(cell="maze_toy/cem-50/mlp/seed-1", episodes=7, reason="the disk was full")],
        "refused": ["maze_toy/cem-15: seeds 0 and 1 cannot be pooled: version of numpy differs"],
    }
    return StudyRecord.model_validate({**fields, **changed})


def one_gap() -> StudyRecord:
    """The smallest study with a gap, and no label at all."""
    only = study().comparisons[1]
    gaps = {"mlp": only.gaps["mlp"]}
    return study(comparisons=[only.model_copy(update={"gaps": gaps, "labels": {}})], missing=[], refused=[])


def many_gaps(count: int) -> StudyRecord:
    """As many gaps as asked for."""
    only = one_gap().comparisons[0]
    return study(comparisons=[only.model_copy(update={"name": f"maze_toy/cem-{row}"}) for row in range(count)])


def trained_on_more() -> StudyRecord:
    """One setting in which the models differ in their training data."""
    first, *_ = study(models=("mlp[transitions=500]", "mlp[transitions=50000]")).comparisons
    swept = {arm: {"transitions": size} for arm, size in zip(first.gaps, (500, 50_000), strict=True)}
    return study(comparisons=[first.model_copy(update={"labels": {}, "arm_labels": {"oracle": {}, **swept}})])


@cache
def _comparison(environment: str, horizon: int, won: tuple[int, ...]) -> ComparisonEntry:
    arms = ("oracle", *MODELS, "random")
    runs = {arm: _run(environment, horizon, count, plans=arm != "random") for arm, count in zip(arms, won, strict=True)}
    compared = Arms(runs["oracle"], {model: runs[model] for model in MODELS}, runs["random"])
    p_values = {model: compared.p_value(model).value or 0.0 for model in MODELS}
    family = {model: Correction(min(1.0, TESTED * value), TESTED) for model, value in p_values.items()}
    compared = replace(compared, family=family)
    half = 0.6 if (environment, horizon) == ("maze_toy", 15) else 0.3
    gaps = {model: _compared(compared, model, half if model == MODELS[0] else None) for model in MODELS}
    if (environment, horizon) == ("dmc_cartpole", 5):
        unpaired = {"mid_p": _entry(Estimate.undefined("the arms are not paired")), "mid_p_holm": None}
        unpaired |= {"p_value": unpaired["mid_p"], "p_value_holm": None}
        gaps[MODELS[1]] = gaps[MODELS[1]].model_copy(update={**unpaired, "oracle_only": None, "learned_only": None})
    return ComparisonEntry(
        name=f"{environment}/cem-{horizon}",
        labels={"plan_horizon": horizon},
        arm_labels={},
        setting=_setting(environment, horizon),
        scorecards={arm: scorecard_entry(scorecard(arm, run.table)) for arm, run in runs.items()},
        gaps=gaps,
    )


def _renamed(comparison: ComparisonEntry, names: dict[str, str]) -> ComparisonEntry:
    kept = {"gaps": comparison.gaps, "scorecards": comparison.scorecards}
    return comparison.model_copy(
        update={field: {names.get(arm, arm): one for arm, one in by_arm.items()} for field, by_arm in kept.items()}
    )


def _compared(arms: Arms, model: str, half: float | None) -> ComparedEntry:
    """The gap of a model; `half` is the half width of the interval of its recipe, where it was retrained."""
    entry = cpg_entry(arms, model)
    gap, p_value = entry.gap, entry.mid_p.value
    claims = ClaimsEntry(
        these_checkpoints=_entry(Estimate(gap, entry.gap_ci_low, entry.gap_ci_high, EPISODES, "tango")),
        this_training_recipe=_entry(Estimate(gap, gap - (half or 0), gap + (half or 0), 2, "t over seeds")),
    )
    adjusted = None if p_value is None else min(1.0, TESTED * p_value)
    compared = ComparedEntry(**entry.model_dump(), mid_p_holm=adjusted, claims=None if half is None else claims)
    return corrected(compared) if adjusted is not None and adjusted > 0.05 else compared


def corrected(entry: ComparedEntry) -> ComparedEntry:
    """A difference that Holm's correction rejects is inconclusive."""
    if entry.verdict not in DIRECTIONS:
        return entry
    strict = entry.verdicts["strict"].model_copy(update={"label": Label.INCONCLUSIVE, "n_that_decides": 77})
    return entry.model_copy(update={"verdict": strict.label, "verdicts": {**entry.verdicts, "strict": strict}})


def _run(environment: str, horizon: int, won: int, *, plans: bool) -> Run:
    success = np.random.default_rng(won).permutation(EPISODES) < won
    rows = table(
        success=success,
        judged=[True] * EPISODES,
        steps=[12 if one else 50 for one in success],
        first_success_step=[12 if one else -1 for one in success],
        plan_calls=[4 if plans else 0] * EPISODES,
        model_steps=[4 * horizon * 72 if plans else 0] * EPISODES,
        declared_compute=[4.0 * horizon * 72 if plans else 0.0] * EPISODES,
        planning_latencies_ms=[(0.1 * horizon, 0.12 * horizon) if plans else () for _ in success],
    )
    return Run(
        environment, "cem", "state", {"plan_horizon": horizon}, (0, 1), 50, 0.0, None, None, "task", "distance<=0",
        Stop.SUCCESS, 1, {}, rows,
    )  # fmt: skip


def _setting(environment: str, horizon: int) -> RunMetadata:
    return RunMetadata(
        env=environment, layout=None, policy="cem", policy_reads="state", model="oracle", weights=None, planner="cem",
        objective="goal_distance", plan_horizon=horizon, evaluations=72, execute=None, seed=0, seeds=[0, 1],
        perturb_prob=0.0, perturbation=None, metrics=[], init="fixed" if environment == "dmc_cartpole" else "task",
        success="distance<=0", stop="success", latency_threads=1, versions={}, episodes=EPISODES, horizon=50,
    )  # fmt: skip


def _entry(estimate: Estimate) -> EstimateEntry:
    return estimate_entry(estimate)
