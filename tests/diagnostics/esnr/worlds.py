"""Models whose gradients are known exactly, and how far sampled ones may lie from that."""

from dataclasses import dataclass

import numpy as np
import torch

NOWHERE = np.zeros((1, 1))  # one observation nobody reads


def still(latents, actions):
    """The dynamics of a world where nothing moves."""
    return latents


def tensor(numbers) -> torch.Tensor:
    return torch.as_tensor(np.asarray(numbers), dtype=torch.float32)


def quadratic(centre, weights=None, *, scale=1.0, offset=0.0):
    """The pair of J = -scale (a - centre)' weights (a - centre) + offset."""
    middle, form = tensor(centre), tensor(np.eye(len(centre)) if weights is None else weights)

    def reward(latents, actions):
        apart = actions - middle
        return -scale * ((apart @ form) * apart).sum(1) + offset

    return still, reward


def linear(slopes, offset=0.0):
    """The pair of J = slopes . a + offset."""
    along = tensor(slopes)
    return still, lambda latents, actions: actions @ along + offset


@dataclass(frozen=True, eq=False)
class Form:
    """J(U) = -(U'PU + 2 q'U + k), and the moments of its gradients where U ~ N(m, sigma^2)."""

    P: np.ndarray
    q: np.ndarray
    k: float

    def __add__(self, other: "Form") -> "Form":
        return Form(self.P + other.P, self.q + other.q, self.k + other.k)

    def __rmul__(self, factor: float) -> "Form":
        return Form(factor * self.P, factor * self.q, factor * self.k)

    def expected(self, mean, sigma) -> float:
        """E[J]"""
        return self._at(mean) - sigma**2 * np.trace(self.P)

    def pathwise(self, mean, sigma):
        """Mean and variance [D] of dJ/dU = -2 (P U + q)."""
        return -2 * (self.P @ mean + self.q), 4 * sigma**2 * (self.P**2).sum(axis=1)

    def score(self, mean, sigma, baseline):
        """Mean and variance [D] of (J - b) eps / sigma, by Isserlis' theorem."""
        p, K = self.P @ mean + self.q, sigma**2 * self.P
        slope, level, own, square = -2 * sigma * p, self._at(mean) - baseline, np.diag(K), K @ K
        second = (level - np.trace(K) - 2 * own) ** 2 - 4 * own**2 + 2 * np.trace(square) + 8 * np.diag(square)
        return -2 * p, (second + slope @ slope + slope**2) / sigma**2

    def _at(self, mean) -> float:
        return -(mean @ self.P @ mean + 2 * self.q @ mean + self.k)


@dataclass(frozen=True, eq=False)
class LinearQuadratic:
    """z' = Az + Ba with reward -(z - z*)'Q(z - z*) - a'Ra at the state before the step."""

    A: np.ndarray
    B: np.ndarray
    Q: np.ndarray
    R: np.ndarray
    target: np.ndarray
    start: np.ndarray
    horizon: int = 4

    @classmethod
    def sampled(cls, seed: int, *, action_cost: float = 1.0) -> "LinearQuadratic":
        rng, states, actions = np.random.default_rng(seed), 3, 2
        roots = rng.normal(size=(states, states)), rng.normal(size=(actions, actions))
        Q, R = (root @ root.T / len(root) for root in roots)
        return cls(
            0.9 * np.linalg.qr(rng.normal(size=(states, states)))[0], rng.normal(size=(states, actions)), Q,
            action_cost * R, rng.normal(size=states), rng.normal(size=states),
        )  # fmt: skip

    def pair(self, to_array=tensor):
        A, B, Q, R, target = map(to_array, (self.A, self.B, self.Q, self.R, self.target))

        def reward(latents, actions):
            apart = latents - target
            return -((apart @ Q) * apart).sum(1) - ((actions @ R) * actions).sum(1)

        return lambda latents, actions: latents @ A.T + actions @ B.T, reward

    def step_form(self, step: int) -> Form:
        """The reward of a step, the first being 0, as a form of all actions."""
        width = self.B.shape[1]
        moved = np.zeros((len(self.A), self.horizon * width))
        for earlier in range(step):
            block = np.linalg.matrix_power(self.A, step - 1 - earlier) @ self.B
            moved[:, earlier * width : (earlier + 1) * width] = block
        apart = np.linalg.matrix_power(self.A, step) @ self.start - self.target
        chosen = np.zeros((width, self.horizon * width))
        chosen[:, step * width : (step + 1) * width] = np.eye(width)
        P = moved.T @ self.Q @ moved + chosen.T @ self.R @ chosen
        return Form(P, moved.T @ self.Q @ apart, apart @ self.Q @ apart)

    def form(self, discount: float, steps=None) -> Form:
        """The discounted rewards of some steps, or all, together."""
        first, *rest = (discount**step * self.step_form(step) for step in steps or range(self.horizon))
        for one in rest:
            first = first + one
        return first

    def credited(self, credit: str, discount: float) -> list[Form]:
        """What each action answers for."""
        every = range(self.horizon)
        whom = {
            "full_return": lambda step: every,
            "reward_to_go": lambda step: range(step, self.horizon),
            "paper": lambda step: range(step, step + 1),
        }
        return [self.form(discount, whom[credit](step)) for step in every]


def score_moments(forms: list[Form], mean, sigma, baselines):
    """Mean and variance [D] of the score gradients of a sequence, the block of each step by its own form."""
    width, means, variances = len(mean) // len(forms), [], []
    for step, (form, baseline) in enumerate(zip(forms, baselines, strict=True)):
        own = slice(step * width, (step + 1) * width)
        middle, spread = form.score(mean, sigma, baseline)
        means.append(middle[own])
        variances.append(spread[own])
    return np.concatenate(means), np.concatenate(variances)


def assert_moments(samples, mean, variance, *, errors=5.0, rounding=1e-5):
    """Samples [n,D] have this mean and variance [D] within so many standard errors.

    That of a mean is sd / sqrt(n), that of a variance the deviation of squared deviations / sqrt(n), both as sampled;
    `rounding` is the float32 allowance, relative to the size of the gradient.
    """
    count, squares = len(samples), (samples - samples.mean(axis=0)) ** 2
    scale = np.sqrt((samples**2).mean(axis=0))
    off = abs(samples.mean(axis=0) - mean), abs(squares.mean(axis=0) - variance)
    allowed = errors * np.sqrt(squares.mean(axis=0) / count), errors * squares.std(axis=0) / np.sqrt(count)
    assert (off[0] <= allowed[0] + rounding * scale).all(), (off[0] / allowed[0], samples.mean(axis=0), mean)
    assert (off[1] <= allowed[1] + rounding * scale**2).all(), (off[1] / allowed[1], squares.mean(axis=0), variance)


def ratio_error(samples) -> np.ndarray:
    """The standard error [D] of mean^2 / variance of samples [n,D], by the delta method."""
    apart = samples - samples.mean(axis=0)
    spread = apart.std(axis=0)
    t, skew, kurtosis = (samples.mean(axis=0) / spread, *((apart**k).mean(axis=0) / spread**k for k in (3, 4)))
    return np.sqrt((4 * t**2 - 4 * t**3 * skew + t**4 * (kurtosis - 1)) / len(samples))
