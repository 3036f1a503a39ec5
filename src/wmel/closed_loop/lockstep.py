"""A block of episodes that step together. Finished episodes leave the batch."""

from collections.abc import Callable

import numpy as np

from wmel.arrays import Array, copy_memory, put_rows, take_rows, write_rows
from wmel.closed_loop.steps import (
    BatchOutcome,
    DecisionSample,
    PolicyOutput,
    Result,
    RewardBuffer,
    Rules,
    StepResult,
    attribute_errors,
    check_decision,
    check_memory,
    check_pending_step,
    check_quantities,
    check_rows,
    find_not_finite,
    join_results,
    perceive,
    schedule_perturbations,
)
from wmel.closed_loop.trajectories import Trajectories
from wmel.contract.criterion import Stop, is_met, is_success
from wmel.contract.perturbation import Delivery, PendingStep, Perturbation
from wmel.contract.policy import Decision, Percept
from wmel.perturbations import perturb_actions, perturb_step, rows_in_window
from wmel.randomness import Streams
from wmel.schema import EpisodeTable, blank_columns


class Lockstep:
    """The state of a block, one row per episode. `running` holds the rows of unfinished episodes."""

    def __init__(
        self,
        rules: Rules,
        seeds: np.ndarray,
        first_episode: int,
        sample: DecisionSample,
        progress: Callable[[float], None],
        record: Trajectories | None = None,
        places: dict[str, str] | None = None,
    ):
        self.rules, self.sample, self.first_episode, self.progress = rules, sample, first_episode, progress
        self.record = record
        self.places = {} if places is None else places  # error -> the line of the user's code that raised it
        actions, count = rules.environment.spec.actions, len(seeds)
        self.now, self.running = 0, np.arange(count)
        self.columns = blank_columns(count)
        self.columns["episode_seed"][:] = seeds
        self.columns["judged"][:] = rules.criterion is not None
        self.reward_buffer = RewardBuffer(count)
        self.states = np.empty((count, 0))
        self.memory: dict[str, Array] | None = None
        self.before: dict[str, Array] | None = None  # the memory at the start of this step
        self.last_action = np.zeros((count, actions.width), actions.dtype)
        self.queue = np.zeros((count, 1, actions.width), actions.dtype)
        self.length = np.zeros(count, np.int64)  # of the queue
        self.position = np.zeros(count, np.int64)  # of the next action in the queue
        self.streak = np.zeros(count, np.int64)  # consecutive steps in which the criterion holds
        self.perturbed_at = schedule_perturbations(rules.disturbance, seeds, rules.max_steps)
        self.carried: dict[str, np.ndarray] = {}
        if rules.disturbance is not None:
            self.carried = rules.disturbance.perturbation.carry(rules.environment, count)

    def run(self) -> EpisodeTable:
        """Runs every episode to its end."""
        self._start()
        while len(self.running):
            self.before = self.memory
            if self.rules.disturbance is not None:
                self.before = copy_memory(self.memory)
                active = rows_in_window(self.rules.disturbance.perturbation, self._steps_since(self.running))
                self.columns["perturbed"][self.running[active]] = True
            self._query_policy(self.running)
            if self.rules.disturbance is not None:
                self._apply_perturbation(self.rules.disturbance.perturbation)
            self._execute_step()
        return EpisodeTable(self.columns)

    def _attribute(self, call: Callable[[np.ndarray], Result], rows: np.ndarray) -> BatchOutcome[Result]:
        """The outcome of a batched call; the places of its errors are recorded."""
        outcome = attribute_errors(call, rows)
        self.places.update(outcome.places)
        return outcome

    def _start(self) -> None:
        outcome = self._attribute(self._start_states, self.running)
        start = join_results([result for _, result in outcome.pieces])
        broken = {} if start is None else find_not_finite(start)
        self._finish(outcome.errors | {int(outcome.rows[row]): message for row, message in broken.items()})
        if start is not None:
            self.states = np.zeros((len(self.length), start.states.shape[1]), start.states.dtype)
            self.states[outcome.rows] = start.states
            if self.rules.criterion is not None:
                self.columns["pre_solved"][outcome.rows] = is_met(self.rules.criterion, start.quantities)

    def _start_states(self, rows: np.ndarray) -> StepResult:
        """Start states, and the quantities of an idle step from them."""
        environment = self.rules.environment
        states = check_rows(environment.reset(self.columns["episode_seed"][rows]), len(rows), "states")
        idle, after = environment.spec.actions.idle(len(rows)), states
        if environment.spec.idle is not None:
            idle[:] = environment.spec.actions.as_values(np.asarray(environment.spec.idle))
            after = check_rows(environment.step(states, idle), len(rows), "states")
        return StepResult(states, check_quantities(environment.quantities(states, idle, after), len(rows)))

    def _query_policy(self, rows: np.ndarray) -> None:
        """Calls `observe` for all rows, and `act` for those whose last decision has been executed."""
        outcome = self._attribute(self._query_rows, rows)
        ended = dict(outcome.errors)
        for queried, output in outcome.pieces:
            memory, decision = output.memory, output.decision
            if decision is not None:
                deciding = queried[output.planning]
                memory = put_rows(memory, output.planning, decision.memory)
                ended |= {int(row): "" for row in deciding[decision.lengths == 0]}
                self._mark_failed(deciding[decision.lengths == 0])
                ended |= {int(deciding[row]): message for row, message in decision.errors.items()}
                self._store_decision(deciding, decision)
            self.memory = write_rows(self.memory, len(self.length), queried, memory)
        self._finish(ended)

    def _query_rows(self, rows: np.ndarray) -> PolicyOutput:
        percept, before = self._build_percept(rows), take_rows(self.before, rows)
        memory = check_memory(self.rules.policy.observe(percept, before), len(rows))
        planning = np.flatnonzero(self.position[rows] >= self.length[rows])
        if not len(planning):
            return PolicyOutput(memory, planning, None)
        deciding, percept = rows[planning], percept.rows(planning)
        streams = Streams(self.columns["episode_seed"][deciding], self.columns["plan_calls"][deciding])
        observed = take_rows(memory, planning)
        decision = self.rules.policy.act(percept, observed, streams)
        decision = check_decision(decision, self.rules.environment.spec.actions, len(planning), observed)
        self.sample.offer(self.first_episode + deciding, percept, take_rows(before, planning), streams)
        return PolicyOutput(memory, planning, decision)

    def _build_percept(self, rows: np.ndarray) -> Percept:
        environment, states = self.rules.environment, self.states[rows]
        if self.rules.disturbance is None:
            observations = environment.observe(states)
        else:
            observations, states = perceive(
                self.rules.disturbance.perturbation, environment, states, self._steps_since(rows), self._streams(rows)
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

    def _store_decision(self, rows: np.ndarray, decision: Decision) -> None:
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
        self.length[rows], self.position[rows] = lengths, 0

    def _apply_perturbation(self, perturbation: Perturbation) -> None:
        """Applies the perturbation to the rows in its window. A row with an empty queue decides again in this step."""
        active = self.running[rows_in_window(perturbation, self._steps_since(self.running))]
        if not len(active):
            return
        outcome = self._attribute(self._perturb_rows, active)
        for rows, pending in outcome.pieces:
            self.states[rows] = pending.states
            self._write_queue(rows, pending.queue, pending.lengths)
        self._finish(outcome.errors)
        emptied = self.running[self.position[self.running] >= self.length[self.running]]
        if len(emptied):
            self._query_policy(emptied)

    def _perturb_rows(self, rows: np.ndarray) -> PendingStep:
        assert self.rules.disturbance is not None
        steps = self.position[rows, None] + np.arange(self.queue.shape[1])
        queue = self.queue[rows[:, None], steps.clip(max=self.queue.shape[1] - 1)]
        left = self.length[rows] - self.position[rows]
        pending = PendingStep(self.states[rows], queue, left, self.last_action[rows], self._steps_since(rows))
        environment, perturbation = self.rules.environment, self.rules.disturbance.perturbation
        after = perturb_step(perturbation, environment, pending, self._streams(rows))
        return check_pending_step(after, environment.spec.actions, len(rows))

    def _steps_since(self, rows: np.ndarray) -> np.ndarray:
        """Steps since each row's perturbation began. Negative before it."""
        return self.now - self.perturbed_at[rows]

    def _streams(self, rows: np.ndarray) -> Streams:
        return Streams(self.columns["episode_seed"][rows], np.full(len(rows), self.now))

    def _execute_step(self) -> None:
        """Executes the next action of every running episode."""
        if not len(self.running):
            return
        actions = self._deliver_actions(self.queue[self.running, self.position[self.running]])
        values = self.rules.environment.spec.actions.as_values(actions)
        positions = np.arange(len(self.running))
        outcome = self._attribute(lambda some: self._next_states(self.running[some], values[some]), positions)
        after = join_results([result for _, result in outcome.pieces])
        broken = {} if after is None else find_not_finite(after)
        valid = ~np.isin(np.arange(len(outcome.rows)), list(broken))
        reached = outcome.rows[valid]
        moved = self.running[reached]
        errors = outcome.errors | {int(outcome.rows[row]): message for row, message in broken.items()}
        self._finish({int(self.running[position]): message for position, message in errors.items()})
        self.now += 1
        self.progress(len(moved) / self.rules.max_steps)
        if after is not None and len(moved):
            states = after.states[valid]
            if self.record is not None:
                self.record.add(self.first_episode + moved, values[reached], self.states[moved], states)
            self.states[moved] = states
            self.last_action[moved] = actions[reached]
            self.position[moved] += 1
            self._record_step({name: numbers[valid] for name, numbers in after.quantities.items()})

    def _deliver_actions(self, actions: np.ndarray) -> np.ndarray:
        """The actions of the running rows after the perturbation."""
        if self.rules.disturbance is None:
            return actions
        carried = {name: array[self.running] for name, array in self.carried.items()}
        delivery = Delivery(actions, self._steps_since(self.running), carried)
        after = perturb_actions(self.rules.disturbance.perturbation, self.rules.environment, delivery)
        for name, array in after.carried.items():
            self.carried[name][self.running] = array
        return after.actions.astype(actions.dtype)

    def _next_states(self, rows: np.ndarray, values: np.ndarray) -> StepResult:
        environment, states = self.rules.environment, self.states[rows]
        after = check_rows(environment.step(states, values), len(rows), "states")
        return StepResult(after, check_quantities(environment.quantities(states, values, after), len(rows)))

    def _record_step(self, quantities: dict[str, np.ndarray]) -> None:
        """Records rewards and successes of the running rows, and finishes the episodes that end at this step."""
        rows, criterion, is_last_step = self.running, self.rules.criterion, self.now == self.rules.max_steps
        if "reward" in quantities:
            self.reward_buffer.add(rows, self.now, quantities["reward"])
        new = rows[:0]
        if criterion is not None:
            self.streak[rows] = np.where(is_met(criterion, quantities), self.streak[rows] + 1, 0)
            new = rows[is_success(criterion, self.streak[rows], is_last_step) & ~self.columns["success"][rows]]
        self.columns["success"][new] = True
        self.columns["first_success_step"][new] = self.now
        ended = rows if is_last_step else new if self.rules.stop is Stop.SUCCESS else rows[:0]
        self._finish({int(row): "" for row in ended})

    def _finish(self, ended: dict[int, str]) -> None:
        """Completes the rows of finished episodes. `ended` maps each to its error, empty if there is none."""
        if not ended:
            return
        self.progress(len(ended) * (1 - self.now / self.rules.max_steps))
        rows = np.array(list(ended))
        whole = self.rules.stop is Stop.HORIZON and self.now == self.rules.max_steps
        self.reward_buffer.close(self.columns, rows, self.now, whole=whole)
        self.columns["steps"][rows] = self.now
        self.columns["error"][rows] = list(ended.values())
        self._mark_failed(rows[[bool(message) for message in ended.values()]])
        self.running = self.running[~np.isin(self.running, rows)]

    def _mark_failed(self, rows: np.ndarray) -> None:
        """Marks episodes as failed, after an error or an empty decision. They have no return: they are not whole."""
        self.columns["success"][rows] = False
        self.columns["first_success_step"][rows] = -1
        self.columns["return"][rows] = np.nan
