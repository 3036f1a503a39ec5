from dataclasses import replace
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from tests.analysis.tables import table
from tests.conftest import examples, says
from wmel.analysis.compare import LEVEL, paired_deltas, smallest_drop
from wmel.contract.criterion import Stop
from wmel.errors import BadInput
from wmel.schema import Run
from wmel.stats.exact import PairedArms, difference_p, exact_interval
from wmel.stats.means import paired_t
from wmel.stats.paired import PairedCounts, holm, mcnemar_mid_p

OUTCOMES = some.lists(some.tuples(some.booleans(), some.booleans()), min_size=1, max_size=60)


def run_of(success, /, **changes) -> Run:
    """A run with these successes on the seeds 0, 1, ...; `columns` replaces columns, anything else fields."""
    columns = {"success": list(success)} | changes.pop("columns", {})
    plain = Run(
        environment_name="maze_toy",
        policy_name="cem",
        policy_reads="state",
        policy_settings={"model": "oracle", "execute": None},
        seeds=(0,),
        horizon=60,
        perturb_prob=0.0,
        perturbation=None,
        layout="S.G",
        init=None,
        success="distance<=0",
        stop=Stop.SUCCESS,
        latency_threads=1,
        versions={"numpy": "2.1"},
        table=table(**columns),
    )
    return replace(plain, **changes)


def delta_of(a: Run, b: Run):
    return paired_deltas({"task": a}, {"task": b}).tasks[0]


def test_counts_made_by_hand():
    """Of ten pairs both solve three, A alone four, B alone one, and two nobody."""
    a = [True] * 3 + [True] * 4 + [False] * 1 + [False] * 2
    b = [True] * 3 + [False] * 4 + [True] * 1 + [False] * 2
    delta = delta_of(run_of(a), run_of(b))
    assert delta.success.value == -0.3 and delta.pairs == 10
    assert (delta.outcomes.both, delta.outcomes.neither) == (3, 2)
    assert (delta.outcomes.learned_only, delta.outcomes.oracle_only) == (4, 1)
    assert (delta.success.low, delta.success.high) == tuple(exact_interval(PairedArms(10), 1, 4))
    assert delta.mid_p == pytest.approx(2 * (1 + 5 / 2) / 32)  # of five tosses at most one, half of the one itself


@examples(40)
@given(OUTCOMES)
def test_swapping_the_sides_flips_the_sign_and_the_interval(outcomes):
    a, b = (run_of(side) for side in zip(*outcomes, strict=True))
    there, back = delta_of(a, b), delta_of(b, a)
    assert there.success.value == -back.success.value
    assert there.success.low == pytest.approx(-back.success.high, abs=1e-9)
    assert there.success.high == pytest.approx(-back.success.low, abs=1e-9)
    assert there.mid_p == back.mid_p


@examples(40)
@given(some.lists(some.booleans(), min_size=1, max_size=40))
def test_a_run_against_itself_is_exactly_zero(success):
    count = len(success)
    run = run_of(success, columns={"return": np.linspace(0, 1, count)})
    delta = delta_of(run, run)
    assert delta.success.value == 0 and delta.mid_p == delta.mid_p_holm == 1 and delta.compared == ()
    assert not delta.is_shown and not any(delta.is_worse_by(bound) for bound in (0.001, 1))
    assert count < 2 or (delta.returns.value, delta.returns.low, delta.returns.high) == (0, None, None)


def test_episodes_are_paired_by_their_seeds_whatever_their_order():
    seeds = np.array([5, 3, 9, 1])
    a = run_of([True, False, True, True], columns={"episode_seed": seeds})
    b = run_of([True, True, True], columns={"episode_seed": [9, 4, 3]})
    delta = delta_of(a, b)
    assert (delta.pairs, delta.only_in_a, delta.only_in_b) == (2, (1, 5), (4,))
    assert delta.outcomes.oracle_only == 1 and delta.outcomes.both == 1  # seed 3 is new in B, seed 9 is in both


def test_returns_are_compared_where_both_sides_have_them():
    earned_a, earned_b = np.array([1.0, 2.0, np.nan, 4.0]), np.array([2.0, 4.0, 9.0, 3.0])
    a, b = (run_of([False] * 4, columns={"return": earned}) for earned in (earned_a, earned_b))
    assert delta_of(a, b).returns == paired_t([2.0, 4.0, 3.0], [1.0, 2.0, 4.0])
    assert "stop = horizon" in delta_of(run_of([True]), run_of([True])).returns.reason


def test_an_episode_that_broke_counts_as_a_failure_and_is_counted():
    a = run_of([True, True])
    b = run_of([False, True], columns={"error": ["Broken", ""]})
    delta = delta_of(a, b)
    assert delta.success.value == -0.5 and delta.errors == (0, 1)


def test_the_probability_of_improvement_counts_pairs_of_whole_episodes():
    """B returns more in two pairs, as much in one and less in two; the sixth pair broke: (2 + 1/2) / 5."""
    a, b = ([1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [2.0, 9.0, 1.0, 0.0, 0.9, np.nan])
    one, other = (run_of([False] * 6, columns={"return": earned}) for earned in (a, b))
    assert delta_of(one, other).improvement.value == 0.5 and delta_of(one, other).improvement.n == 5
    assert delta_of(other, one).improvement.value == 0.5
    bare = delta_of(run_of([True]), run_of([True])).improvement
    assert bare.value is None and bare.reason


def test_over_tasks_each_task_weighs_the_same_however_many_pairs_it_has():
    """B returns more in every pair of one task and less in every pair of the other."""

    def side(few, many):
        counts = {"few": (6, few), "many": (30, many), "none": (6, np.nan)}
        return {task: run_of([False] * n, columns={"return": [back] * n}) for task, (n, back) in counts.items()}

    found = paired_deltas(side(0.0, 1.0), side(1.0, 0.0)).improvement
    assert found.value == 0.5 and found.low < 0.5 < found.high and found.n == 36
    alone = paired_deltas({"few": side(0.0, 1.0)["few"]}, {"few": side(1.0, 0.0)["few"]})
    assert alone.improvement == alone.tasks[0].improvement and alone.improvement.value == 1
    assert not paired_deltas({"none": side(0, 0)["none"]}, {"none": side(0, 0)["none"]}).improvement.is_defined


def test_planners_that_differ_are_named_with_their_settings_and_those_of_one_name_with_what_differs():
    cem = {"name": "cem", "plan_horizon": 15, "candidates": 24, "knots": None}
    more, other = {**cem, "candidates": 48, "knots": 5}, {"name": "mppi", "plan_horizon": 15, "knots": None}
    runs = [run_of([True], policy_settings={"planner": planner}) for planner in (cem, more, other)]
    assert delta_of(runs[0], runs[1]).compared == ("planner: cem candidates=24 in A, cem candidates=48 knots=5 in B",)
    assert delta_of(runs[0], runs[2]).compared == (
        "planner: cem plan_horizon=15 candidates=24 in A, mppi plan_horizon=15 in B",
    )


def test_without_a_criterion_only_returns_are_compared():
    bare = {"judged": [False] * 3, "return": [1.0, 2.0, 4.0]}
    a = run_of([False] * 3, success=None, stop=Stop.HORIZON, columns=bare)
    b = run_of([False] * 3, success=None, stop=Stop.HORIZON, columns=bare | {"return": [2.0, 3.0, 5.0]})
    delta = delta_of(a, b)
    assert delta.success.value is None and delta.mid_p is None and delta.mid_p_holm is None
    assert delta.returns.value == 1.0 and not delta.is_worse_by(0.05)


def test_holm_corrects_over_the_tasks_that_are_judged():
    lost = {"one": 8, "two": 6, "three": 0}
    a = {task: run_of([True] * 20) for task in lost}
    b = {task: run_of([False] * count + [True] * (20 - count)) for task, count in lost.items()}
    bare = run_of([False] * 20, success=None, stop=Stop.HORIZON, columns={"judged": [False] * 20})
    deltas = paired_deltas(a | {"bare": bare}, b | {"bare": bare}).tasks
    expected = holm([mcnemar_mid_p(0, count) for count in lost.values()])
    assert [delta.mid_p_holm for delta in deltas] == [*expected.tolist(), None]
    exact = holm([difference_p(PairedArms(20), 0, count) for count in lost.values()])
    assert [delta.p_value_holm for delta in deltas] == [*exact.tolist(), None]


def test_a_drop_is_worse_when_it_is_shown_and_as_large_as_the_bound():
    shown = delta_of(run_of([True] * 20), run_of([False] * 6 + [True] * 14))
    assert shown.is_worse_by(0.3) and not shown.is_worse_by(0.31)
    chance = delta_of(run_of([True] * 20), run_of([False] * 3 + [True] * 17))
    assert chance.p_value_holm > LEVEL and not chance.is_worse_by(0.05)
    better = delta_of(run_of([False] * 20), run_of([True] * 20))
    assert better.is_shown and not better.is_worse_by(0.05)
    with pytest.raises(BadInput, match=r"in \(0, 1\]"):
        shown.is_worse_by(0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"environment_name": "two_room_toy"}, "environment is maze_toy ... two_room_toy"),
        ({"init": "fixed"}, "start is none in"),
        ({"success": "distance<=1"}, "success is distance<=0 ... distance<=1"),
        ({"stop": Stop.HORIZON}, "stop is success in"),
        ({"horizon": 40}, "horizon is 60 ... 40"),
        ({"perturbation": "drop-next-5"}, "perturbation is none ... drop-next-5"),
        ({"perturb_prob": 0.5}, "perturb_prob is 0.0 ... 0.5"),
        ({"layout": "S..G"}, "layout is S.G in"),
        ({"columns": {"episode_seed": [7, 8]}}, "0, 1 ... 7, 8"),
        ({"columns": {"episode_seed": [1, 1]}}, "appears twice"),
    ],
)
def test_what_is_not_the_same_task_is_refused_by_name_and_the_others_go_on(change, words):
    plain, changed = run_of([True, False]), run_of([True, False], **change)
    deltas = paired_deltas({"this": plain, "other": plain}, {"this": changed, "other": plain})
    assert says(deltas.refused["this"], words) and [delta.task for delta in deltas.tasks] == ["other"]
    with pytest.raises(BadInput, match="nothing to compare"):
        paired_deltas({"this": plain}, {"this": changed})


def test_tasks_of_one_side_are_listed():
    run = run_of([True])
    deltas = paired_deltas({"both": run, "old": run}, {"new": run, "both": run})
    assert (deltas.only_in_a, deltas.only_in_b) == (("old",), ("new",))
    with pytest.raises(BadInput, match="task in common; only"):
        paired_deltas({"old": run}, {"new": run})


def test_what_is_compared_is_stated():
    a = run_of([True])
    b = replace(a, policy_name="mppi", policy_settings={"model": "mlp", "weights": "abc"}, versions={"numpy": "2.2"})
    assert set(delta_of(a, b).compared) == {
        "policy: cem in A, mppi in B",
        "model: oracle in A, mlp in B",
        "weights: none in A, abc in B",
        "version of numpy: 2.1 in A, 2.2 in B",
    }


@pytest.mark.parametrize(
    ("outcomes", "tasks"),
    [(PairedCounts(20, 0, 2, 8), 1), (PairedCounts(20, 2, 5, 3), 1), (PairedCounts(30, 0, 0, 0), 5)],
)
def test_the_smallest_drop_is_the_first_whose_power_is_enough(outcomes, tasks):
    n, gained = int(outcomes.n), float(outcomes.oracle_only / outcomes.n)

    def power(drop):
        """The same by summing over every outcome of n pairs."""
        total, lost = 0.0, gained + drop
        for b, c in product(range(n + 1), range(n + 1)):
            if c < b and b + c <= n and tasks * difference_p(PairedArms(n), b, c) <= LEVEL:
                total += comb(n, b) * comb(n - b, c) * lost**b * gained**c * (1 - lost - gained) ** (n - b - c)
        return total

    found = smallest_drop(outcomes, tasks)
    assert found is not None and power(found) >= 0.8 > power(found - 0.01)


@pytest.mark.parametrize("outcomes", [PairedCounts(4, 0, 0, 0), PairedCounts(0, 0, 0, 50), PairedCounts(1, 0, 0, 49)])
def test_where_no_drop_could_be_shown_none_is_claimed(outcomes):
    assert smallest_drop(outcomes) is None
