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

Credit = Literal["reward_to_go", "full_return", "paper"]
Baseline = Literal["leave_one_out", "none", "value"]
Actions = Literal["clamped", "gaussian", "tanh"]
FEWEST_SAMPLES = 4  # the correction of the ratio divides by S - 3
LARGEST_COUNT = 1_000_000
MOST_NUMBERS = 1 << 28  # drawn for one observation
ZOG = ("credit", "baseline")
CEM = ("population", "elites", "temperature", "normalize_returns", "raw_elite_mean")


@accept_old_names(horizon="plan_horizon")
@refuse_unknown_settings
@dataclass(frozen=True)
class EsnrSettings:
    """Settings of the estimators; `sigma` is in halves of the action range (in the model's units without a range)."""

    plan_horizon: int = setting(15, "steps a gradient looks ahead", at_least=1, at_most=LARGEST_COUNT)
    discount: float = setting(1.0, "worth of a step, as a share of the step before", above=0, at_most=1)
    samples: int = setting(32, "gradients per state", at_least=1, at_most=LARGEST_COUNT)
    sigma: float = setting(0.5, "spread of actions in halves of their range", above=0, below=inf)
    actions: Actions = setting("clamped", "how samples stay within bounds; gaussian: they do not")
    credit: Credit = setting("reward_to_go", "zog: the rewards an action answers for; paper: its own only")
    baseline: Baseline = setting("leave_one_out", "zog: what is subtracted from them")
    population: int = setting(64, "cem: sequences per gradient", at_least=1, at_most=LARGEST_COUNT)
    elites: int = setting(8, "cem: how many of them are kept", at_least=1, at_most=LARGEST_COUNT)
    temperature: float = setting(0.0, "cem: elites count by exp(temperature * return)", at_least=0, below=inf)
    normalize_returns: bool = setting(False, "cem: returns in deviations of the elites', before the temperature")
    raw_elite_mean: bool = setting(False, "cem: the elite mean itself, not its distance from the sampled mean")
    terminal_value: bool = setting(False, "the model's value of the last latent counts")
    literal: bool = setting(False, "the paper's ratio: 1e-8 on the variance, nothing corrected")
    noise_seed: int = setting(0, "of the noise", at_least=0)
    rows: int = setting(2048, "imagined at a time; changes memory and no result", at_least=1, at_most=LARGEST_COUNT)

    def __post_init__(self):
        check_settings(self)
        sampled = self.samples * self.population * self.plan_horizon
        if sampled > MOST_NUMBERS:
            wanted = f"{self.samples} samples x {self.population} sequences x {self.plan_horizon} steps"
            raise BadInput(f"{wanted} are too many for one observation (at most {MOST_NUMBERS}): lower one of them")
        if self.samples < FEWEST_SAMPLES:
            raise BadInput(
                f"an ESNR needs at least {FEWEST_SAMPLES} gradients per observation, got {self.samples}: "
                "with fewer its bias cannot be corrected"
            )
        require(self.elites <= self.population, f"of {self.population} sequences as many can be elite", self.elites)
        if self.credit == "paper" and self.baseline == "value":
            raise BadInput(
                "credit 'paper' counts one reward per action, which no value function predicts: see baseline"
            )

    def as_in_the_paper(self) -> "EsnrSettings":
        """Its algorithms to the letter, whatever was chosen otherwise; there sigma is 1."""
        return replace(self, actions="gaussian", credit="paper", baseline="none", raw_elite_mean=True, literal=True)

    def described(self, method: str, *, discrete: bool = False) -> dict[str, Any]:
        """The settings that a method heeds, on actions that are levels or numbers."""
        unheeded = {"fog": (*ZOG, *CEM), "fog(fd)": (*ZOG, *CEM), "zog": CEM, "cem": ZOG}[method]
        unheeded += ("sigma", "actions") if discrete else ()
        return {name: value for name, value in asdict(self).items() if name not in (*unheeded, "rows")}


@dataclass(frozen=True, eq=False)
class Sequences:
    """Action sequences of b observations with whatever axes follow: [b,...]."""

    actions: Array  # [b,...,H,A] as they travel
    points: Array  # [b,...,H,k] what an elite mean averages
    departures: Array  # [b,...,H,k] of a draw from what was expected of it
    steepness: float

    @property
    def scores(self) -> Array:
        """Gradient of the log-probability with respect to the distribution's parameters: [b,...,H,k]"""
        return self.departures * self.steepness


@dataclass(frozen=True, eq=False)
class GaussianActions:
    """Independent normals around a mean, in halves of the action range; how they stay within it is a setting."""

    space: Box | None
    centre: np.ndarray  # [B,H,A] or [1,H,A]
    sigma: float
    kind: str

    def draw(self, streams: Streams, purpose: str, shape: tuple[int, ...], rows: slice, like: Array) -> Sequences:
        noise = self.noise(streams, purpose, shape, like)
        inner = self.around(noise, rows)
        return Sequences(self.executed(inner), inner, noise, 1 / self.sigma)

    def noise(self, streams: Streams, purpose: str, shape: tuple[int, ...], like: Array) -> Array:
        """Standard normals [b,*shape,H,A]"""
        horizon, width = self.centre.shape[1:]
        count = horizon * width
        uniforms = streams.uniforms(purpose, (*shape, count + count % 2))[0]
        noise = normals(as_like(uniforms, like))[..., :count]
        return noise.reshape(len(streams), *shape, horizon, width)

    def around(self, noise: Array, rows: slice) -> Array:
        """The mean of each observation plus its noise [b,...,H,A]"""
        centre = self.centre if len(self.centre) == 1 else self.centre[rows]
        spread = centre.reshape(len(centre), *(1,) * (noise.ndim - 3), *centre.shape[1:]).astype(np.float32)
        return as_like(spread, noise) + self.sigma * noise

    def executed(self, inner: Array) -> Array:
        """Actions [...,A] of what was drawn, within bounds as far as they are kept there."""
        xp = namespace_of(inner)
        kept = {"gaussian": lambda: inner, "clamped": lambda: xp.clip(inner, -1, 1), "tanh": lambda: xp.tanh(inner)}
        if self.space is None:
            return inner
        low, high = (as_like(bound.astype(np.float64), inner) for bound in (self.space.low, self.space.high))
        scaled = (low + high) / 2 + (high - low) / 2 * kept[self.kind]()
        return scaled.astype(inner.dtype) if xp is np else scaled.to(inner.dtype)

    def out_of_range(self, points: Array) -> float:
        """The share of drawn numbers beyond the bounds, where they are not bent to lie within."""
        return (
            0.0
            if self.space is None or self.kind == "tanh"
            else float((abs(points) > 1).sum()) / math.prod(points.shape)
        )


@dataclass(frozen=True, eq=False)
class CategoricalActions:
    """One of finitely many actions at each step, alike likely; gradients are of the logits."""

    space: Finite
    horizon: int

    @property
    def centre(self) -> np.ndarray:
        return np.full((1, self.horizon, self.space.count), 1 / self.space.count)

    def draw(self, streams: Streams, purpose: str, shape: tuple[int, ...], rows: slice, like: Array) -> Sequences:
        uniforms = as_like(streams.uniforms(purpose, (*shape, self.horizon))[0], like)
        index = uniforms * self.space.count
        index = index.astype(self.space.dtype) if namespace_of(index) is np else index.to(namespace_of(index).int32)
        chosen = one_hot(index, self.space.count)
        return Sequences(index[..., None], chosen, chosen - 1 / self.space.count, 1.0)

    def out_of_range(self, points: Array) -> float:
        """None: choices have no bounds."""
        return 0.0


def action_draw(
    space: Space | None, settings: EsnrSettings, mean: np.ndarray | None, observations: int
) -> GaussianActions | CategoricalActions:
    """The distribution for an action space, around a mean [H,A] or [B,H,A] (the middle of the range)."""
    if not isinstance(space, Box | Finite | None):
        raise BadInput(f"a space is a Box, a Finite or None, got {type(space).__name__}")
    if isinstance(space, Finite):
        if mean is not None:
            raise BadInput("a mean is for actions that are numbers; these are choices")
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
