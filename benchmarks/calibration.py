"""The page docs/calibration.md and its figures, from what `claims.py` measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import figures
from calibration_text import Group, Row, section, table, table_row, three
from esnr_calibration import esnr_sections
from false_claims import BRANCHES, FARTHER, SHARES
from interval_coverage import DISCORDANT, MOST_EXACT, NAMES
from interval_coverage import SIZES as INTERVAL_SIZES
from repeated_claims import CAP, MOST_ADDED, PHIS, RATES, STUDIES, WORSE_BY, FollowUp
from sampled_coverage import (
    CLUSTERS,
    COUNTS,
    MIDDLE_COUNTS,
    ORACLE,
    PAIRS,
    RUNS,
    SKEWED,
    SOLVED,
    TIMED,
    TRAININGS,
    standard_error,
)
from wmel.analysis.verdict import DELTA, Label
from wmel.stats.estimate import MIN_MIDDLE, MIN_VALUES, episodes_for_percentile
from wmel.stats.means import MIN_CLUSTERS
from wmel.stats.proportions import MIN_TRAININGS

PAGE = Path(__file__).parents[1] / "docs" / "calibration.md"
SHOWN_NS = (*range(5, 65, 5), *range(70, 110, 10), *range(125, 301, 25))
SHOWN_SIZES = (5, 10, 19, 30, 73, 150, 380)
SHOWN_TRAININGS = (3, 4, 5, 7, 10, 15, 20)
Measured = Mapping[str, Group]


class Kind(StrEnum):
    """What a number is, and on which side of its bound it must lie."""

    FALSE_CLAIM = "false claim"  # a probability
    INTERVAL = "95% interval"  # its coverage
    BIAS = "remaining bias"  # a share of what is estimated
    REFUSAL = "refusal"  # a probability

    @property
    def side(self) -> str:
        return "at least" if self in (Kind.INTERVAL, Kind.REFUSAL) else "at most"


@dataclass(frozen=True)
class Finding:
    """A number, its bound, and where it was measured."""

    bound: str
    value: float
    where: str
    limit: float
    kind: Kind

    @property
    def margin(self) -> float:
        """How far inside the bound the value lies; negative where it misses it."""
        return self.value - self.limit if self.kind.side == "at least" else self.limit - self.value

    @property
    def holds(self) -> bool:
        return self.margin >= 0


def write(measured: Measured, worst: Sequence[Finding]) -> None:
    """Writes the page and the curve of every branch."""
    for label in BRANCHES:
        limit = next(one.limit for one in worst if one.bound == label)
        figures.write(figure_name(label), [[_panel(label, measured["branches"], limit)]], margin=110)
    PAGE.write_text(page(measured, worst))


def figure_name(label: Label) -> str:
    return f"false-{label.name.lower().replace('_', '-')}.svg"


def _panel(label: Label, branches: Group, limit: float) -> figures.Panel:
    """The probability over n in percent; the bound is a horizontal line."""
    ns = [n for (n,) in branches]
    curves = {
        design: [(float(n), 100 * branches[(n,)][label][design]) for n in ns] for design in ("independent", "pairs")
    }
    bound = [(float(n), 100 * limit) for n in (min(ns), max(ns))]
    return figures.Panel(f"{label} is false, %", "episodes per arm", {**curves, "bound": bound}, legend=True)


def page(measured: Measured, worst: Sequence[Finding]) -> str:
    """The whole page."""
    sections = [
        _introduction(),
        _bounds(worst),
        _branches(measured["branches"]),
        _unequal(measured["unequal"]),
        _follow_ups(
            measured["follow-up"],
            measured["follow-up, guaranteed"],
            measured["follow-up equivalence, guaranteed"],
        ),
        _anytime(measured["anytime gap"], measured["anytime equivalence"]),
        _families(measured["independent family"], measured["family of one oracle"]),
        _recipes(measured["recipe"]),
        _means(measured["mean"]),
        _middles(measured["middle"]),
        _percentiles(measured["percentile"]),
        _ratios(measured["ratio"]),
        *esnr_sections(measured),
        _improvements(measured["improvement"]),
        _intervals(measured["interval"]),
        _paper(measured["paper"]),
    ]
    return "\n\n".join(sections) + "\n"


def _introduction() -> str:
    return section(
        "# Calibration",
        "After this page you know how often verdicts claim something false, and how often intervals cover the truth.",
        "`make calibration` computes every number, writes this page, and fails if a bound is missed. Unless a section "
        "says that it is simulated, all outcomes of n episodes are enumerated, and the worst rates of a grid are "
        "shown. Simulations have fixed seeds, and their standard error is stated.",
    )


def _bounds(worst: Sequence[Finding]) -> str:
    def row(one: Finding) -> Row:
        holds = "yes" if one.holds else "**no**"
        return [one.kind, one.bound, f"{one.kind.side} {one.limit:.3f}", three(one.value), one.where, holds]

    return section(
        "## Every bound",
        "The worst number that was found, and where: the probability of a false claim, the coverage of an interval, "
        "the share of an estimate that is bias, or the probability that what cannot be measured is refused. "
        "*Guaranteed* follows from the rule for any number of added pairs; *measured* is the worst enumerated case.",
        table(["what", "of", "bound", "worst", "where", "holds"], map(row, worst)),
    )


def _branches(branches: Group) -> str:
    ns = [n for (n,) in branches]
    return section(
        "## False labels after one look",
        f"How often a label of the strict rule is false, at every n from {min(ns)} to {max(ns)}. A label is false "
        "where:",
        [f"- {label}: {where}." for label, where in BRANCHES.items()],
        f"The probability is computed at {len(SHARES)} rates on the edge of the region in which the label is false. "
        f"Where rates must be {DELTA:g} apart, a few that are up to {FARTHER[-1] * DELTA:g} apart are computed too. "
        "Each cell shows independent arms / pairs. A dash means that no outcome of n episodes has this label.",
        [
            *table(["n", *BRANCHES], (branch_row(n, branches[(n,)]) for n in SHOWN_NS)),
            table_row(["worst (at n)", *(_worst_ns(label, branches) for label in BRANCHES)]),
            table_row(["first n", *(_first_ns(label, branches) for label in BRANCHES)]),
        ],
        [f"![How often {label} is false, over n](figures/{figure_name(label)})" for label in BRANCHES],
    )


def branch_row(n: int, found: Mapping[str, Mapping[str, float]]) -> Row:
    return [n, *(" / ".join(_possible(value) for value in found[label].values()) for label in BRANCHES)]


def _possible(value: float) -> str:
    return three(value) if value > 0 else "-"


def _worst_ns(label: str, branches: Group) -> str:
    parts = []
    for design in ("independent", "pairs"):
        value, n = max((found[label][design], n) for (n,), found in branches.items())
        parts.append(f"{three(value)} ({n})")
    return " / ".join(parts)


def _first_ns(label: str, branches: Group) -> str:
    """The smallest n at which some outcome has the label."""
    designs = ("independent", "pairs")
    return " / ".join(str(min(n for (n,), found in branches.items() if found[label][one] > 0)) for one in designs)


def _unequal(unequal: Group) -> str:
    sizes = sorted({n for sizes in unequal for n in sizes})
    return section(
        "## Arms of unequal size",
        "The greatest probability of a false gap, in either direction, of independent arms with these numbers of "
        f"episodes. All pairs of {len(sizes)} sizes were computed: {', '.join(map(str, sizes))}.",
        table(["episodes", *SHOWN_SIZES], (unequal_row(one, unequal) for one in SHOWN_SIZES)),
    )


def unequal_row(one: int, unequal: Group) -> Row:
    pairs = (tuple(sorted((one, other))) for other in SHOWN_SIZES)
    return [one, *(three(unequal[pair][0]) for pair in pairs)]


def _follow_ups(looks: Group, guaranteed: Group, equivalences: Group) -> str:
    names = ("once", "advised", "whenever")
    rows = [
        [n, *(_worst_look(rates, name) for name in names), three(guaranteed[n,]), _worst_look(rates, "again")]
        for (n,), rates in looks.items()
    ]
    worst, (at,) = max((value, key) for key, value in guaranteed.items())
    ns = [n for (n,) in guaranteed]
    return section(
        "## Pairs added after a first look",
        "An inconclusive verdict on n pairs names the number of fresh pairs that would decide. Once they are added, "
        "the anytime rule judges all pairs, because the first look was a chance to claim a gap too. The table has the "
        "greatest probability of a false gap in either direction, first look included, where both rates are equal. In "
        "one direction it is half of that; where the rates differ, a false claim is less likely still.",
        "*As advised* adds the advised number, *whenever* looks again after every added pair, up to "
        f"{MOST_ADDED}: all outcomes of both looks are enumerated, at rates of {_listed(RATES)} that correlate by "
        f"{_listed(PHIS)}. *Guaranteed* holds for any rates and correlation, any number of added pairs and any looks: "
        "if the first look shows no gap, the bets against a gap of 0 have a wealth W, and by Ville's inequality W "
        "exceeds 20, the threshold of the anytime rule, at some time with a probability of at most W / 20. The "
        f"expectation of this, or of 1 where the first look shows a gap, is at most {worst:.3f} (n = {at}) at every n "
        f"from {min(ns)} to {max(ns)}.",
        "*Strict again* would judge all pairs by the strict rule as if there had been no first look. That claims too "
        "much, and no command does it.",
        table(["first look at n", "first look alone", "as advised", "whenever", "guaranteed", "strict again"], rows),
        f"What is guaranteed of false equivalence in the same way, where the rates are {DELTA:g} apart or a few "
        "multiples of that:",
        table(
            ["first look at n", *(n for (n,) in equivalences)],
            [["false equivalence", *map(three, equivalences.values())]],
        ),
    )


def _worst_look(rates: Mapping[tuple[float, float], FollowUp], name: str) -> str:
    return three(max(getattr(found, name) for found in rates.values()))


def _listed(numbers: Sequence[float]) -> str:
    return f"{', '.join(f'{one:g}' for one in numbers[:-1])} or {numbers[-1]:g}"


def _anytime(gaps: Group, equivalences: Group) -> str:
    gap_names = ["each arm alone", *(f"{share:g}" for (share,) in gaps)]
    rates = ["oracle", *(f"{rate:g}" for (rate,) in equivalences)]
    return section(
        "## Looking after every pair",
        f"How often the anytime rule claims something false by pair {CAP}, if it is applied after every pair. First a "
        "gap, in either direction, where the rates are equal and each arm alone solves the given share of pairs:",
        table(gap_names, [["false gap", *map(three, gaps.values())]]),
        f"Then equivalence, where the model's rate is {DELTA:g} below the oracle's and the arms do not correlate:",
        table(rates, [["false equivalence", *map(three, equivalences.values())]]),
    )


def _families(independent: Group, shared: Group) -> str:
    sizes = list(dict.fromkeys(n for _, n in independent))
    rows = [[k, *(three(independent[k, n]) for n in sizes)] for k in dict.fromkeys(k for k, _ in independent)]
    simulated = [[k, n, rate, f"{worse:.0%}", three(value)] for (k, (n, rate), worse), value in shared.items()]
    return section(
        "## Several comparisons",
        "How often any of k comparisons shows a gap that is not there, after Holm's correction. First k independent "
        "comparisons of n pairs each, where all rates are equal, at the worst rate:",
        table(["k", *(f"n = {n}" for n in sizes)], rows),
        f"Then k models and one oracle on the same seeds, simulated. Some models are worse than the oracle by "
        f"{WORSE_BY:g}, the others equal it. {STUDIES} studies each, standard error at most "
        f"{standard_error(0.05, STUDIES):.4f}.",
        table(["k", "pairs", "oracle", "worse models", "false gap"], simulated),
    )


def _recipes(recipes: Group) -> str:
    rows = []
    for recipe, episodes in dict.fromkeys((one, other) for one, other, _ in recipes):
        found = {trainings: value for (*kind, trainings), value in recipes.items() if kind == [recipe, episodes]}
        rows.append([recipe, episodes, *(three(found[one]) for one in SHOWN_TRAININGS), three(min(found.values()))])
    return section(
        "## Training recipes",
        "How often the 95% interval of the gap of a training recipe covers it, by the number of trainings. The success "
        f"rates of trainings are normal around .5 and clipped to [0, 1], or they are {SOLVED:g} except for a share of "
        f"trainings that failed and solve nothing. The oracle's rate is {ORACLE:g}. Fewer than {MIN_TRAININGS} "
        f"trainings have no interval. Simulated {RUNS['recipe']} times for every number of trainings from "
        f"{min(TRAININGS)} to {max(TRAININGS)}; {_error('recipe')}.",
        table(["trainings", "episodes", *map(str, SHOWN_TRAININGS), "least of all"], rows),
    )


def _means(means: Group) -> str:
    rows = [
        [kind, decisions, *(three(means[kind, decisions, count]) for count in COUNTS)]
        for kind, decisions in dict.fromkeys((kind, decisions) for kind, decisions, _ in means)
    ]
    return section(
        "## Means",
        "How often Student's 95% interval of a mean covers it, over episodes of one value each, or of ten that are "
        "alike. Normal values have a bound. Skewed ones have none: a few values show little of a long tail, and the "
        f"interval covers less. Fewer than {MIN_VALUES} episodes have no interval. Simulated "
        f"{RUNS['mean']} times; {_error('mean')}.",
        table(["values", "per episode", *(f"{count} episodes" for count in COUNTS)], rows),
    )


def _middles(middles: Group) -> str:
    rows = [
        [kind, *(three(middles[kind, count]) for count in MIDDLE_COUNTS)]
        for kind in dict.fromkeys(kind for kind, _ in middles)
    ]
    return section(
        "## Interquartile means",
        "How often the 95% interval of an interquartile mean covers that of the distribution. Returns of episodes that "
        "fail are far below the others; if half of the episodes fail, the middle half of a few may hold one group "
        f"alone. Fewer than {MIN_MIDDLE} values have no interval, and fewer than {MIN_VALUES} no interquartile mean. "
        f"Simulated {RUNS['middle']} times; {_error('middle')}.",
        table(["values", *map(str, MIDDLE_COUNTS)], rows),
    )


def _percentiles(percentiles: Group) -> str:
    rows = [
        [f"p{percent}", episodes, kind, *(three(percentiles[kind, (percent, episodes), timed]) for timed in TIMED)]
        for (percent, episodes), kind in dict.fromkeys((percentile, kind) for kind, percentile, _ in percentiles)
    ]
    least = [
        f"{episodes_for_percentile(percent)} episodes for p{percent}"
        for percent in dict.fromkeys(percent for _, (percent, _), _ in percentiles)
    ]
    return section(
        "## Percentiles",
        "How often the 95% interval of a percentile of decision times covers it. Times are lognormal, and the "
        f"decisions of an episode are more or less alike. An interval needs {', '.join(least)}: fewer may all lie on "
        f"one side of the percentile. Simulated {RUNS['percentile']} times; {_error('percentile')}.",
        table(["percentile", "episodes", "times", *(f"{timed} per episode" for timed in TIMED)], rows),
    )


def _ratios(ratios: Group) -> str:
    rows = [
        [kind, "no" if kind in SKEWED else "yes", *(three(ratios[kind, one]) for one in CLUSTERS)]
        for kind in dict.fromkeys(kind for kind, _ in ratios)
    ]
    return section(
        "## Ratios and bounded numbers",
        "How often the 95% bootstrap interval of a ratio of sums covers it, by the number of clusters, such as "
        f"episodes. Fewer than {MIN_CLUSTERS} have no interval. Skewed values have no bound. "
        f"Simulated {RUNS['ratio']} times; {_error('ratio')}.",
        table(["values", "bound", *(f"{one} clusters" for one in CLUSTERS)], rows),
    )


def _improvements(improvements: Group) -> str:
    rows = [
        [kind, tasks, *(three(improvements[kind, tasks, pairs]) for pairs in PAIRS)]
        for kind, tasks in dict.fromkeys((kind, tasks) for kind, tasks, _ in improvements)
    ]
    return section(
        "## Probabilities of improvement",
        "How often the 95% interval of a probability of improvement covers it, over tasks that weigh the same. For one "
        "task it is the exact interval of pairs, halved, around .5; those of tasks are combined by the squares of "
        f"their distances. Fewer than {MIN_VALUES} pairs have no probability of improvement. Simulated "
        f"{RUNS['improvement']} times; {_error('improvement')}.",
        table(["probabilities", "tasks", *(f"{one} pairs each" for one in PAIRS)], rows),
    )


def _error(kind: str) -> str:
    return f"the standard error of a coverage of .90 is {standard_error(0.9, RUNS[kind]):.4f}"


def _intervals(intervals: Group) -> str:
    return section(
        "## Intervals of rates and of gaps",
        "The least coverage of 95% intervals: of one rate (Wilson, Clopper-Pearson), of the gap of independent arms, "
        f"and of the gap of pairs. Verdicts use the exact ones, which are computed for up to {MOST_EXACT} episodes "
        "here; the sections above enumerate their tests for more. The others are shown for comparison. Rates are "
        "hundredths from 0 to 1, both included. The probabilities that one arm alone solves a pair take "
        f"{len(DISCORDANT)} values between {DISCORDANT[0]:g} and {DISCORDANT[-1]:g} each, and values exactly {DELTA:g} "
        "apart. Newcombe's method 10 also looks at how the concordant pairs split into solved by both and by neither: "
        "here evenly, and its column holds for this case alone.",
        table(["n", *NAMES], (interval_row(n, intervals) for n in INTERVAL_SIZES)),
    )


def interval_row(n: int, intervals: Group) -> Row:
    return [n, *(three(intervals[name, n]) if (name, n) in intervals else "-" for name in NAMES)]


def _paper(paper: Group) -> str:
    labels = [label for label in BRANCHES if label is not Label.EQUIVALENT]
    return section(
        "## The rule of the CPG paper",
        "How often its labels are false, of n episodes per independent arm. Two of them rest on point estimates, and "
        "none has a bound here. It judges only where it is requested.",
        table(["n", *labels], ([n, *(three(found[label]) for label in labels)] for (n,), found in paper.items())),
    )
