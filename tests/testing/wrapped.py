"""Parts that pass everything on to another, to be broken in one method."""


class Wrapped:
    """An environment that is another one."""

    def __init__(self, world):
        self.world = world

    def __getattr__(self, name):
        return getattr(self.world, name)

    def reset(self, seeds):
        return self.world.reset(seeds)

    def step(self, states, actions):
        return self.world.step(states, actions)

    def observe(self, states):
        return self.world.observe(states)

    def goals(self, states):
        return self.world.goals(states)

    def quantities(self, states, actions, next_states):
        return self.world.quantities(states, actions, next_states)

    def rollout(self, states, actions):
        return self.world.rollout(states, actions)

    def perturb(self, states, streams):
        return self.world.perturb(states, streams)
