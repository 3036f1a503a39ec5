"""The sections of docs/calibration.md on ESNR and alignment."""

from collections.abc import Mapping

from calibration_text import Group, section, table, three
from esnr_coverage import ALIGNED_STATES, GROUPS, POOLED_STATES, PROBLEMS, RESAMPLED_GROUPS, SAMPLES, SETTINGS, STATES
from false_alarms import CHECKPOINTS, EPISODES, KEPT, MOVED, RISE, RUNS
from false_alarms import SAMPLES as READ_SAMPLES
from false_alarms import STATES as READ_STATES
from sampled_coverage import standard_error
from wmel.diagnostics.esnr.result import MIN_FOR_ESNR, MIN_FOR_POOLED
from wmel.stats.means import DOMINANT, MIN_CLUSTERS


def esnr_sections(measured: Mapping[str, Group]) -> list[str]:
    """ESNR, its bias, differences of models, the pooled ratio, alignment, and ESNR over training."""
    return [
        _ratios(measured["esnr"], measured["esnr difference"]),
        _biases(measured["esnr"]),
        _pooled(measured["pooled"]),
        _alignments(measured["alignment"]),
        _alarms(measured["false alarms"]),
    ]


def _ratios(found: Group, differences: Group) -> str:
    rows = [
        [problem, estimator, *(three(min(found[problem, estimator, s].covered[n] for s in SAMPLES)) for n in STATES),
         f"{max(found[problem, estimator, s].without[STATES[0]] for s in SAMPLES):.0%}"]
        for problem in PROBLEMS
        for estimator in SETTINGS
    ]  # fmt: skip
    rows += [
        ["difference of two quadratics", estimator,
         *(three(min(one[n] for (name, _), one in differences.items() if name == estimator)) for n in STATES), ""]
        for estimator in dict.fromkeys(name for name, _ in differences)
    ]  # fmt: skip
    return section(
        "## ESNR",
        "How often the 95% interval of ESNR covers the expectation of the estimator at the same number of samples, "
        "over states and noise. The problems are a linear-quadratic regulator (2 state numbers, 1 action, 3 steps, "
        "states normal) and a quadratic of one action whose optimum differs between states or is the same. Each cell "
        f"is the least over {', '.join(map(str, SAMPLES))} samples, of groups of states from one measurement of many.",
        f"An interval needs {MIN_FOR_ESNR} samples and states of {MIN_CLUSTERS} episodes. It is also missing where one "
        f"episode makes up more than {DOMINANT:.0%} of the sum; the last column shows how often that happened at "
        f"{STATES[0]} states. Simulated {GROUPS} times; the standard error of a coverage of .90 is "
        f"{standard_error(0.9, GROUPS):.4f}. Ratios with heavier tails than these cover less.",
        table(["problem", "estimator", *(f"{n} states" for n in STATES), "no interval"], rows),
    )


def _biases(found: Group) -> str:
    rows = [
        [problem, estimator, samples, f"{one.infinite:.3g}", f"{one.expected:.3g}",
         f"{one.expected - one.infinite:+.2g}", f"{one.bias:+.2g}", f"{one.left:.0%}"]
        for (problem, estimator, samples), one in found.items()
        if samples in (32, 64)
    ]  # fmt: skip
    return section(
        "## The bias of ESNR",
        "The ratio of infinitely many samples, the expectation at S samples, the bias, and the bias that is printed "
        "beside it, which compares all samples with their halves and quarters. The last column is what remains of the "
        "distance to infinitely many samples once the printed bias is subtracted. Ratios of gradients are exact; those "
        "of `cem` and without a baseline are of 512 samples.",
        table(["problem", "estimator", "S", "infinite S", "expectation", "bias", "printed", "remains"], rows),
    )


def _pooled(found: Group) -> str:
    rows = [[*key, *(three(one[n]) for n in POOLED_STATES)] for key, one in found.items()]
    return section(
        "## The pooled ratio",
        "How often its 95% interval covers it: the wider at each end of a bootstrap-t of the logarithm and of the "
        f"jackknife with Hall's transformation. It needs {MIN_FOR_ESNR} samples and states of {MIN_FOR_POOLED} "
        f"episodes. Simulated {RESAMPLED_GROUPS} times; the standard error of a coverage "
        f"of .95 is {standard_error(0.95, RESAMPLED_GROUPS):.3f}.",
        table(["problem", "estimator", "S", *(f"{n} states" for n in POOLED_STATES)], rows),
    )


def _alignments(found: Group) -> str:
    rows = [
        [*key, f"{one.without_signal:+.3f}", *(three(one.claimed[n]) for n in ALIGNED_STATES),
         f"{one.of_the_truth:.2f}", f"{one.far_away:.2f}"]
        for key, one in found.items()
    ]  # fmt: skip
    titles = ["estimator", "S", "no signal", *(f"{n} states" for n in ALIGNED_STATES), "true model", "strong signal"]
    return section(
        "## Alignment",
        "The mean cosine of a model whose expected gradient is exactly 0 with the regulator's true gradient, and how "
        "often its 95% interval lies above 0. The states are near the goal, where noise outweighs the signal: if both "
        "sides shared their noise, the cosine of `fog` would be .36 at 16 samples. The last columns are the mean "
        "cosines of the true model, near the goal and at the states of the tables above; the noise of both sides "
        f"keeps them below 1. Simulated {RESAMPLED_GROUPS} times; the standard error of a share of .025 is "
        f"{standard_error(0.025, RESAMPLED_GROUPS):.3f}.",
        table(titles, rows),
    )


def _alarms(found: Group) -> str:
    rows = [
        [problem, estimator, design,
         *(" / ".join(three(getattr(runs[count], name)) for count in CHECKPOINTS)
           for name in ("constant", "rising", "online"))]
        for (problem, estimator, design), runs in found.items()
    ]  # fmt: skip
    names = ["U-shape, no change", "U-shape, only a rise", "online rule, no change"]
    return section(
        "## ESNR over training",
        "How often a U-shape of ESNR is claimed that is not there, and how often the online rule fires although ESNR "
        f"does not change. Each cell is for {', '.join(map(str, CHECKPOINTS))} checkpoints. A reading is of "
        f"{READ_STATES} states of {EPISODES} episodes with {READ_SAMPLES} gradients each and its own noise, and has "
        f"the interval above. *{KEPT}*: ESNR of every state is the same at all checkpoints. *{MOVED}*: a state has "
        "another at each, of the same distribution. *Only a rise*: ESNR stays the same up to the middle and then "
        f"grows {RISE:g}-fold. A U-shape has a bound; the online rule has none, because it looks after every "
        f"checkpoint. Simulated {RUNS} times; the standard error of a share of .02 is "
        f"{standard_error(0.02, RUNS):.4f}.",
        table(["problem", "estimator", "states", *names], rows),
    )
