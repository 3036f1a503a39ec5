"""The window of a perturbation: how its methods are applied only to the rows in it, and a mixin without effect."""

from dataclasses import replace

import numpy as np

from wmel.arrays import put_rows
from wmel.contract.environment import Environment
from wmel.contract.perturbation import Delivery, PendingStep, Perturbation
from wmel.randomness import Streams
from wmel.renamed import old_names


class NoEffect:
    """A mixin with a window of one step and methods of the perturbation contract that change nothing."""

    @property
    def window(self) -> int | None:
        return 1

    def check(self, environment: Environment) -> None:
        return None

    def carry(self, environment: Environment, count: int) -> dict[str, np.ndarray]:
        return {}

    def sense(self, observations: np.ndarray, since: np.ndarray, streams: Streams) -> np.ndarray:
        return observations

    def strike(self, environment: Environment, pending: PendingStep, streams: Streams) -> PendingStep:
        return pending

    def deliver(self, environment: Environment, delivery: Delivery) -> Delivery:
        return delivery


def rows_in_window(perturbation: Perturbation, since: np.ndarray) -> np.ndarray:
    """The rows [b] in the window, given the steps since the perturbation began [B], which are negative before it."""
    in_window = since >= 0 if perturbation.window is None else (since >= 0) & (since < perturbation.window)
    return np.flatnonzero(in_window)


def perturb_observations(
    perturbation: Perturbation, observations: np.ndarray, since: np.ndarray, streams: Streams
) -> np.ndarray:
    """The observations [B,O] that the policy receives."""
    rows = rows_in_window(perturbation, since)
    if not len(rows):
        return observations
    perturbed = observations.astype(np.result_type(observations, np.float32))  # integers plus noise are not integers
    perturbed[rows] = perturbation.sense(perturbed[rows], since[rows], streams.rows(rows))
    return perturbed


def perturb_step(
    perturbation: Perturbation, environment: Environment, pending: PendingStep, streams: Streams
) -> PendingStep:
    """The pending step after `strike`, with all queues padded to one length."""
    rows = rows_in_window(perturbation, pending.since)
    if not len(rows):
        return pending
    part = perturbation.strike(environment, _select(pending, rows), streams.rows(rows))
    room = max(pending.queue.shape[1], part.queue.shape[1])
    states, lengths = pending.states.copy(), pending.lengths.copy()
    states[rows], lengths[rows] = part.states, part.lengths
    queue = _pad(pending.queue, room)
    queue[rows] = _pad(part.queue, room)
    return replace(pending, states=states, queue=queue, lengths=lengths)


def perturb_actions(perturbation: Perturbation, environment: Environment, delivery: Delivery) -> Delivery:
    """The actions that are executed, after `deliver`."""
    rows = rows_in_window(perturbation, delivery.since)
    if not len(rows):
        return delivery
    carried = {name: array[rows] for name, array in delivery.carried.items()}
    part = perturbation.deliver(environment, Delivery(delivery.actions[rows], delivery.since[rows], carried))
    actions = delivery.actions.copy()
    actions[rows] = part.actions
    return replace(delivery, actions=actions, carried=put_rows(delivery.carried, rows, part.carried))


def _select(pending: PendingStep, rows: np.ndarray) -> PendingStep:
    return PendingStep(
        pending.states[rows],
        pending.queue[rows],
        pending.lengths[rows],
        pending.last_action[rows],
        pending.since[rows],
    )


def _pad(queue: np.ndarray, room: int) -> np.ndarray:
    """A copy of the queue [B,K,A] with K increased to `room`."""
    count, length, width = queue.shape
    return np.concatenate([queue, np.zeros((count, room - length, width), queue.dtype)], axis=1)


__getattr__ = old_names(__name__)
