"""What of an ESNR can be chosen."""

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

from wmel.errors import BadInput, is_number, require, require_whole

Credit = Literal["reward_to_go", "full_return", "paper"]
Baseline = Literal["leave_one_out", "none", "value"]
Actions = Literal["clamped", "gaussian", "tanh"]
CHOICES = {"credit": Credit, "baseline": Baseline, "actions": Actions}
FEWEST_SAMPLES = 4  # the correction of the ratio divides by S - 3
LARGEST_COUNT = 1_000_000
MOST_NUMBERS = 1 << 28  # drawn for one observation


@dataclass(frozen=True)
class EsnrSettings:
    """`sigma` is in halves of the action range (in the model's own units where actions have no range)."""

    horizon: int = 15
    discount: float = 1.0
    samples: int = 32  # gradients per observation
    sigma: float = 0.5
    actions: Actions = "clamped"  # how draws stay within bounds; gaussian: they do not
    credit: Credit = "reward_to_go"  # zog: which rewards an action answers for
    baseline: Baseline = "leave_one_out"  # zog: what is taken off them
    population: int = 64  # cem: sequences per gradient
    elites: int = 8
    temperature: float = 0.0  # cem: elites count by exp(temperature * return); 0: alike
    normalize_returns: bool = False  # cem: in deviations of the elites' returns, before the temperature
    raw_elite_mean: bool = False  # cem: the elite mean itself, not how far it lies from where it was drawn around
    terminal_value: bool = False  # the model's value of the last latent counts
    literal: bool = False  # the paper's ratio: 1e-8 on the variance, nothing corrected
    noise_seed: int = 0
    rows: int = 2048  # imagined at a time; changes memory and no result

    def __post_init__(self):
        for name, kind in CHOICES.items():
            if getattr(self, name) not in get_args(kind):
                raise BadInput(f"{name} must be one of {', '.join(get_args(kind))}, got {getattr(self, name)!r}")
        for name in ("horizon", "samples", "population", "elites", "rows"):
            require_whole(getattr(self, name), name)
            require(getattr(self, name) <= LARGEST_COUNT, f"{name} is at most {LARGEST_COUNT}", getattr(self, name))
        for name in ("discount", "sigma", "temperature"):
            require(is_number(getattr(self, name)), f"{name} must be a number", getattr(self, name))
        for name in ("normalize_returns", "raw_elite_mean", "terminal_value", "literal"):
            require(isinstance(getattr(self, name), bool), f"{name} must be True or False", getattr(self, name))
        require_whole(self.noise_seed, "the noise seed", at_least=0)
        drawn = self.samples * self.population * self.horizon
        asked = f"{self.samples} samples x {self.population} sequences x {self.horizon} steps"
        if drawn > MOST_NUMBERS:
            raise BadInput(f"{asked} are too many for one observation (at most {MOST_NUMBERS}): lower one of them")
        if self.samples < FEWEST_SAMPLES:
            raise BadInput(
                f"an ESNR needs at least {FEWEST_SAMPLES} gradients per observation, got {self.samples}: "
                "with fewer its bias cannot be corrected"
            )
        require(0 < self.discount <= 1, "a discount must lie in (0, 1]", self.discount)
        require(0 < self.sigma < float("inf"), "sigma must be a positive number", self.sigma)
        require(0 <= self.temperature < float("inf"), "the temperature must not be negative", self.temperature)
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


ZOG = ("credit", "baseline")
CEM = ("population", "elites", "temperature", "normalize_returns", "raw_elite_mean")
