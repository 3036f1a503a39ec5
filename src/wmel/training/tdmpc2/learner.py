"""One update of TD-MPC2: losses, optimisers, and the CUDA graph that captures it."""

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from wmel.contract.trainer import TrainedModel
from wmel.errors import BadInput
from wmel.models.tdmpc2.layers import two_hot_cross_entropy, two_hot_mean
from wmel.models.tdmpc2.network import TDMPC2
from wmel.training.tdmpc2.replay import Replay, load_optimiser, optimiser_tensors, prefixed, under
from wmel.training.tdmpc2.trainer import TDMPC2Trainer

LEAST_SCALE, SLOW = 1.0, 0.01
LOSSES = ("consistency", "reward", "value", "policy", "total")
WARM_UPS = 3


class Diverged(BadInput):
    """A loss or a reward became NaN or infinite, or a simulation broke; what the best weights before that make."""

    def __init__(self, message: str, best: TrainedModel | None = None):
        super().__init__(message)
        self.best = best


def no_number(updates: int, losses: dict[str, float]) -> Diverged:
    """What to say of a loss or a reward."""
    said = ", ".join(f"{name} {value:.3g}" for name, value in losses.items())
    return Diverged(f"a loss or a reward became NaN or infinite by update {updates}: {said}")


@dataclass(eq=False)
class Learner:
    """The networks, their optimisers, and a running scale of values; every tensor stays where it is."""

    network: TDMPC2
    settings: TDMPC2Trainer
    discount: float
    capturable: bool = False
    targets: nn.Module = field(init=False)
    scale: Tensor = field(init=False)
    losses: Tensor = field(init=False)  # of the last update, in the order of LOSSES
    broken: Tensor = field(init=False)  # how many updates had a loss or a reward that is no number

    def __post_init__(self):
        settings, device = self.settings, next(self.network.parameters()).device
        self.targets = copy.deepcopy(self.network.critics).requires_grad_(False)
        self.scale = torch.ones((), device=device)
        self.losses = torch.zeros(len(LOSSES), device=device)
        self.broken = torch.zeros((), device=device)
        rate, network = settings.learning_rate, self.network
        rest = (network.dynamics, network.reward, network.critics)
        groups = [
            {"params": list(network.encoder.parameters()), "lr": rate * settings.encoder_share},
            {"params": [weight for part in rest for weight in part.parameters()]},
        ]
        how = {"lr": rate, "fused": True, "capturable": self.capturable}
        self.optimiser = torch.optim.Adam(groups, **how)
        self.policy_optimiser = torch.optim.Adam(network.policy.parameters(), eps=1e-5, **how)
        self.shares = torch.tensor([0.05, 0.95], device=device)
        self.decays = settings.decay ** torch.arange(settings.horizon + 1, device=device)

    def update(self, observations: Tensor, actions: Tensor, rewards: Tensor) -> None:
        """Of windows [H+1,n,O], [H,n,A], [H,n]."""
        latents = self._update_model(observations, actions, rewards)
        self._update_policy(latents)
        with torch.no_grad():
            pairs = zip(self.targets.parameters(), self.network.critics.parameters(), strict=True)
            for target, source in pairs:
                target.lerp_(source, self.settings.follow)
            self.broken += 1 - (torch.isfinite(self.losses).all() & torch.isfinite(rewards).all()).float()

    def named_losses(self) -> dict[str, float]:
        """Of the last update."""
        return dict(zip(LOSSES, self.losses.tolist(), strict=True))

    def tensors(self) -> dict[str, Tensor]:
        """All that learning changes, by name."""
        return {
            "scale": self.scale,
            **prefixed("network", self.network.state_dict()),
            **prefixed("targets", self.targets.state_dict()),
            **prefixed("optimiser", optimiser_tensors(self.optimiser)),
            **prefixed("policy_optimiser", optimiser_tensors(self.policy_optimiser)),
        }

    def load(self, tensors: dict[str, Tensor]) -> None:
        """Go on from there."""
        self.scale.copy_(tensors["scale"])
        self.network.load_state_dict(under("network", tensors))
        self.targets.load_state_dict(under("targets", tensors))
        load_optimiser(self.optimiser, under("optimiser", tensors))
        load_optimiser(self.policy_optimiser, under("policy_optimiser", tensors))

    def targets_of(self, observations: Tensor, rewards: Tensor) -> tuple[Tensor, Tensor]:
        """Latents of what came next [H,n,Z], and what the values should have been [H,n]."""
        with torch.no_grad():
            after = self.network.encode(observations[1:])
            actions, _ = self._acted(after)
            logits = self.targets(self.network.with_actions(after, actions))
            values = two_hot_mean(self._two(logits)).amin(0)
            return after, rewards + self.discount * values

    def _update_model(self, observations: Tensor, actions: Tensor, rewards: Tensor) -> Tensor:
        settings, network, horizon = self.settings, self.network, self.settings.horizon
        after, aims = self.targets_of(observations, rewards)
        trajectory = [network.encode(observations[0])]
        for now in range(horizon):
            trajectory.append(network.next(trajectory[-1], actions[now]))
        latents = torch.stack(trajectory)
        met, decays = latents[:-1], self.decays[:horizon]
        consistency = ((latents[1:] - after).square().mean((1, 2)) * decays).sum() / horizon
        reward = (two_hot_cross_entropy(network.reward_logits(met, actions), rewards).mean(1) * decays).sum() / horizon
        logits = network.value_logits(met, actions, network.dropout)
        value = (two_hot_cross_entropy(logits, aims.expand(len(logits), *aims.shape)).mean(2) * decays).sum(
            1
        ).mean() / horizon
        total = settings.consistency * consistency + settings.reward * reward + settings.value * value
        self.optimiser.zero_grad(set_to_none=not self.capturable)
        total.backward()
        learned = [weight for group in self.optimiser.param_groups for weight in group["params"]]
        nn.utils.clip_grad_norm_(learned, settings.clip, foreach=True)
        self.optimiser.step()
        self.losses[:3] = torch.stack([consistency, reward, value]).detach()
        self.losses[4] = total.detach()
        return latents.detach()

    def _update_policy(self, latents: Tensor) -> None:
        settings, network = self.settings, self.network
        network.critics.requires_grad_(False)
        actions, entropy = self._acted(latents)
        values = two_hot_mean(self._two(network.value_logits(latents, actions))).mean(0)
        self._rescale(values[0].detach())
        loss = (-(settings.entropy * entropy + values / self.scale).mean(1) * self.decays).mean()
        self.policy_optimiser.zero_grad(set_to_none=not self.capturable)
        loss.backward()
        nn.utils.clip_grad_norm_(network.policy.parameters(), settings.clip, foreach=True)
        self.policy_optimiser.step()
        network.critics.requires_grad_(True)
        self.losses[3] = loss.detach()

    def _acted(self, latents: Tensor) -> tuple[Tensor, Tensor]:
        """Actions the policy draws [...,A], and the entropy of the draw times the width of an action [...]."""
        mean, log_deviation = self.network.policy_distribution(latents)
        noise = torch.randn_like(mean)
        likelihood = (-0.5 * noise.square() - log_deviation - 0.5 * math.log(2 * math.pi)).sum(-1)
        return (mean + noise * log_deviation.exp()).tanh(), -likelihood * mean.shape[-1]

    def _two(self, logits: Tensor) -> Tensor:
        """Two of the critics, drawn anew: [2,...]"""
        if len(logits) == 2:
            return logits
        return logits[torch.rand(len(logits), device=logits.device).argsort()[:2]]

    def _rescale(self, values: Tensor) -> None:
        """Follow the range from the 5th to the 95th percentile."""
        low, high = torch.quantile(values, self.shares)
        self.scale.lerp_((high - low).clamp_min(LEAST_SCALE), SLOW)


def captured(update: Callable[[], None]) -> Callable[[], None]:
    """A function that replays `update`; its first calls, needed to allocate, are real updates."""
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


class Updates:
    """Of a learner on what a replay holds; `done` counts them."""

    def __init__(self, learner: Learner, replay: Replay):
        self.learner, self.replay, self.done = learner, replay, 0
        self._captured: Callable[[], None] | None = None

    def until(self, wanted: int, at_most: int) -> None:
        """So many in all; capturing takes some more at once where that leaves them below `at_most`."""
        while self.done < wanted:
            if self._captured is None and self.learner.capturable and at_most - self.done >= WARM_UPS:
                self._captured = captured(self._one)
                self.done += WARM_UPS
            else:
                (self._captured or self._one)()
                self.done += 1

    def _one(self) -> None:
        self.learner.update(*self.replay.sample(self.learner.settings.batch))
