"""A model in which nothing ever moves."""


def dynamics(state, action):
    return state
