"""The update of TD-MPC2: losses, optimisers, and its capture as a CUDA graph."""

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from wmel.contract.trainer import TrainedModel
from wmel.errors import BadInput
from wmel.models.tdmpc2.network import TDMPC2, two_hot_cross_entropy, two_hot_mean
from wmel.training.tdmpc2.replay import Replay, add_prefix, load_optimiser, optimiser_tensors, select_prefix
from wmel.training.tdmpc2.trainer import TDMPC2Trainer


class TorchRng:
    """A sequence of random numbers from a seed. Each use of `active` continues it.

    Operations such as dropout can only sample from torch's global generators, so their state is exchanged.
    """

    def __init__(self, seed: int, device: torch.device):
        self._devices = [device] if device.type == "cuda" else []
        with torch.random.fork_rng(self._devices):
            torch.default_generator.manual_seed(seed)
            for one in self._devices:
                with torch.cuda.device(one):
                    torch.cuda.manual_seed(seed)
            self._save_states()

    @contextmanager
    def active(self) -> Iterator[None]:
        """Makes torch's global generators sample from this sequence. They are restored afterwards."""
        with torch.random.fork_rng(self._devices):
            torch.set_rng_state(self._host_state)
            for device, state in zip(self._devices, self._device_states, strict=True):
                torch.cuda.set_rng_state(state, device)
            try:
                yield
            finally:
                self._save_states()

    def tensors(self) -> dict[str, torch.Tensor]:
        """The states of the generators by name."""
        return {
            "host": self._host_state,
            **{f"device{place}": state for place, state in enumerate(self._device_states)},
        }

    def load(self, tensors: dict[str, torch.Tensor]) -> None:
        """Restores the states. A generator without a stored state, as on another kind of device, keeps its own."""
        self._host_state = tensors["host"]
        self._device_states = [tensors.get(f"device{place}", state) for place, state in enumerate(self._device_states)]

    def _save_states(self) -> None:
        self._host_state = torch.get_rng_state()
        self._device_states = [torch.cuda.get_rng_state(device) for device in self._devices]


MIN_SCALE, SCALE_RATE = 1.0, 0.01
LOSSES = ("consistency", "reward", "value", "policy", "total")
WARM_UPS = 3


class DivergenceError(BadInput):
    """A loss or a reward became NaN or infinite, or the simulation failed. `best` is the best model before that."""

    def __init__(self, message: str, best: TrainedModel | None = None):
        super().__init__(message)
        self.best = best


def divergence_error(updates: int, losses: dict[str, float]) -> DivergenceError:
    """The error for a loss or a reward that is not finite."""
    values = ", ".join(f"{name} {value:.3g}" for name, value in losses.items())
    return DivergenceError(f"a loss or a reward became NaN or infinite by update {updates}: {values}")


@dataclass(eq=False)
class Learner:
    """The networks, their optimisers, and a running scale of values. Updates are in place, as CUDA graphs require."""

    network: TDMPC2
    settings: TDMPC2Trainer
    discount: float
    capturable: bool = False
    targets: nn.Module = field(init=False)
    scale: Tensor = field(init=False)
    losses: Tensor = field(init=False)  # of the last update, in the order of LOSSES
    non_finite_updates: Tensor = field(init=False)  # number of updates with a loss or a reward that was not finite

    def __post_init__(self):
        settings, device = self.settings, next(self.network.parameters()).device
        self.targets = copy.deepcopy(self.network.critics).requires_grad_(False)
        self.scale = torch.ones((), device=device)
        self.losses = torch.zeros(len(LOSSES), device=device)
        self.non_finite_updates = torch.zeros((), device=device)
        rate, network = settings.learning_rate, self.network
        rest = (network.dynamics, network.reward, network.critics)
        groups = [
            {"params": list(network.encoder.parameters()), "lr": rate * settings.encoder_share},
            {"params": [weight for part in rest for weight in part.parameters()]},
        ]
        options = {"lr": rate, "fused": True, "capturable": self.capturable}
        self.optimiser = torch.optim.Adam(groups, **options)
        self.policy_optimiser = torch.optim.Adam(network.policy.parameters(), eps=1e-5, **options)
        self.quantiles = torch.tensor([0.05, 0.95], device=device)
        self.decays = settings.decay ** torch.arange(settings.horizon + 1, device=device)

    def update(self, observations: Tensor, actions: Tensor, rewards: Tensor) -> None:
        """One update on windows: observations [H+1,n,O], actions [H,n,A], rewards [H,n]."""
        latents = self._update_model(observations, actions, rewards)
        self._update_policy(latents)
        with torch.no_grad():
            pairs = zip(self.targets.parameters(), self.network.critics.parameters(), strict=True)
            for target, source in pairs:
                target.lerp_(source, self.settings.follow)
            self.non_finite_updates += 1 - (torch.isfinite(self.losses).all() & torch.isfinite(rewards).all()).float()

    def named_losses(self) -> dict[str, float]:
        """The losses of the last update by name."""
        return dict(zip(LOSSES, self.losses.tolist(), strict=True))

    def tensors(self) -> dict[str, Tensor]:
        """The state of training by name: networks, optimisers and scale."""
        return {
            "scale": self.scale,
            **add_prefix("network", self.network.state_dict()),
            **add_prefix("targets", self.targets.state_dict()),
            **add_prefix("optimiser", optimiser_tensors(self.optimiser)),
            **add_prefix("policy_optimiser", optimiser_tensors(self.policy_optimiser)),
        }

    def load(self, tensors: dict[str, Tensor]) -> None:
        """Restores the state from `tensors`."""
        self.scale.copy_(tensors["scale"])
        self.network.load_state_dict(select_prefix("network", tensors))
        self.targets.load_state_dict(select_prefix("targets", tensors))
        load_optimiser(self.optimiser, select_prefix("optimiser", tensors))
        load_optimiser(self.policy_optimiser, select_prefix("policy_optimiser", tensors))

    def compute_targets(self, observations: Tensor, rewards: Tensor) -> tuple[Tensor, Tensor]:
        """Latents of the next observations [H,n,Z], and temporal-difference targets of the values [H,n]."""
        with torch.no_grad():
            after = self.network.encode(observations[1:])
            actions, _ = self._sample_actions(after)
            logits = self.targets(self.network.with_actions(after, actions))
            values = two_hot_mean(self._sample_two_critics(logits)).amin(0)
            return after, rewards + self.discount * values

    def _update_model(self, observations: Tensor, actions: Tensor, rewards: Tensor) -> Tensor:
        settings, network, horizon = self.settings, self.network, self.settings.horizon
        after, targets = self.compute_targets(observations, rewards)
        trajectory = [network.encode(observations[0])]
        for step in range(horizon):
            trajectory.append(network.next(trajectory[-1], actions[step]))
        latents = torch.stack(trajectory)
        before, decays = latents[:-1], self.decays[:horizon]
        consistency = ((latents[1:] - after).square().mean((1, 2)) * decays).sum() / horizon
        reward_entropies = two_hot_cross_entropy(network.reward_logits(before, actions), rewards)
        reward = (reward_entropies.mean(1) * decays).sum() / horizon
        logits = network.value_logits(before, actions, network.dropout)
        value_entropies = two_hot_cross_entropy(logits, targets.expand(len(logits), *targets.shape))
        value = (value_entropies.mean(2) * decays).sum(1).mean() / horizon
        total = settings.consistency * consistency + settings.reward * reward + settings.value * value
        self.optimiser.zero_grad(set_to_none=not self.capturable)
        total.backward()
        parameters = [weight for group in self.optimiser.param_groups for weight in group["params"]]
        nn.utils.clip_grad_norm_(parameters, settings.clip, foreach=True)
        self.optimiser.step()
        self.losses[:3] = torch.stack([consistency, reward, value]).detach()
        self.losses[4] = total.detach()
        return latents.detach()

    def _update_policy(self, latents: Tensor) -> None:
        settings, network = self.settings, self.network
        network.critics.requires_grad_(False)
        actions, entropy = self._sample_actions(latents)
        values = two_hot_mean(self._sample_two_critics(network.value_logits(latents, actions))).mean(0)
        self._update_scale(values[0].detach())
        loss = (-(settings.entropy * entropy + values / self.scale).mean(1) * self.decays).mean()
        self.policy_optimiser.zero_grad(set_to_none=not self.capturable)
        loss.backward()
        nn.utils.clip_grad_norm_(network.policy.parameters(), settings.clip, foreach=True)
        self.policy_optimiser.step()
        network.critics.requires_grad_(True)
        self.losses[3] = loss.detach()

    def _sample_actions(self, latents: Tensor) -> tuple[Tensor, Tensor]:
        """Actions of the policy [...,A], and their entropy estimates times the width of an action [...]."""
        mean, log_deviation = self.network.policy_distribution(latents)
        noise = torch.randn_like(mean)
        likelihood = (-0.5 * noise.square() - log_deviation - 0.5 * math.log(2 * math.pi)).sum(-1)
        return (mean + noise * log_deviation.exp()).tanh(), -likelihood * mean.shape[-1]

    def _sample_two_critics(self, logits: Tensor) -> Tensor:
        """The logits of two randomly sampled critics: [n,...] -> [2,...]"""
        if len(logits) == 2:
            return logits
        return logits[torch.rand(len(logits), device=logits.device).argsort()[:2]]

    def _update_scale(self, values: Tensor) -> None:
        """Moves the scale towards the range from the 5th to the 95th percentile of values."""
        low, high = torch.quantile(values, self.quantiles)
        self.scale.lerp_((high - low).clamp_min(MIN_SCALE), SCALE_RATE)


def capture_graph(update: Callable[[], None]) -> Callable[[], None]:
    """Captures `update` as a CUDA graph and returns the function that replays it. Runs WARM_UPS real updates before."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM_UPS):
            update()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        update()
    return graph.replay


class UpdateLoop:
    """Updates of a learner on samples of a replay buffer. `done` counts them."""

    def __init__(self, learner: Learner, replay: Replay):
        self.learner, self.replay, self.done = learner, replay, 0
        self._captured: Callable[[], None] | None = None

    def run_until(self, updates: int, at_most: int) -> None:
        """Updates until a total of `updates`. Capturing a graph can do more updates at once, up to `at_most`."""
        while self.done < updates:
            if self._captured is None and self.learner.capturable and at_most - self.done >= WARM_UPS:
                self._captured = capture_graph(self._update)
                self.done += WARM_UPS
            else:
                (self._captured or self._update)()
                self.done += 1

    def _update(self) -> None:
        self.learner.update(*self.replay.sample(self.learner.settings.batch))
