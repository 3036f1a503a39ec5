"""Intervals of ESNR and claims of alignment hold their bounds, and the simulation finds the defects there were."""

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="install wmel[learned]")

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

import claims  # noqa: E402
import esnr_coverage  # noqa: E402
import false_alarms  # noqa: E402
from wmel.diagnostics.esnr.measure import esnr, true_gradient  # noqa: E402
from wmel.diagnostics.esnr.result import TrueGradient, mean_over_states  # noqa: E402

PAGE = (ROOT / "docs" / "calibration.md").read_text()


@pytest.fixture(autouse=True)
def few_states(monkeypatch):
    """Pools of fewer states, and fewer of them at a time."""
    monkeypatch.setattr(esnr_coverage, "READ_ELSE", 5000)
    monkeypatch.setattr(esnr_coverage, "GROUPS", 400)
    monkeypatch.setattr(esnr_coverage, "STATES", (10, 16, 64))
    esnr_coverage._measure.cache_clear()
    esnr_coverage.infinite_ratio.cache_clear()


def missed_bounds(measured):
    groups = {group: measured.get(group, {}) for group in claims.all_groups()}
    return [one for one in claims.findings(groups) if not one.holds]


@pytest.mark.parametrize("problem", esnr_coverage.PROBLEMS)
@pytest.mark.parametrize("estimator", ["fog", "zog", pytest.param("cem", marks=pytest.mark.slow)])
@pytest.mark.parametrize("samples", [32, pytest.param(64, marks=pytest.mark.slow)])
def test_the_interval_covers_the_expectation_and_the_bias_is_told(problem, estimator, samples):
    call = (problem, estimator, samples)
    assert missed_bounds({"esnr": {call: esnr_coverage.esnr_coverage(*call)}}) == []


def test_the_ratio_of_infinitely_many_samples_is_not_what_the_interval_covers():
    """The audit: .007 of the intervals of zeroth-order ESNR on a quadratic hold it."""
    found = esnr_coverage._measure("quadratic, states alike", "zog", 32)
    truth, rng = esnr_coverage.infinite_ratio("quadratic, states alike", "zog"), np.random.default_rng(0)
    groups = [mean_over_states(rng.choice(found.per_observation, 128), np.arange(128), 32) for _ in range(200)]
    assert np.mean([one.low <= truth <= one.high for one in groups]) < 0.05


@pytest.mark.parametrize("problem", esnr_coverage.PROBLEMS)
@pytest.mark.parametrize("estimator", ["fog", "zog"])
def test_the_exact_ratio_is_that_of_many_samples(problem, estimator):
    """600 samples at 1,500 states: corrected ratios have a bias below 1% there; within 5 standard errors of states."""
    states = esnr_coverage._states(problem, estimator)[:1500]
    forms, linear = esnr_coverage._forms(problem, states)
    exact = esnr_coverage._exact_ratios(forms, linear, score=estimator == "zog").mean(axis=1)
    found = esnr_coverage._read(problem, states, estimator, 600).per_observation
    error = (found - exact).std() / np.sqrt(len(states))
    assert abs((found - exact).mean()) < 5 * error + 0.01 * exact.mean()


@pytest.mark.parametrize(("states", "samples"), [(4, 32), (16, 16)])
def test_too_few_states_or_samples_have_no_interval(states, samples):
    call = (states, samples)
    assert missed_bounds({"esnr refused": {call: esnr_coverage.refused_share(*call)}}) == []


@pytest.fixture
def fewer_groups(monkeypatch):
    monkeypatch.setattr(esnr_coverage, "RESAMPLED_GROUPS", 200)
    monkeypatch.setattr(esnr_coverage, "ALIGNED", 1500)
    monkeypatch.setattr(esnr_coverage, "ALIGNED_STATES", (16, 64))


@pytest.mark.parametrize("samples", [16, 32])
@pytest.mark.parametrize("estimator", ["fog", "zog"])
def test_a_model_without_signal_is_hardly_ever_aligned(estimator, samples, fewer_groups):
    found = esnr_coverage.false_alignment(estimator, samples)
    assert missed_bounds({"alignment": {(estimator, samples): found}}) == []
    assert abs(found.without_signal) < 0.1 < found.of_the_truth < found.far_away and found.far_away > 0.8


def test_the_simulation_finds_the_alignment_of_shared_noise(fewer_groups, monkeypatch):
    """Before, the truth was sampled from the noise of the models: the audit found nine in ten intervals above 0."""

    def with_shared_noise(model, states, **how):
        own = true_gradient(model, states, **how)
        return TrueGradient(esnr(model, states, "fog(fd)", **how), own.coarse_means)

    monkeypatch.setattr(esnr_coverage, "true_gradient", with_shared_noise)
    found = esnr_coverage.false_alignment("fog", 16)
    assert found.claimed[64] > 0.8 and missed_bounds({"alignment": {("fog", 16): found}})


@pytest.fixture
def few_runs(monkeypatch):
    monkeypatch.setattr(false_alarms, "RUNS", 150)
    monkeypatch.setattr(false_alarms, "POOL_ELSE", 500)


@pytest.mark.parametrize("design", false_alarms.DESIGNS)
@pytest.mark.parametrize("estimator", ["fog", "zog"])
def test_a_u_shape_is_seldom_claimed_where_esnr_never_falls(estimator, design, few_runs):
    call = ("quadratic, states differ", estimator, design)
    assert missed_bounds({"false alarms": {call: false_alarms.false_alarms(*call)}}) == []


def test_the_simulation_finds_u_shapes_that_rest_on_too_narrow_intervals(few_runs, monkeypatch):
    whole = false_alarms._numbers

    def half_as_wide(found):
        value, low, high = whole(found)
        return value, value - (value - low) / 2, value + (high - value) / 2

    monkeypatch.setattr(false_alarms, "_numbers", half_as_wide)
    call = ("quadratic, states differ", "fog", false_alarms.MOVED)
    assert missed_bounds({"false alarms": {call: false_alarms.false_alarms(*call)}})


def test_the_page_of_esnr_has_the_worst_false_alarms():
    """At 12 and 20 checkpoints: a U-shape without a change and with a rise alone, and the online rule."""
    section = PAGE.split("\n## ESNR over training\n")[1].split("\n## ")[0]
    rows = [
        line.strip("| ").split(" | ")[3:]
        for line in section.splitlines()
        if line.startswith("| reg") or line.startswith("| quad")
    ]
    worst = [[max(float(row[place].split(" / ")[count]) for row in rows) for count in (1, 2)] for place in range(3)]
    words = " ".join((ROOT / "docs" / "esnr.md").read_text().split())
    assert len(rows) == 18
    for found in worst:
        assert " and ".join(f"{share:.1%}" for share in found) in words


def test_the_page_has_every_problem_and_estimator():
    for title in ("## ESNR", "## The bias of ESNR", "## The pooled ratio", "## Alignment", "## ESNR over training"):
        assert f"\n{title}\n" in PAGE
    ratios = PAGE.split("\n## ESNR\n")[1].split("\n## ")[0]
    assert all(
        f"| {problem} | {name} |" in ratios for problem in esnr_coverage.PROBLEMS for name in esnr_coverage.SETTINGS
    )
