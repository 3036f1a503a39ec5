"""Perturbations that last for a window of steps, and what one does that changes nothing."""

from dataclasses import replace

import numpy as np

from wmel.arrays import put_rows
from wmel.contract.environment import Environment
from wmel.contract.perturbation import Delivery, Moment, Perturbation
from wmel.randomness import Streams


class Unchanged:
    """The parts of the contract that leave everything as it is, to be mixed into a perturbation."""

    def check(self, environment: Environment) -> None:
        return None

    def carry(self, environment: Environment, count: int) -> dict[str, np.ndarray]:
        return {}

    def sense(self, observations: np.ndarray, since: np.ndarray, streams: Streams) -> np.ndarray:
        return observations

    def strike(self, environment: Environment, moment: Moment, streams: Streams) -> Moment:
        return moment

    def deliver(self, environment: Environment, delivery: Delivery) -> Delivery:
        return delivery


def within(perturbation: Perturbation, since: np.ndarray) -> np.ndarray:
    """The rows [b] whose steps since the perturbation's step [B] lie in its window; before it they are negative."""
    lasting = since >= 0 if perturbation.window is None else (since >= 0) & (since < perturbation.window)
    return np.flatnonzero(lasting)


def sensed(perturbation: Perturbation, observations: np.ndarray, since: np.ndarray, streams: Streams) -> np.ndarray:
    """Observations [B,O] as the policy will see them."""
    rows = within(perturbation, since)
    if not len(rows):
        return observations
    seen = observations.astype(np.result_type(observations, np.float32))  # noise on whole numbers is not whole
    seen[rows] = perturbation.sense(seen[rows], since[rows], streams.rows(rows))
    return seen


def struck(perturbation: Perturbation, environment: Environment, moment: Moment, streams: Streams) -> Moment:
    """The moment as it goes on; queues are padded to one length."""
    rows = within(perturbation, moment.since)
    if not len(rows):
        return moment
    part = perturbation.strike(environment, _rows(moment, rows), streams.rows(rows))
    room = max(moment.queue.shape[1], part.queue.shape[1])
    states, lengths = moment.states.copy(), moment.lengths.copy()
    states[rows], lengths[rows] = part.states, part.lengths
    queue = _padded(moment.queue, room)
    queue[rows] = _padded(part.queue, room)
    return replace(moment, states=states, queue=queue, lengths=lengths)


def delivered(perturbation: Perturbation, environment: Environment, delivery: Delivery) -> Delivery:
    """The actions that arrive."""
    rows = within(perturbation, delivery.since)
    if not len(rows):
        return delivery
    carried = {name: array[rows] for name, array in delivery.carried.items()}
    part = perturbation.deliver(environment, Delivery(delivery.actions[rows], delivery.since[rows], carried))
    actions = delivery.actions.copy()
    actions[rows] = part.actions
    return replace(delivery, actions=actions, carried=put_rows(delivery.carried, rows, part.carried))


def _rows(moment: Moment, rows: np.ndarray) -> Moment:
    return Moment(
        moment.states[rows],
        moment.queue[rows],
        moment.lengths[rows],
        moment.last_action[rows],
        moment.since[rows],
    )


def _padded(queue: np.ndarray, room: int) -> np.ndarray:
    """A copy of the queue [B,K,A] with room for more actions at its end."""
    count, length, width = queue.shape
    return np.concatenate([queue, np.zeros((count, room - length, width), queue.dtype)], axis=1)
