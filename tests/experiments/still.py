"""A model in which nothing ever moves."""

import time


def dynamics(state, action):
    return state


def slow_dynamics(state, action):
    """As slow as a large network."""
    time.sleep(0.001)
    return state
