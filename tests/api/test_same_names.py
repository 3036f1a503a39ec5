"""Live parts that have the same name run as the parts that they are, and cells and labels tell them apart."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import wmel
from tests.experiments.still import dynamics
from tests.experiments.swept_parts import Lengths, Near, Room
from wmel.contract.policy import Decision
from wmel.errors import BadInput
from wmel.perturbations import NoEffect

ROOM = Room(4)  # three steps to the right
RIGHT = next(place for place, name in enumerate(ROOM.spec.actions.names) if name == "right")
SHOOTING = {"name": "random-shooting", "candidates": 64, "plan_horizon": 3}


class Counted:
    """A planner that counts its calls."""

    warm_start, name = False, "counted"

    def __init__(self, draws: int = 3):
        self._planner, self._calls = wmel.RandomShooting(candidates=draws, plan_horizon=3), []
        self.plan_horizon, self.evaluations = 3, draws

    def plan(self, problem, previous):
        self._calls.append(1)
        return self._planner.plan(problem, previous)


@dataclass(frozen=True)
class Marches:
    """A policy that always goes one way."""

    action: int
    name: str = "marches"
    reads: str = "observation"
    compute_per_plan_call: int | None = None
    settings = {}  # noqa: RUF012

    def observe(self, percept, memory):
        return None

    def act(self, percept, memory, streams):
        steps = int(percept.steps_left.max())
        actions = np.full((len(percept), steps, 1), self.action, ROOM.spec.actions.dtype)
        return Decision(actions, percept.steps_left, None, np.zeros(len(percept), np.int64))


@dataclass(frozen=True)
class Back(NoEffect):
    """Back to the start, or not."""

    is_on: bool
    name: str = "back"
    window: int | None = 1

    def strike(self, environment, pending, streams):
        return replace(pending, states=environment.reset(streams.episode_seeds)) if self.is_on else pending


def run_study(tmp_path, **lists):
    study = {"name": "same", "episodes": 2, "horizon": 3, "floor": False, "environments": [ROOM], **lists}
    return wmel.study(study, output=tmp_path / "store", quiet=True)


def test_both_planners_plan(tmp_path):
    planners = [Counted(3), Counted(4)]
    result = run_study(tmp_path, planners=planners)
    assert all(one._calls for one in planners)
    assert sorted(set(result.episodes["declared_compute"])) == [9.0, 12.0]
    assert result.episodes["cell"].n_unique() == 2


@pytest.mark.parametrize(
    "lists",
    [
        {"environments": [ROOM, Room(6)], "policies": [Marches(RIGHT)]},
        {"policies": [Marches(RIGHT), Marches(1 - RIGHT)]},
        {"policies": [Marches(RIGHT)], "perturbations": [Back(False), Back(True)]},
        {"planners": [SHOOTING], "objectives": [Near(ROOM, 1.0), Near(ROOM, -1.0)]},
    ],
    ids=["environments", "policies", "perturbations", "objectives"],
)
def test_the_first_of_two_parts_of_one_name_succeeds_and_the_second_fails(tmp_path, lists):
    episodes = run_study(tmp_path, **lists).episodes
    found = {("-2" in cell, success) for cell, success in episodes[["cell", "success"]].rows()}
    assert found == {(False, True), (True, False)}


def test_both_diagnostics_are_read(tmp_path):
    result = run_study(tmp_path, diagnostics=[Lengths(2.0), Lengths(3.0)])
    lengths = {one.diagnostic["name"]: one.values["length"].value for one in result.record.readings}
    assert lengths == {"Lengths": 40.0, "Lengths-2": 60.0}


def test_a_model_may_have_the_name_of_the_planner():
    result = wmel.cpg("maze_toy", {"counted": dynamics}, planner=Counted(), episodes=1, horizon=2, quiet=True)
    assert result.exit_code == 0 and result.models["counted"] is dynamics


def test_the_same_part_given_twice_is_one(tmp_path):
    planner = Counted()
    for planners in ([planner, planner], [planner, Counted()]):
        with pytest.raises(BadInput, match=r"the same|planners\[0\]"):
            run_study(tmp_path, planners=planners)


def test_a_setting_of_the_policy_of_a_live_model_is_swept(tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("dm_control")
    from tests.models.tdmpc2.untrained import untrained_checkpoint
    from wmel.training.checkpoints import restore

    cartpole = wmel.environment("dmc:cartpole-swingup")
    model = restore(untrained_checkpoint(tmp_path / "model", cartpole), cartpole)
    sweep = {"policy.iterations": [1, 2]}
    small = {"candidates": 32, "elites": 2, "plan_horizon": 1, "criterion": "reward>=0.6"}
    how = {"model": {"own": model}, "episodes": 1, "horizon": 2, "quiet": True, **small}
    result = wmel.sweep(cartpole, "native", sweep=sweep, **how)
    assert [row["iterations"] for row in result.rows] == [1, 2]


@pytest.mark.parametrize("is_live_first", [True, False])
@pytest.mark.parametrize("other", ["maze_toy", {"name": "maze_toy"}, wmel.environment("maze_toy")])
def test_a_live_environment_and_one_of_the_catalogue_have_labels_of_their_own(tmp_path, other, is_live_first):
    """The room is won in three steps, the maze in no fewer than 14."""
    live = Room(4)
    object.__setattr__(live, "spec", replace(live.spec, name="maze_toy"))
    environments = [live, other] if is_live_first else [other, live]
    result = run_study(tmp_path, environments=environments, policies=[Marches(RIGHT)])
    assert set(result.episodes[["environment", "success"]].rows()) == {("maze_toy-2", True), ("maze_toy", False)}
