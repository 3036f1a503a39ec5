import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from tests.analysis.tables import table
from tests.closed_loop.worlds import Countdown, Scripted
from wmel import BenchmarkRunner, catalog
from wmel.analysis.scorecard import rescore
from wmel.contract.criterion import Criterion, Stop, is_met, is_success
from wmel.contract.policy import Decision
from wmel.errors import BadInput
from wmel.schema import OUTCOMES

HORIZON = 40
UNKNOWN = ("pre_solved", "unperturbed_success")
CRITERIA = (
    "reward>=0.998",
    "reward<=0.8",
    "reward>=0.93@at_end",
    "reward<=0.9@at_end",
    "reward>=0.9@sustained:5",
    "reward<=0.87@sustained:2",
    "reward>=0@sustained:40",
    "reward>=0@sustained:41",
)


@pytest.fixture(scope="module")
def balance():
    """Random actions on a pole that starts upright, by criterion."""
    pytest.importorskip("dm_control")
    world = catalog.environment("dmc:cartpole-balance")
    policy = catalog.policy("random", world)

    def run(criterion, stop="horizon", **settings):
        chosen = None if criterion is None else Criterion.parse(criterion)
        runner = BenchmarkRunner(
            world, policy, 12, HORIZON, seed=3, criterion=chosen, stop=stop, timed_decisions=0, **settings
        )
        return runner.run()

    return run


@pytest.fixture(scope="module")
def struck(balance):
    """The same with a perturbation in half the episodes: one run for each criterion, and one without."""
    settings = {"perturb_prob": 0.5, "perturbation": catalog.perturbation("drop-next-5")}
    return {criterion: balance(criterion, **settings) for criterion in (None, *CRITERIA)}


def again(run, criterion):
    return rescore(run.table, Criterion.parse(criterion), horizon=run.horizon, stop=run.stop)


def assert_same_rows(one, other):
    for name in set(OUTCOMES) - {*UNKNOWN, "rewards"}:
        assert np.array_equal(one[name], other[name], equal_nan=one[name].dtype.kind == "f"), name
    for mine, theirs in zip(one["rewards"], other["rewards"], strict=True):
        assert np.array_equal(mine, theirs)


@pytest.mark.parametrize("before", [None, *CRITERIA])
@pytest.mark.parametrize("after", CRITERIA)
def test_scoring_again_gives_the_rows_of_running_again(struck, before, after):
    assert_same_rows(again(struck[before], after), struck[after].table)


def test_the_criteria_of_these_tests_tell_episodes_apart(struck):
    shares = [struck[criterion].table["success"].mean() for criterion in CRITERIA]
    assert sum(0 < share < 1 for share in shares) >= 6 and {0, 1} <= set(shares)


def test_what_the_rewards_cannot_tell_is_said_to_be_unknown(struck):
    before, after = struck["reward<=0.8"].table, again(struck["reward<=0.8"], "reward>=0.9")
    assert np.isfinite(before["unperturbed_success"]).any() and np.isnan(after["unperturbed_success"]).all()
    assert not after["pre_solved"].any() and after["judged"].all()


def test_the_stored_table_is_left_as_it_was(struck):
    run = struck[None]
    again(run, "reward>=0")
    assert not run.table["judged"].any() and not run.table["success"].any()


def test_a_looser_criterion_is_known_where_episodes_stopped_at_a_stricter_one(balance):
    stopped, whole = balance("reward<=0.85", stop="success"), balance("reward<=0.9").table
    assert (stopped.table["steps"] < HORIZON).any()
    looser = again(stopped, "reward<=0.9")
    for name in ("success", "first_success_step"):
        assert np.array_equal(looser[name], whole[name])
    assert np.array_equal(looser["steps"], stopped.table["steps"])


@pytest.mark.parametrize("stricter", ["reward<=0.7", "reward<=0.85@at_end", "reward<=0.85@sustained:3"])
def test_what_episodes_that_stopped_early_do_not_establish_is_refused(balance, stricter):
    stopped = balance("reward<=0.85", stop="success")
    early = int((stopped.table["steps"] < HORIZON).sum())
    with pytest.raises(BadInput, match=rf"for {early} of 12 episodes.*stop = horizon"):
        again(stopped, stricter)


@given(
    rewards=some.lists(some.sampled_from([0.0, 0.5, 1.0, np.nan]), min_size=1, max_size=12),
    criterion=some.sampled_from(["reward>=0.5", "reward<=0.5", "reward>=0.5@at_end"])
    | some.integers(1, 13).map("reward>=0.5@sustained:{}".format),
)
def test_an_episode_is_judged_as_the_loop_judges_it(rewards, criterion):
    parsed, streak, first = Criterion.parse(criterion), np.zeros(1, int), -1
    for step, reward in enumerate(rewards, start=1):
        streak = np.where(is_met(parsed, {"reward": np.array([reward])}), streak + 1, 0)
        if first < 0 and is_success(parsed, streak, step == len(rewards))[0]:
            first = step
    stored = table(steps=[len(rewards)], rewards=[np.array(rewards)])
    scored = rescore(stored, parsed, horizon=len(rewards), stop=Stop.HORIZON)
    assert scored["first_success_step"][0] == first and scored["success"][0] == (first > 0)


def test_an_episode_that_broke_stays_a_failure_and_needs_no_rewards():
    stored = table(steps=[3, 2, 0], error=["", "Broken", "Broken"], rewards=[np.ones(3), np.ones(2), None])
    scored = rescore(stored, Criterion("reward", at_least=1), horizon=3, stop=Stop.HORIZON)
    assert scored["success"].tolist() == [True, False, False]
    assert scored["first_success_step"].tolist() == [1, -1, -1]


@pytest.mark.parametrize("criterion", ["reward>=1", "reward>=1@at_end", "reward>=2"])
def test_an_episode_that_was_given_up_stays_a_failure(criterion):
    def decide(percept, streams):
        lengths = (percept.steps_left > 15).astype(int)  # the last steps are given up
        return Decision(np.zeros((len(percept), 1, 1), np.int32), lengths, None, lengths)

    def run(text):
        world, chosen = Countdown(reward=True), Criterion.parse(text)
        return BenchmarkRunner(world, Scripted(decide), 4, 20, seed=0, criterion=chosen, stop="horizon").run()

    assert (run(criterion).table["steps"] == 5).all()
    assert_same_rows(again(run("left<=0"), criterion), run(criterion).table)


@pytest.mark.parametrize(
    ("columns", "criterion", "words"),
    [
        ({}, "distance<=0", "is stored, not 'distance'"),
        ({"rewards": [np.ones(4), None]}, "reward>=1", "1 of 2 episodes"),
        ({"rewards": [np.ones(4), np.ones(3)]}, "reward>=1", "one reward for each"),
        ({"steps": [4, 5]}, "reward>=1", "5 steps, which.*4"),
        ({"steps": [4, 2], "success": [False, True]}, "reward>=1", "not run with stop = horizon"),
    ],
)
def test_what_cannot_be_scored_again_is_refused_with_the_reason(columns, criterion, words):
    stored = table(**{"steps": [4, 4], "rewards": [np.ones(4), np.ones(4)]} | columns)
    with pytest.raises(BadInput, match=words):
        rescore(stored, Criterion.parse(criterion), horizon=4, stop=Stop.HORIZON)
