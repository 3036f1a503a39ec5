"""What of an ESNR can be chosen."""

from dataclasses import asdict, dataclass, replace
from math import inf
from typing import Any, Literal

from wmel.errors import BadInput, require
from wmel.parts import accept_old_names, check_settings, setting

Credit = Literal["reward_to_go", "full_return", "paper"]
Baseline = Literal["leave_one_out", "none", "value"]
Actions = Literal["clamped", "gaussian", "tanh"]
FEWEST_SAMPLES = 4  # the correction of the ratio divides by S - 3
LARGEST_COUNT = 1_000_000
MOST_NUMBERS = 1 << 28  # drawn for one observation


@accept_old_names(horizon="plan_horizon")
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


ZOG = ("credit", "baseline")
CEM = ("population", "elites", "temperature", "normalize_returns", "raw_elite_mean")
