"""esnr as a diagnostic of an experiment: one model read by several estimators, the truth beside it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import lru_cache, partial
from hashlib import sha256
from typing import Any, Literal

from wmel import catalog
from wmel.contract.cell import ORACLE
from wmel.contract.environment import Box, Environment, Finite
from wmel.control_suite import WITH_LEVELS
from wmel.diagnostics.esnr.measure import METHODS, esnr, true_gradient
from wmel.diagnostics.esnr.readings import Reading, Readings, readings_data, sittings
from wmel.diagnostics.esnr.result import TrueGradient, alignment
from wmel.diagnostics.esnr.sampling import FEWEST_SAMPLES, EsnrSettings
from wmel.diagnostics.states import Observations, fresh_observations
from wmel.errors import BadInput
from wmel.models.callable_model import adapt_model
from wmel.models.oracle import Oracle
from wmel.parts import refuse_unknown_settings, setting
from wmel.policies.mixture import PolicyShare, acting_itself, exploration, policy_shares

EPISODE_STEPS = 200
TRIED_STATES, TRIED_STEPS = 2, 2  # of the reading by which a model is tried
BY_PAPER = ("actions", "credit", "baseline")  # which the paper fixes
SETTINGS = tuple(one.name for one in fields(EsnrSettings))


@refuse_unknown_settings
@dataclass(frozen=True)
class EsnrDiagnostic(EsnrSettings):
    """Where a model is asked and by which estimators, beside the settings of the estimators."""

    sigma: float | None = setting(  # pyright: ignore[reportIncompatibleVariableOverride]
        None, "spread of actions in halves of their range; none: 0.5, in the paper 1", above=0
    )
    temperature: float | None = setting(  # pyright: ignore[reportIncompatibleVariableOverride]
        None, "cem: elites count by exp(temperature * return); none: 0, in the paper 0.5", at_least=0
    )
    discount: float | None = setting(  # pyright: ignore[reportIncompatibleVariableOverride]
        None, "worth of a step, as a share of the step before; none: the objective's", above=0, at_most=1
    )
    methods: tuple[str, ...] | None = setting(None, "estimators; none: fog,zog,cem, of finite actions zog,cem")
    states: int = setting(64, "states the models are asked at", at_least=1)
    source: str | list | dict = setting(
        "random", "policy, or mixture, whose states they are; prior and native are a model's own"
    )
    epsilon: float = setting(0.0, "share of its actions replaced by random ones", at_least=0, at_most=1)
    episode_steps: int = setting(EPISODE_STEPS, "steps of its episodes, at most the environment's", at_least=1)
    paper: bool = setting(False, "the paper's quantity to the letter: biased, and not a displacement")
    oracle: bool = setting(True, "read the true dynamics too, and compare directions with theirs")
    noise: Literal["shared", "own"] = setting("shared", "the same noise for every model, or noise of its own")

    def __post_init__(self):
        given = {name: value for name, value in asdict(self).items() if name in SETTINGS and value is not None}
        EsnrSettings(**given)  # its checks
        for name in BY_PAPER:
            if self.paper and getattr(self, name) != EsnrSettings.__dataclass_fields__[name].default:
                raise BadInput(f"the paper's quantity is to the letter: leave out {name}")
        for name in self.methods or ():
            if name not in METHODS:
                raise BadInput(f"no estimator is called {name!r}; known: {', '.join(METHODS)}")
        if self.methods is not None and not self.methods:
            raise BadInput(f"methods must name at least one of {', '.join(METHODS)}")

    def check(self, environment: Environment, model: Any, objective: Any) -> None:
        """Refuse what cannot be read, before anything is spent; a model is asked at a few states."""
        if not acting_itself(self.source):
            exploration(environment, self.source, self.epsilon)
        self.methods_in(environment)
        score, _ = catalog.build_objective(objective or environment.spec.objectives[0], environment)
        self._discount(score, objective)
        if model is not None:
            adapt_model(model)
            small = {"states": TRIED_STATES, "samples": FEWEST_SAMPLES, "plan_horizon": TRIED_STEPS}
            tried = replace(self, source="random", episode_steps=TRIED_STEPS, oracle=False, **small)
            tried.read(environment, "", model, objective=objective, seed=0)

    def methods_in(self, environment: Environment) -> tuple[str, ...]:
        """The estimators, those that the actions allow by default."""
        space = environment.spec.actions
        if self.methods is None:
            return tuple(name for name in METHODS if name != "fog" or not isinstance(space, Finite))
        if "fog" in self.methods and isinstance(space, Finite):
            twin = WITH_LEVELS.get(environment.spec.name)
            other = "" if twin is None else f", or train on {twin}, the same physics"
            raise BadInput(f"actions are {space.count} levels: use zog or cem{other}")
        return tuple(dict.fromkeys(self.methods))

    def read(
        self,
        environment: Environment,
        name: str,
        model: Any,
        *,
        objective: Any,
        seed: int,
        source: Any = None,
        progress: Callable[[float], None] = lambda share: None,
    ) -> dict[str, Any]:
        """Read one model, or the oracle where it is None, as JSON; `progress` is told shares of the work.

        `source` is the name and the model whose own policy the states come from, where they come from one's.
        """
        given = objective or environment.spec.objectives[0]
        score, _ = catalog.build_objective(given, environment)
        acting = source or ("", None)
        seen = _states(
            environment, policy_shares(self.source), self.epsilon, self.episode_steps, self.states, seed, *acting
        )
        settings = self._settings(name, seed, self._discount(score, objective))
        methods = self.methods_in(environment)
        work = self.states * sittings(int(model is not None), methods, environment, self.oracle or model is None)
        tell = partial(_tell_share, progress, work)
        asked = _Question(environment, seen, methods, score, settings, self.paper, tell)
        truth = _truth(asked) if self.oracle and environment.spec.branchable else None
        rows: list[Reading] = []
        if model is not None:
            rows = [asked.reading(name, model, method, truth) for method in asked.methods]
        elif not environment.spec.branchable:
            raise BadInput(f"{environment.spec.name} cannot be branched: there is no oracle to read")
        beside = _oracle(asked) if model is None or truth is not None or self.oracle else ()
        return readings_data(Readings((*rows, *beside), (), seen, score.name), environment.spec.name)

    @staticmethod
    def describe(data: dict[str, Any]) -> str:
        """What a reading came to, in a few words."""
        own = [one for one in data["readings"] if one["model"] != ORACLE] or data["readings"]
        values = ((one["method"], one["esnr"]["value"]) for one in own)
        return ", ".join(f"{method} {'n/a' if value is None else format(value, '.3g')}" for method, value in values)

    def _discount(self, score: Any, objective: Any) -> float:
        """That of the objective, unless another is given here; two that differ contradict each other."""
        rate = getattr(score.reduction, "rate", 1.0)
        stated = isinstance(objective, Mapping) and "discount" in objective
        if self.discount is not None and stated and self.discount != rate:
            raise BadInput(f"discount is given twice: {self.discount:g} to the diagnostic, {rate:g} to {score.name}")
        return rate if self.discount is None else self.discount

    def _settings(self, name: str, seed: int, discount: float) -> "tuple[tuple[str, Any], ...]":
        given = {key: getattr(self, key) for key in SETTINGS if getattr(self, key) is not None}
        noise = seed
        if self.noise == "own":  # with shared noise even an estimator without signal drifts together with anything
            noise = int.from_bytes(sha256(f"{seed} {name.replace('@', ' ')}".encode()).digest()[:4])
        return tuple({**given, "discount": discount, "noise_seed": given["noise_seed"] or noise}.items())


@dataclass(frozen=True)
class _Question:
    """What every model of a reading shares; equal ones are worked out once in a process."""

    environment: Any
    seen: Observations
    methods: tuple[str, ...]
    objective: Any
    settings: tuple[tuple[str, Any], ...]
    paper: bool
    progress: Callable[[float], None] = field(compare=False)  # counts states

    @property
    def how(self) -> dict[str, Any]:
        space = self.environment.spec.actions
        shared = {"objective": self.objective, "space": space, "paper": self.paper, "progress": self.progress}
        return {**shared, **dict(self.settings)}

    def reading(self, name: str, model: Any, method: str, truth: TrueGradient | None) -> Reading:
        found = esnr(model, self.seen, method, **self.how)
        weights = getattr(getattr(model, "spec", None), "weights", None)
        return Reading(name, weights, found, None if truth is None else alignment(found, truth))


def _tell_share(progress: Callable[[float], None], work: int, states: float) -> None:
    progress(states / work)


@lru_cache(4)
def _states(
    environment: Any,
    source: tuple[PolicyShare, ...],
    epsilon: float,
    steps: int,
    states: int,
    seed: int,
    name: str,
    model: Any,
) -> Observations:
    """States that a policy comes through."""
    policy = exploration(environment, source, epsilon, model)
    length = min(steps, environment.spec.max_steps)
    seen = fresh_observations(environment, policy, states, episode_steps=length, seed=seed)
    if acting_itself(source):
        seen = replace(seen, source=f"{seen.source}, by {name}")
    if environment.spec.init == "fixed":
        seen = replace(seen, source=f"{seen.source}, init fixed")
    return seen


@lru_cache(4)
def _truth(asked: _Question) -> TrueGradient | None:
    """The oracle's slopes, where actions are numbers."""
    if not isinstance(asked.environment.spec.actions, Box):
        return None
    return true_gradient(Oracle(asked.environment), asked.seen, **asked.how)


@lru_cache(4)
def _oracle(asked: _Question) -> Sequence[Reading]:
    """The oracle read by every estimator."""
    truth, oracle, rows = _truth(asked), Oracle(asked.environment), []
    for method in asked.methods:
        known = truth is not None and method == "fog"
        found = truth.esnr if truth is not None and known else esnr(oracle, asked.seen, method, **asked.how)
        rows.append(Reading(ORACLE, None, found, None if truth is None else alignment(found, truth)))
    return tuple(rows)
