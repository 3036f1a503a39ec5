"""The planning problem of the head-to-head comparison, in plain torch: every library's environment imports it."""

import torch

OBSERVATION, ACTION, HORIZON = 6, 2, 12
ITERATIONS, CANDIDATES, ELITES = 5, 200, 20
CELLS = [(hidden, batch) for hidden in (64, 256) for batch in (1, 16)]
PLANS = 30  # timed per cell


def network(hidden: int) -> torch.nn.Sequential:
    """The same weights everywhere."""
    torch.manual_seed(0)
    linear, relu = torch.nn.Linear, torch.nn.ReLU
    made = torch.nn.Sequential(
        linear(OBSERVATION + ACTION, hidden), relu(), linear(hidden, hidden), relu(), linear(hidden, OBSERVATION)
    )
    return made.requires_grad_(False)


def starts(batch: int) -> torch.Tensor:
    return torch.linspace(-1, 1, batch * OBSERVATION).reshape(batch, OBSERVATION)


def after(net: torch.nn.Module, observations: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
    """The observation changes by what the network says: [...,O], [...,A] -> [...,O]"""
    return observations + net(torch.cat([observations, actions], -1))


def plan_costs(net: torch.nn.Module, start: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
    """Squared observations summed over a plan: start [...,O], actions [...,H,A] -> [...]"""
    state, total = start.expand(*actions.shape[:-2], OBSERVATION), torch.zeros(actions.shape[:-2])
    for step in range(actions.shape[-2]):
        state = after(net, state, actions[..., step, :])
        total = total + state.square().sum(-1)
    return total
