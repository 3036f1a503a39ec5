"""A model in which nothing ever moves."""

import time


def dynamics(state, action):
    return state


class Damped:
    """The same with a setting."""

    def __init__(self, gain: float = 1.0):
        self.gain = gain

    def __call__(self, state, action):
        return self.gain * state


def slow_dynamics(state, action):
    """As slow as a large network."""
    time.sleep(0.001)
    return state
