"""A block of episodes stepped together; those that finish leave the batch."""

from collections.abc import Callable

import numpy as np

from wmel.arrays import Array, copy_memory, join_rows, put_rows, take_rows, write_rows
from wmel.closed_loop.latency import DecisionSample
from wmel.closed_loop.steps import (
    Earnings,
    Reached,
    Rules,
    Thought,
    attributed,
    check_memory,
    check_pending_step,
    check_quantities,
    check_rows,
    checked_decision,
    seen_through,
    strike_steps,
)
from wmel.closed_loop.trajectories import Trajectories
from wmel.contract.criterion import Stop, is_met, is_success
from wmel.contract.perturbation import Delivery, PendingStep, Perturbation
from wmel.contract.policy import Decision, Percept
from wmel.perturbations.window import perturb_actions, perturb_step, rows_in_window
from wmel.randomness import Streams
from wmel.schema import EpisodeTable, blank_columns


class Lockstep:
    """The arrays of a block, one row per episode; `running` are the rows still in the batch."""

    def __init__(
        self,
        rules: Rules,
        seeds: np.ndarray,
        first_episode: int,
        sample: DecisionSample,
        progress: Callable[[float], None],
        record: Trajectories | None = None,
    ):
        self.rules, self.sample, self.first_episode, self.progress = rules, sample, first_episode, progress
        self.record = record
        actions, count = rules.environment.spec.actions, len(seeds)
        self.now, self.running = 0, np.arange(count)
        self.columns = blank_columns(count)
        self.columns["episode_seed"][:] = seeds
        self.columns["judged"][:] = rules.criterion is not None
        self.earnings = Earnings(count)
        self.states = np.empty((count, 0))
        self.memory: dict[str, Array] | None = None
        self.before: dict[str, Array] | None = None  # the memory as this step found it
        self.last_action = np.zeros((count, actions.width), actions.dtype)
        self.queue = np.zeros((count, 1, actions.width), actions.dtype)
        self.length, self.place = np.zeros(count, np.int64), np.zeros(count, np.int64)  # of the queue; of what is next
        self.streak = np.zeros(count, np.int64)  # steps in a row the criterion has held
        self.strike_step = strike_steps(rules.disturbance, seeds, rules.max_steps)
        self.carried: dict[str, np.ndarray] = {}
        if rules.disturbance is not None:
            self.carried = rules.disturbance.perturbation.carry(rules.environment, count)

    def run(self) -> EpisodeTable:
        """Step until every episode has finished."""
        self._start()
        while len(self.running):
            self.before = self.memory
            if self.rules.disturbance is not None:
                self.before = copy_memory(self.memory)
                due = rows_in_window(self.rules.disturbance.perturbation, self._since(self.running))
                self.columns["perturbed"][self.running[due]] = True
            self._think(self.running)
            if self.rules.disturbance is not None:
                self._strike(self.rules.disturbance.perturbation)
            self._move()
        return EpisodeTable(self.columns)

    def _start(self) -> None:
        outcome = attributed(self._start_states, self.running)
        self._leave(outcome.errors)
        if outcome.pieces:
            states = np.concatenate([start.states for _, start in outcome.pieces])
            self.states = np.zeros((len(self.length), states.shape[1]), states.dtype)
            self.states[outcome.rows] = states
            quantities = join_rows([start.quantities for _, start in outcome.pieces])
            if self.rules.criterion is not None:
                self.columns["pre_solved"][outcome.rows] = is_met(self.rules.criterion, quantities)

    def _start_states(self, rows: np.ndarray) -> Reached:
        """Start states, and the quantities of doing nothing there."""
        environment = self.rules.environment
        states = check_rows(environment.reset(self.columns["episode_seed"][rows]), len(rows), "states")
        idle, after = environment.spec.actions.idle(len(rows)), states
        if environment.spec.idle is not None:
            idle[:] = environment.spec.actions.as_values(np.asarray(environment.spec.idle))
            after = check_rows(environment.step(states, idle), len(rows), "states")
        return Reached(states, check_quantities(environment.quantities(states, idle, after), len(rows)))

    def _think(self, rows: np.ndarray) -> None:
        """Let the policy see this step, and decide where its last decision has been executed."""
        outcome = attributed(self._thought, rows)
        ended = dict(outcome.errors)
        for seen, thought in outcome.pieces:
            memory, decision = thought.memory, thought.decision
            if decision is not None:
                deciding = seen[thought.planning]
                memory = put_rows(memory, thought.planning, decision.memory)
                ended |= {int(row): "" for row in deciding[decision.lengths == 0]}
                self._fail(deciding[decision.lengths == 0])
                ended |= {int(deciding[row]): message for row, message in decision.errors.items()}
                self._enqueue(deciding, decision)
            self.memory = write_rows(self.memory, len(self.length), seen, memory)
        self._leave(ended)

    def _thought(self, rows: np.ndarray) -> Thought:
        percept, before = self._percept(rows), take_rows(self.before, rows)
        memory = check_memory(self.rules.policy.observe(percept, before), len(rows))
        planning = np.flatnonzero(self.place[rows] >= self.length[rows])
        if not len(planning):
            return Thought(memory, planning, None)
        deciding, seen = rows[planning], percept.rows(planning)
        streams = Streams(self.columns["episode_seed"][deciding], self.columns["plan_calls"][deciding])
        observed = take_rows(memory, planning)
        made = self.rules.policy.act(seen, observed, streams)
        decision = checked_decision(made, self.rules.environment.spec.actions, len(planning), observed)
        self.sample.offer(self.first_episode + deciding, seen, take_rows(before, planning), streams)
        return Thought(memory, planning, decision)

    def _percept(self, rows: np.ndarray) -> Percept:
        environment, states = self.rules.environment, self.states[rows]
        if self.rules.disturbance is None:
            observations = environment.observe(states)
        else:
            observations, states = seen_through(
                self.rules.disturbance.perturbation, environment, states, self._since(rows), self._streams(rows)
            )
        left = np.full(len(rows), self.rules.max_steps - self.now)
        percept = Percept(
            check_rows(observations, len(rows), "observations"),
            check_rows(environment.goals(states), len(rows), "goals"),
            states,
            self.last_action[rows],
            left,
        )
        return percept.visible_to(self.rules.policy.reads)

    def _enqueue(self, rows: np.ndarray, decision: Decision) -> None:
        self._write_queue(rows, decision.actions, decision.lengths)
        self.columns["plan_calls"][rows] += 1
        self.columns["model_steps"][rows] += decision.model_steps

    def _write_queue(self, rows: np.ndarray, actions: np.ndarray, lengths: np.ndarray) -> None:
        count, room, width = self.queue.shape
        longest = actions.shape[1]
        if longest > room:
            self.queue = np.concatenate(
                [self.queue, np.zeros((count, longest - room, width), self.queue.dtype)], axis=1
            )
        self.queue[rows, :longest] = actions
        self.length[rows], self.place[rows] = lengths, 0

    def _strike(self, perturbation: Perturbation) -> None:
        """Let the perturbation happen where it is due; a row whose queue it empties decides again in this step."""
        due = self.running[rows_in_window(perturbation, self._since(self.running))]
        if not len(due):
            return
        outcome = attributed(self._struck, due)
        for rows, moment in outcome.pieces:
            self.states[rows] = moment.states
            self._write_queue(rows, moment.queue, moment.lengths)
        self._leave(outcome.errors)
        emptied = self.running[self.place[self.running] >= self.length[self.running]]
        if len(emptied):
            self._think(emptied)

    def _struck(self, rows: np.ndarray) -> PendingStep:
        assert self.rules.disturbance is not None
        steps = self.place[rows, None] + np.arange(self.queue.shape[1])
        queue = self.queue[rows[:, None], steps.clip(max=self.queue.shape[1] - 1)]
        left = self.length[rows] - self.place[rows]
        moment = PendingStep(self.states[rows], queue, left, self.last_action[rows], self._since(rows))
        environment, perturbation = self.rules.environment, self.rules.disturbance.perturbation
        after = perturb_step(perturbation, environment, moment, self._streams(rows))
        return check_pending_step(after, environment.spec.actions, len(rows))

    def _since(self, rows: np.ndarray) -> np.ndarray:
        """Steps since each row's perturbation; negative before it."""
        return self.now - self.strike_step[rows]

    def _streams(self, rows: np.ndarray) -> Streams:
        return Streams(self.columns["episode_seed"][rows], np.full(len(rows), self.now))

    def _move(self) -> None:
        """Execute the next action of every episode and see which have finished."""
        if not len(self.running):
            return
        actions = self._delivered(self.queue[self.running, self.place[self.running]])
        values = self.rules.environment.spec.actions.as_values(actions)
        places = np.arange(len(self.running))
        outcome = attributed(lambda some: self._next_states(self.running[some], values[some]), places)
        moved = self.running[outcome.rows]
        self._leave({int(self.running[place]): message for place, message in outcome.errors.items()})
        self.now += 1
        self.progress(len(moved) / self.rules.max_steps)
        if outcome.pieces:
            states = np.concatenate([after.states for _, after in outcome.pieces])
            if self.record is not None:
                self.record.add(self.first_episode + moved, values[outcome.rows], self.states[moved], states)
            self.states[moved] = states
            self.last_action[moved] = actions[outcome.rows]
            self.place[moved] += 1
            self._judge(join_rows([after.quantities for _, after in outcome.pieces]))

    def _delivered(self, actions: np.ndarray) -> np.ndarray:
        """The actions of the running rows as they arrive."""
        if self.rules.disturbance is None:
            return actions
        carried = {name: array[self.running] for name, array in self.carried.items()}
        delivery = Delivery(actions, self._since(self.running), carried)
        after = perturb_actions(self.rules.disturbance.perturbation, self.rules.environment, delivery)
        for name, array in after.carried.items():
            self.carried[name][self.running] = array
        return after.actions.astype(actions.dtype)

    def _next_states(self, rows: np.ndarray, values: np.ndarray) -> Reached:
        environment, states = self.rules.environment, self.states[rows]
        after = check_rows(environment.step(states, values), len(rows), "states")
        return Reached(after, check_quantities(environment.quantities(states, values, after), len(rows)))

    def _judge(self, quantities: dict[str, np.ndarray]) -> None:
        """Note successes and returns of the running rows, and let the finished ones leave."""
        rows, criterion, is_last_step = self.running, self.rules.criterion, self.now == self.rules.max_steps
        if "reward" in quantities:
            self.earnings.add(rows, self.now, quantities["reward"])
        new = rows[:0]
        if criterion is not None:
            self.streak[rows] = np.where(is_met(criterion, quantities), self.streak[rows] + 1, 0)
            new = rows[is_success(criterion, self.streak[rows], is_last_step) & ~self.columns["success"][rows]]
        self.columns["success"][new] = True
        self.columns["first_success_step"][new] = self.now
        ended = rows if is_last_step else new if self.rules.stop is Stop.SUCCESS else rows[:0]
        self._leave({int(row): "" for row in ended})

    def _leave(self, ended: dict[int, str]) -> None:
        """Close the rows of finished episodes, with what went wrong where something did."""
        if not ended:
            return
        self.progress(len(ended) * (1 - self.now / self.rules.max_steps))
        rows = np.array(list(ended))
        whole = self.rules.stop is Stop.HORIZON and self.now == self.rules.max_steps
        self.earnings.close(self.columns, rows, self.now, whole=whole)
        self.columns["steps"][rows] = self.now
        self.columns["error"][rows] = list(ended.values())
        self._fail(rows[[bool(message) for message in ended.values()]])
        self.running = self.running[~np.isin(self.running, rows)]

    def _fail(self, rows: np.ndarray) -> None:
        """Episodes that broke or gave up did not succeed, and what they had earned is no return of a whole episode."""
        self.columns["success"][rows] = False
        self.columns["first_success_step"][rows] = -1
        self.columns["return"][rows] = np.nan
