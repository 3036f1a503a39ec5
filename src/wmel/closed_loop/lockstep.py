"""A block of episodes stepped together; those that finish leave the batch."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from wmel.arrays import Array, join_rows, put_rows, take_rows
from wmel.closed_loop import judge
from wmel.closed_loop.attribution import attributed
from wmel.closed_loop.checks import check_decision, check_states
from wmel.closed_loop.latency import DecisionSample
from wmel.contract.criterion import Criterion, Stop
from wmel.contract.environment import Environment
from wmel.contract.policy import Decision, Percept, Policy
from wmel.episodes import EpisodeTable, blank_columns
from wmel.randomness import Streams


@dataclass(frozen=True)
class Rules:
    """What is the same for every episode of a run."""

    environment: Environment
    policy: Policy
    criterion: Criterion
    stop: Stop
    max_steps: int


@dataclass(frozen=True, eq=False)
class Thought:
    """What the policy made of one step: its memory, and a decision for the rows that needed one."""

    memory: dict[str, Array] | None
    planning: np.ndarray  # [b] places of those rows among the rows thought about
    decision: Decision | None


class Lockstep:
    """The episodes of a block that are still running, one array row each; what they leave behind is in `columns`."""

    def __init__(
        self,
        rules: Rules,
        seeds: np.ndarray,
        first_episode: int,
        sample: DecisionSample,
        progress: Callable[[int], None],
    ):
        self.rules, self.sample, self.first_episode, self.progress = rules, sample, first_episode, progress
        self.columns = blank_columns(len(seeds))
        self.columns["episode_seed"][:] = seeds
        self.now = 0
        self.memory: dict[str, Array] | None = None
        actions, count = rules.environment.spec.actions, len(seeds)
        self.rows: dict[str, np.ndarray] = {
            "episode": np.arange(count),
            "last_action": np.zeros((count, actions.width), actions.dtype),
            "queue": np.zeros((count, 1, actions.width), actions.dtype),
            "length": np.zeros(count, np.int64),  # of the queue
            "place": np.zeros(count, np.int64),  # of the next action in it
            "streak": np.zeros(count, np.int64),  # steps in a row the criterion has held
            "return": np.full(count, np.nan),
        }

    def run(self) -> EpisodeTable:
        """Step until every episode has finished."""
        self._start()
        while len(self):
            self._think()
            self._move()
        return EpisodeTable(self.columns)

    def __len__(self) -> int:
        return len(self.rows["episode"])

    def _start(self) -> None:
        outcome = attributed(self._start_states, np.arange(len(self)))
        self._leave(outcome.errors)
        self._keep(outcome.rows)
        if outcome.pieces:
            quantities = join_rows([piece for _, piece in outcome.pieces])
            self.rows["state"] = quantities.pop("state")
            self.columns["pre_solved"][self.rows["episode"]] = judge.held(self.rules.criterion, quantities)

    def _start_states(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Start states, and the quantities of doing nothing there."""
        environment = self.rules.environment
        states = check_states(environment.reset(self.columns["episode_seed"][rows]), len(rows))
        idle, after = environment.spec.actions.idle(len(rows)), states
        if environment.spec.idle is not None:
            idle[:] = environment.spec.idle
            after = check_states(environment.step(states, idle), len(rows))
        return {"state": states, **environment.quantities(states, idle, after)}

    def _think(self) -> None:
        """Let the policy see this step, and decide where its last decision has been executed."""
        outcome = attributed(self._thought, np.arange(len(self)))
        ended, memories = dict(outcome.errors), []
        for rows, thought in outcome.pieces:
            memory, decision = thought.memory, thought.decision
            if decision is not None:
                deciding = rows[thought.planning]
                memory = put_rows(memory, thought.planning, decision.memory)
                ended |= {int(row): "" for row in deciding[decision.lengths == 0]}
                ended |= {int(deciding[row]): message for row, message in decision.errors.items()}
                self._enqueue(deciding, decision)
            memories.append(memory)
        self._leave(ended)
        if outcome.errors:
            self.rows = take_rows(self.rows, outcome.rows)
        self.memory = join_rows(memories) if memories else None
        if ended:
            self._keep(np.flatnonzero(~np.isin(outcome.rows, list(ended))))

    def _thought(self, rows: np.ndarray) -> Thought:
        percept, before = self._percept(rows), take_rows(self.memory, rows)
        memory = self.rules.policy.observe(percept, before)
        planning = np.flatnonzero(self.rows["place"][rows] >= self.rows["length"][rows])
        if not len(planning):
            return Thought(memory, planning, None)
        episodes = self.rows["episode"][rows[planning]]
        seen = percept.rows(planning)
        streams = Streams(self.columns["episode_seed"][episodes], self.columns["plan_calls"][episodes])
        decision = self.rules.policy.act(seen, take_rows(memory, planning), streams)
        check_decision(decision, self.rules.environment.spec.actions, len(planning))
        self.sample.offer(self.first_episode + episodes, seen, take_rows(before, planning), streams)
        return Thought(memory, planning, decision)

    def _percept(self, rows: np.ndarray) -> Percept:
        environment, states = self.rules.environment, self.rows["state"][rows]
        left = np.full(len(rows), self.rules.max_steps - self.now)
        percept = Percept(
            environment.observe(states), environment.goals(states), states, self.rows["last_action"][rows], left
        )
        return percept.visible_to(self.rules.policy.reads)

    def _enqueue(self, rows: np.ndarray, decision: Decision) -> None:
        count, room, width = self.rows["queue"].shape
        longest = decision.actions.shape[1]
        if longest > room:
            more = np.zeros((count, longest - room, width), self.rows["queue"].dtype)
            self.rows["queue"] = np.concatenate([self.rows["queue"], more], axis=1)
        self.rows["queue"][rows, :longest] = decision.actions
        self.rows["length"][rows] = decision.lengths
        self.rows["place"][rows] = 0
        episodes = self.rows["episode"][rows]
        self.columns["plan_calls"][episodes] += 1
        self.columns["model_steps"][episodes] += decision.model_steps

    def _move(self) -> None:
        """Execute the next action of every episode and see which have finished."""
        everyone = np.arange(len(self))
        actions = self.rows["queue"][everyone, self.rows["place"]]
        values = self.rules.environment.spec.actions.as_values(actions)
        outcome = attributed(lambda rows: self._next_states(rows, values[rows]), everyone)
        self._leave(outcome.errors)
        self._keep(outcome.rows)
        self.now += 1
        if outcome.pieces:
            quantities = join_rows([piece for _, piece in outcome.pieces])
            self.rows["state"] = quantities.pop("state")
            self.rows["last_action"] = actions[outcome.rows]
            self.rows["place"] = self.rows["place"] + 1
            self._judge(quantities)

    def _next_states(self, rows: np.ndarray, values: np.ndarray) -> dict[str, np.ndarray]:
        environment, states = self.rules.environment, self.rows["state"][rows]
        after = check_states(environment.step(states, values), len(rows))
        return {"state": after, **environment.quantities(states, values, after)}

    def _judge(self, quantities: dict[str, np.ndarray]) -> None:
        """Note successes and returns, and let the finished episodes leave."""
        criterion, is_last_step = self.rules.criterion, self.now == self.rules.max_steps
        if "reward" in quantities and self.rules.stop is Stop.HORIZON:
            self.rows["return"] = np.nan_to_num(self.rows["return"]) + quantities["reward"]
        held = judge.held(criterion, quantities)
        self.rows["streak"] = np.where(held, self.rows["streak"] + 1, 0)
        episodes = self.rows["episode"]
        new = judge.succeeded(criterion, self.rows["streak"], is_last_step) & ~self.columns["success"][episodes]
        self.columns["success"][episodes[new]] = True
        self.columns["first_success_step"][episodes[new]] = self.now
        ended = np.full(len(self), is_last_step) | (new & (self.rules.stop is Stop.SUCCESS))
        if ended.any():
            self._leave({int(row): "" for row in np.flatnonzero(ended)})
            self._keep(np.flatnonzero(~ended))

    def _leave(self, ended: dict[int, str]) -> None:
        """Write the rows of finished episodes, with what went wrong where something did."""
        if ended:
            self.progress(len(ended))
        for row, message in ended.items():
            episode = self.rows["episode"][row]
            self.columns["steps"][episode] = self.now
            self.columns["return"][episode] = np.nan if message else self.rows["return"][row]
            self.columns["error"][episode] = message
            if message:
                self.columns["success"][episode] = False
                self.columns["first_success_step"][episode] = -1

    def _keep(self, rows: np.ndarray) -> None:
        """Go on with these rows only."""
        if len(rows) < len(self):
            self.rows = take_rows(self.rows, rows)
            self.memory = take_rows(self.memory, rows)
