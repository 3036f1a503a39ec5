"""CEM of TorchRL and of mbrl-lib on the common problem; run by the Python of their own environment, prints JSON."""

# pyright: reportMissingImports=false

import json
import time
import warnings

import torch

from cem_problem import (
    ACTION,
    CANDIDATES,
    CELLS,
    ELITES,
    HORIZON,
    ITERATIONS,
    OBSERVATION,
    PLANS,
    after,
    network,
    plan_costs,
    starts,
)  # fmt: skip

warnings.simplefilter("ignore")
torch.set_num_threads(1)


def mbrl_plans(hidden: int, batch: int):
    """One problem after the other: mbrl-lib plans for a single state."""
    from mbrl.planning.trajectory_opt import CEMOptimizer

    net, bounds = network(hidden), [[1.0] * ACTION] * HORIZON
    low = [[-1.0] * ACTION] * HORIZON
    optimiser = CEMOptimizer(ITERATIONS, ELITES / CANDIDATES, CANDIDATES, low, bounds, 0.0, torch.device("cpu"))
    blank = torch.zeros(HORIZON, ACTION)
    return lambda: torch.stack(
        [optimiser.optimize(lambda pop, s=start: -plan_costs(net, s, pop), x0=blank) for start in starts(batch)]
    )


def torchrl_plans(hidden: int, batch: int):
    """A batch of problems; TorchRL returns the first action of each and not the plan."""
    from tensordict import TensorDict
    from torchrl.data import Bounded, Composite, Unbounded
    from torchrl.envs import EnvBase
    from torchrl.modules import CEMPlanner

    net = network(hidden)

    class World(EnvBase):
        def __init__(self):
            super().__init__(device="cpu", batch_size=[])
            self.batch_locked_free = True
            self.observation_spec = Composite(observation=Unbounded((OBSERVATION,)))
            self.action_spec = Bounded(-1.0, 1.0, (ACTION,))
            self.reward_spec = Unbounded((1,))

        def _reset(self, tensordict=None, **_):
            return TensorDict({"observation": torch.zeros(OBSERVATION)}, [])

        def _step(self, tensordict):
            state = after(net, tensordict["observation"], tensordict["action"])
            reward, done = -state.square().sum(-1, keepdim=True), torch.zeros(*state.shape[:-1], 1, dtype=torch.bool)
            return TensorDict({"observation": state, "reward": reward, "done": done}, tensordict.batch_size)

        def _set_seed(self, seed):
            return seed

    World.batch_locked = False
    planner = CEMPlanner(World(), HORIZON, ITERATIONS, CANDIDATES, ELITES)
    inputs = TensorDict({"observation": starts(batch), "done": torch.zeros(batch, 1, dtype=torch.bool)}, [batch])
    return lambda: planner.planning(inputs)


def main() -> None:
    for name, make in (("mbrl-lib", mbrl_plans), ("torchrl", torchrl_plans)):
        for hidden, batch in CELLS:
            try:
                plan, times = make(hidden, batch), []
                with torch.inference_mode():
                    found = plan()
                    for _ in range(PLANS):
                        begin = time.process_time()
                        plan()
                        times.append(time.process_time() - begin)
                    cost = None
                    if found.shape[-2:] == (HORIZON, ACTION):
                        cost = float(plan_costs(network(hidden), starts(batch), found).mean())
                row = {"milliseconds": 1e3 * sorted(times)[len(times) // 2], "cost": cost}
            except (ImportError, RuntimeError, TypeError, ValueError, AttributeError, KeyError) as error:
                row = {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"}
            print(json.dumps({"library": name, "hidden": hidden, "batch": batch, **row}), flush=True)


if __name__ == "__main__":
    main()
