"""Settings of an ESNR measurement, and the action sequences it samples."""

import math
from dataclasses import asdict, dataclass, replace
from math import inf
from typing import Any, Literal

import numpy as np

from wmel.arrays import Array, as_like, namespace_of, one_hot
from wmel.contract.environment import Box, Finite, Space
from wmel.errors import BadInput, require
from wmel.parts import accept_old_names, check_settings, refuse_unknown_settings, setting
from wmel.randomness import Streams, normals
from wmel.settings import LARGEST_SEED, MAX_COUNT

Credit = Literal["reward_to_go", "full_return", "paper"]
Baseline = Literal["leave_one_out", "none", "value"]
Actions = Literal["clamped", "gaussian", "tanh"]
MIN_SAMPLES = 4  # the bias correction of the ratio divides by S - 3
MAX_NUMBERS = 1 << 28  # sampled for one observation
ZOG_ONLY = ("credit", "baseline")
CEM_ONLY = ("population", "elites", "temperature", "normalize_returns", "raw_elite_mean")


@accept_old_names(horizon="plan_horizon")
@refuse_unknown_settings
@dataclass(frozen=True)
class EsnrSettings:
    """Settings of the estimators. `sigma` is in halves of the action range, or in the model's units without a range."""

    plan_horizon: int = setting(15, "steps a gradient looks ahead", at_least=1, at_most=MAX_COUNT)
    discount: float = setting(1.0, "weight of a step relative to the step before", above=0, at_most=1)
    samples: int = setting(32, "gradients per state", at_least=1, at_most=MAX_COUNT)
    sigma: float = setting(0.5, "standard deviation of the actions, in halves of their range", above=0, below=inf)
    actions: Actions = setting("clamped", "how sampled actions are kept within bounds; gaussian: not at all")
    credit: Credit = setting("reward_to_go", "zog: the rewards credited to an action; paper: that of its own step")
    baseline: Baseline = setting("leave_one_out", "zog: what is subtracted from the credit")
    population: int = setting(64, "cem: sequences per gradient", at_least=1, at_most=MAX_COUNT)
    elites: int = setting(
        8, "cem: sequences with the highest returns, which are averaged", at_least=1, at_most=MAX_COUNT
    )
    temperature: float = setting(0.0, "cem: an elite has weight exp(temperature * return)", at_least=0, below=inf)
    normalize_returns: bool = setting(
        False, "cem: divide returns by their deviation over the elites before the temperature"
    )
    raw_elite_mean: bool = setting(False, "cem: the elite mean itself, not its difference from the mean of the samples")
    terminal_value: bool = setting(False, "add the model's value of the last latent to the return")
    literal: bool = setting(False, "the ratio as in the ESNR paper: 1e-8 added to the variance, no bias correction")
    noise_seed: int = setting(0, "seed of the noise", at_least=0, cap=LARGEST_SEED)
    rows: int = setting(
        2048, "sequences imagined at a time; affects memory, not results", at_least=1, at_most=MAX_COUNT
    )

    def __post_init__(self):
        check_settings(self)
        if self.samples * self.population * self.plan_horizon > MAX_NUMBERS:
            product = f"{self.samples} samples x {self.population} sequences x {self.plan_horizon} steps"
            raise BadInput(f"{product} are too many for one observation (at most {MAX_NUMBERS}): lower one of them")
        if self.samples < MIN_SAMPLES:
            raise BadInput(
                f"an ESNR needs at least {MIN_SAMPLES} gradients per observation, got {self.samples}: "
                "with fewer its bias cannot be corrected"
            )
        require(
            self.elites <= self.population, f"of {self.population} sequences at most as many can be elites", self.elites
        )
        if self.credit == "paper" and self.baseline == "value":
            raise BadInput(
                "credit 'paper' counts one reward per action, which no value function predicts: set another baseline"
            )

    def as_in_the_paper(self) -> "EsnrSettings":
        """The same with the algorithms of the ESNR paper, which override the settings they fix."""
        return replace(self, actions="gaussian", credit="paper", baseline="none", raw_elite_mean=True, literal=True)

    def used_by(self, method: str, *, discrete: bool = False) -> dict[str, Any]:
        """The settings that affect the result of a method, for finite or continuous actions."""
        first_order = (*ZOG_ONLY, *CEM_ONLY)
        unused = {"fog": first_order, "fog(fd)": first_order, "zog": CEM_ONLY, "cem": ZOG_ONLY}[method]
        unused += ("sigma", "actions") if discrete else ()
        return {name: value for name, value in asdict(self).items() if name not in (*unused, "rows")}


@dataclass(frozen=True, eq=False)
class SampledActions:
    """Action sequences of b observations; the axes between the first and the last two are those requested."""

    actions: Array  # [b,...,H,A] as the model receives them
    points: Array  # [b,...,H,k] what an elite mean averages
    deviations: Array  # [b,...,H,k] of each sample from its expectation, in units of its scale
    scale_inverse: float

    @property
    def scores(self) -> Array:
        """Gradient of the log-probability with respect to the distribution's parameters: [b,...,H,k]"""
        return self.deviations * self.scale_inverse


@dataclass(frozen=True, eq=False)
class GaussianActions:
    """Independent normals around a mean, in halves of the action range; `kind` keeps them within the range."""

    space: Box | None
    centre: np.ndarray  # [B,H,A] or [1,H,A]
    sigma: float
    kind: str  # "clamped", "gaussian" or "tanh"

    def sample(
        self, streams: Streams, purpose: str, shape: tuple[int, ...], rows: slice, like: Array
    ) -> SampledActions:
        """Sequences [b,*shape,H,A] of the observations `rows`, in the library of `like`."""
        noise = self.sample_noise(streams, purpose, shape, like)
        points = self.add_mean(noise, rows)
        return SampledActions(self.to_actions(points), points, noise, 1 / self.sigma)

    def sample_noise(self, streams: Streams, purpose: str, shape: tuple[int, ...], like: Array) -> Array:
        """Standard normals [b,*shape,H,A]"""
        horizon, width = self.centre.shape[1:]
        count = horizon * width
        uniforms = streams.uniforms(purpose, (*shape, count + count % 2))[0]
        noise = normals(as_like(uniforms, like))[..., :count]
        return noise.reshape(len(streams), *shape, horizon, width)

    def add_mean(self, noise: Array, rows: slice) -> Array:
        """The mean of each observation plus sigma times its noise: [b,...,H,A], in halves of the range"""
        centre = self.centre if len(self.centre) == 1 else self.centre[rows]
        mean = centre.reshape(len(centre), *(1,) * (noise.ndim - 3), *centre.shape[1:]).astype(np.float32)
        return as_like(mean, noise) + self.sigma * noise

    def to_actions(self, points: Array) -> Array:
        """Actions [...,A] of points in halves of the range, kept within bounds as `kind` says."""
        xp = namespace_of(points)
        bound = {"gaussian": lambda: points, "clamped": lambda: xp.clip(points, -1, 1), "tanh": lambda: xp.tanh(points)}
        if self.space is None:
            return points
        low, high = (as_like(end.astype(np.float64), points) for end in (self.space.low, self.space.high))
        scaled = (low + high) / 2 + (high - low) / 2 * bound[self.kind]()
        return scaled.astype(points.dtype) if xp is np else scaled.to(points.dtype)

    def out_of_range(self, points: Array) -> float:
        """The share of sampled numbers beyond the bounds; 0 where tanh keeps them within."""
        return (
            0.0
            if self.space is None or self.kind == "tanh"
            else float((abs(points) > 1).sum()) / math.prod(points.shape)
        )


@dataclass(frozen=True, eq=False)
class CategoricalActions:
    """One of finitely many actions at each step, all equally likely; gradients are with respect to the logits."""

    space: Finite
    horizon: int

    @property
    def centre(self) -> np.ndarray:
        return np.full((1, self.horizon, self.space.count), 1 / self.space.count)

    def sample(
        self, streams: Streams, purpose: str, shape: tuple[int, ...], rows: slice, like: Array
    ) -> SampledActions:
        """Sequences [b,*shape,H,1] of indices, in the library of `like`."""
        uniforms = as_like(streams.uniforms(purpose, (*shape, self.horizon))[0], like)
        index = uniforms * self.space.count
        index = index.astype(self.space.dtype) if namespace_of(index) is np else index.to(namespace_of(index).int32)
        choices = one_hot(index, self.space.count)
        return SampledActions(index[..., None], choices, choices - 1 / self.space.count, 1.0)

    def out_of_range(self, points: Array) -> float:
        """0: finite actions have no bounds."""
        return 0.0


ActionDistribution = GaussianActions | CategoricalActions


def action_distribution(
    space: Space | None, settings: EsnrSettings, mean: np.ndarray | None, observations: int
) -> ActionDistribution:
    """The distribution for an action space, around a mean [H,A] or [B,H,A]; by default the middle of the range."""
    if not isinstance(space, Box | Finite | None):
        raise BadInput(f"a space is a Box, a Finite or None, got {type(space).__name__}")
    if isinstance(space, Finite):
        if mean is not None:
            raise BadInput("a mean needs continuous actions; these are finite")
        return CategoricalActions(space, settings.plan_horizon)
    if space is None and mean is None:
        raise BadInput("without an environment the mean of the actions must be given, [horizon, width of an action]")
    centre = (
        np.zeros((1, settings.plan_horizon, space.width)) if mean is None and space is not None else np.asarray(mean)
    )
    centre = centre[None] if centre.ndim == 2 else centre
    width = centre.shape[-1] if space is None else space.width
    if centre.ndim != 3 or centre.shape[1:] != (settings.plan_horizon, width) or len(centre) not in (1, observations):
        raise BadInput(
            f"the mean of the actions must be [{settings.plan_horizon}, {width}] or have one for each of "
            f"{observations} observations, got {centre.shape}"
        )
    if not np.isfinite(centre).all():
        raise BadInput("the mean of the actions must be finite")
    return GaussianActions(space, centre, settings.sigma, settings.actions)
