"""The arms of a comparison, run on the same seeds: once for all episodes, or in rounds until the gap decides."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from wmel.analysis.arms import Arms
from wmel.analysis.coverage import Coverage, coverage, has_axis
from wmel.analysis.labels import Label
from wmel.closed_loop.benchmark_runner import BenchmarkRunner
from wmel.closed_loop.record import Trajectories
from wmel.contract.policy import Policy
from wmel.contract.run import Run
from wmel.episodes import stacked
from wmel.errors import BadInput

ROUND = 10  # pairs between two looks
DECIDED = (
    Label.MODEL_BOTTLENECK,
    Label.LEARNED_OUTPERFORMS,
    Label.EQUIVALENT_ONLY,
    Label.INCONCLUSIVE_FUTILE,
)


@dataclass(frozen=True, eq=False)
class Comparison:
    """One setting, and the policy of each arm: the same planner on the oracle, on each model, and random actions."""

    setting: BenchmarkRunner  # its policy is not used
    oracle: Policy
    learned: Mapping[str, Policy]
    floor: Policy

    def __post_init__(self):
        for name, policy in self.learned.items():
            for setting in ("planner", "objective", "execute"):
                wanted, found = (one.settings.get(setting) for one in (self.oracle, policy))
                if wanted != found:
                    raise BadInput(
                        f"{name} differs from the oracle's arm in more than its model: its {setting} is {found}, there "
                        f"it is {wanted}"
                    )

    def run(
        self,
        progress: Callable[[float], None] = lambda finished: None,
        keep: Callable[[str, Run], None] = lambda name, run: None,
    ) -> Arms:
        """Every arm on every episode; `keep` is handed each as it finishes."""
        runs, visited = {}, {}
        for name, policy in self._arms.items():
            runs[name] = self._run(replace(self.setting, policy=policy), progress, visited.setdefault(name, []))
            keep(name, runs[name])
        return self._so_far(runs, visited)

    def run_until_decided(
        self,
        cap: int,
        progress: Callable[[float], None] = lambda finished: None,
        keep: Callable[[str, Run], None] = lambda name, run: None,
    ) -> Arms:
        """Rounds of pairs of one seed, up to `cap`; a model whose gap is decided, or given up, runs no further."""
        if not isinstance(self.setting.seed, int):
            raise BadInput(f"a run that may stop early takes its episodes from one seed, got {self.setting.seed!r}")
        runs, visited = {}, {}
        undecided, done = dict(self.learned), 0
        while undecided and done < cap:
            pairs = min(ROUND, cap - done)
            for name, policy in {"oracle": self.oracle, **undecided, "random": self.floor}.items():
                rounds = replace(self.setting, policy=policy, episodes=pairs, first_episode=done)
                more = self._run(rounds, progress, visited.setdefault(name, []))
                runs[name] = _joined(runs[name], more) if name in runs else more
                keep(name, runs[name])
            done += pairs
            arms = self._so_far(runs, {}, cap)
            undecided = {name: one for name, one in undecided.items() if arms.verdict(name).label not in DECIDED}
        return self._so_far(runs, visited, cap)

    def _so_far(self, runs: dict[str, Run], visited: dict[str, list[np.ndarray]], cap: int | None = None) -> Arms:
        learned, seen = {name: runs[name] for name in self.learned}, self._coverage(visited)
        return Arms(runs["oracle"], learned, runs["random"], seen, cap)

    @property
    def _arms(self) -> dict[str, Policy]:
        return {"oracle": self.oracle, **self.learned, "random": self.floor}

    def _run(self, runner: BenchmarkRunner, progress: Callable[[float], None], visited: list[np.ndarray]) -> Run:
        """A run whose states are added to those visited."""
        steps = Trajectories()
        run = runner.run(progress, steps)
        visited += steps.next_states
        return run

    def _coverage(self, visited: dict[str, list[np.ndarray]]) -> dict[str, Coverage | None]:
        world = self.setting.environment
        if not has_axis(world.spec.observation):
            return {}
        return {
            name: coverage(world.spec.observation, world.observe(np.concatenate(states)))
            for name, states in visited.items()
            if states
        }


def _joined(run: Run, more: Run) -> Run:
    """A run and its next round as one."""
    return replace(run, table=stacked([run.table, more.table]))
