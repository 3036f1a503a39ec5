"""The diagnostic `esnr` of an experiment: one model and the oracle, read by several estimators."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import lru_cache, partial
from hashlib import sha256
from typing import Any, Literal

from wmel import catalog
from wmel.contract.cell import ORACLE
from wmel.contract.environment import Box, Environment, Finite
from wmel.control_suite import WITH_LEVELS
from wmel.diagnostics.esnr.measure import METHODS, Reading, esnr, passes_over_states, readings_data, true_gradient
from wmel.diagnostics.esnr.result import TrueGradient, alignment
from wmel.diagnostics.esnr.sampling import MIN_SAMPLES, EsnrSettings
from wmel.diagnostics.states import Observations, fresh_observations
from wmel.errors import BadInput
from wmel.models.callable_model import adapt_model
from wmel.models.oracle import Oracle
from wmel.parts import check_settings, refuse_unknown_settings, setting
from wmel.policies.direct import PolicyShare, exploration, policy_shares, uses_model_policy
from wmel.settings import MAX_COUNT

EPISODE_STEPS = 200
CHECKED_STATES, CHECKED_STEPS = 2, 2  # of the small reading by which a model is checked
FIXED_BY_PAPER = ("actions", "credit", "baseline")
SETTINGS = tuple(one.name for one in fields(EsnrSettings))


@refuse_unknown_settings
@dataclass(frozen=True)
class EsnrDiagnostic(EsnrSettings):
    """The settings of the estimators, the states to read a model at, and the estimators to use."""

    sigma: float | None = setting(  # pyright: ignore[reportIncompatibleVariableOverride]
        None, "standard deviation of the actions, in halves of their range; none: 0.5, as in the paper 1", above=0
    )
    temperature: float | None = setting(  # pyright: ignore[reportIncompatibleVariableOverride]
        None, "cem: an elite has weight exp(temperature * return); none: 0, as in the paper 0.5", at_least=0
    )
    discount: float | None = setting(  # pyright: ignore[reportIncompatibleVariableOverride]
        None, "weight of a step relative to the step before; none: that of the objective", above=0, at_most=1
    )
    methods: tuple[str, ...] | None = setting(None, "estimators; none: fog,zog,cem, for finite actions zog,cem")
    states: int = setting(64, "states at which the models are read", at_least=1, cap=MAX_COUNT)
    source: str | list | dict = setting(
        "random", "policy, or mixture, that visits the states; prior and native are a model's own"
    )
    epsilon: float = setting(0.0, "share of its actions replaced by random ones", at_least=0, at_most=1)
    episode_steps: int = setting(EPISODE_STEPS, "steps of its episodes, at most the environment's", at_least=1)
    paper: bool = setting(False, "compute the quantity exactly as in the ESNR paper, which is biased")
    oracle: bool = setting(True, "read the true dynamics too, and compare directions with theirs")
    noise: Literal["shared", "own"] = setting("shared", "the same noise for every model, or its own for each")

    def __post_init__(self):
        set_values = {name: value for name, value in asdict(self).items() if name in SETTINGS and value is not None}
        EsnrSettings(**set_values)  # checks them
        for name in FIXED_BY_PAPER:
            if self.paper and getattr(self, name) != EsnrSettings.__dataclass_fields__[name].default:
                raise BadInput(f"paper = true fixes {name}: leave it out")
        for name in self.methods or ():
            if name not in METHODS:
                raise BadInput(f"no estimator is called {name!r}; known: {', '.join(METHODS)}")
        if self.methods is not None and not self.methods:
            raise BadInput(f"methods must name at least one of {', '.join(METHODS)}")

    def check(self, environment: Environment, model: Any, objective: Any) -> None:
        """Raises BadInput for what cannot be read, before any episode runs; a model is read at a few states."""
        if not uses_model_policy(self.source):
            exploration(environment, self.source, self.epsilon)
        self.methods_in(environment)
        score, _ = catalog.build_objective(objective or environment.spec.objectives[0], environment)
        self._discount(score, objective)
        if model is not None:
            adapt_model(model)
            small = {"states": CHECKED_STATES, "samples": MIN_SAMPLES, "plan_horizon": CHECKED_STEPS}
            check = replace(self, source="random", episode_steps=CHECKED_STEPS, oracle=False, **small)
            check.read(environment, "", model, objective=objective, seed=0)

    def methods_in(self, environment: Environment) -> tuple[str, ...]:
        """The requested estimators; by default those that the actions allow."""
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
        """The readings of one model as JSON, or of the oracle where `model` is None.

        `source` is the name and the model whose own policy visits the states, if one does. `progress` receives shares
        of the work.
        """
        score, _ = catalog.build_objective(objective or environment.spec.objectives[0], environment)
        acting = source or ("", None)
        observations = _visit_states(
            environment, policy_shares(self.source), self.epsilon, self.episode_steps, self.states, seed, *acting
        )
        settings = self._settings(name, seed, self._discount(score, objective))
        methods = self.methods_in(environment)
        passes = passes_over_states(int(model is not None), methods, environment, self.oracle or model is None)
        report = partial(_report_share, progress, self.states * passes)
        plan = _ReadingPlan(environment, observations, methods, score, settings, self.paper, report)
        truth = _true_gradient(plan) if self.oracle and environment.spec.branchable else None
        rows: list[Reading] = []
        if model is not None:
            rows = [plan.read(name, model, method, truth) for method in plan.methods]
        elif not environment.spec.branchable:
            raise BadInput(f"{environment.spec.name} cannot be branched: there is no oracle to read")
        if model is None or truth is not None or self.oracle:
            rows += _oracle_readings(plan)
        return readings_data(rows, observations, score.name, environment.spec.name)

    @staticmethod
    def describe(data: dict[str, Any]) -> str:
        """The ESNR of each estimator, in a few words."""
        own = [one for one in data["readings"] if one["model"] != ORACLE] or data["readings"]
        values = ((one["method"], one["esnr"]["value"]) for one in own)
        return ", ".join(f"{method} {'n/a' if value is None else format(value, '.3g')}" for method, value in values)

    def _discount(self, score: Any, objective: Any) -> float:
        """The discount set here or by the objective; raises BadInput if both set it and differ."""
        rate = getattr(score.reduction, "rate", 1.0)
        stated = isinstance(objective, Mapping) and "discount" in objective
        if self.discount is not None and stated and self.discount != rate:
            raise BadInput(f"discount is given twice: {self.discount:g} to the diagnostic, {rate:g} to {score.name}")
        return rate if self.discount is None else self.discount

    def _settings(self, name: str, seed: int, discount: float) -> "tuple[tuple[str, Any], ...]":
        set_values = {key: getattr(self, key) for key in SETTINGS if getattr(self, key) is not None}
        noise = seed
        if self.noise == "own":  # shared noise correlates even estimators without signal
            noise = int.from_bytes(sha256(f"{seed} {name.replace('@', ' ')}".encode()).digest()[:4])
        return tuple({**set_values, "discount": discount, "noise_seed": set_values["noise_seed"] or noise}.items())


@dataclass(frozen=True)
class _ReadingPlan:
    """What the readings of all models share; the oracle is read once per process for equal plans."""

    environment: Any
    observations: Observations
    methods: tuple[str, ...]
    objective: Any
    settings: tuple[tuple[str, Any], ...]
    paper: bool
    progress: Callable[[float], None] = field(compare=False)  # counts states

    @property
    def arguments(self) -> dict[str, Any]:
        """Keywords of `esnr` and `true_gradient`."""
        space = self.environment.spec.actions
        shared = {"objective": self.objective, "space": space, "paper": self.paper, "progress": self.progress}
        return {**shared, **dict(self.settings)}

    def read(self, name: str, model: Any, method: str, truth: TrueGradient | None) -> Reading:
        """One model by one estimator."""
        measured = esnr(model, self.observations, method, **self.arguments)
        weights = getattr(getattr(model, "spec", None), "weights", None)
        return Reading(name, weights, measured, None if truth is None else alignment(measured, truth))


def _report_share(progress: Callable[[float], None], work: int, states: float) -> None:
    progress(states / work)


@lru_cache(4)
def _visit_states(
    environment: Any,
    source: tuple[PolicyShare, ...],
    epsilon: float,
    steps: int,
    states: int,
    seed: int,
    name: str,
    model: Any,
) -> Observations:
    """States that a policy visits."""
    policy = exploration(environment, source, epsilon, model)
    length = min(steps, environment.spec.max_steps)
    visited = fresh_observations(environment, policy, states, episode_steps=length, seed=seed)
    if uses_model_policy(source):
        visited = replace(visited, source=f"{visited.source}, by {name}")
    if environment.spec.init == "fixed":
        visited = replace(visited, source=f"{visited.source}, init fixed")
    return visited


@lru_cache(4)
def _true_gradient(plan: _ReadingPlan) -> TrueGradient | None:
    """The oracle's gradients by central differences and with noise of their own, where actions are continuous."""
    if not isinstance(plan.environment.spec.actions, Box):
        return None
    return true_gradient(Oracle(plan.environment), plan.observations, **plan.arguments)


@lru_cache(4)
def _oracle_readings(plan: _ReadingPlan) -> Sequence[Reading]:
    """The oracle read by every estimator."""
    truth, oracle = _true_gradient(plan), Oracle(plan.environment)
    return tuple(plan.read(ORACLE, oracle, method, truth) for method in plan.methods)


@refuse_unknown_settings
@dataclass(frozen=True)
class AlignmentDiagnostic:
    """The directions of policy gradients, which `esnr` reads together with their ratios."""

    methods: tuple[str, ...] | None = setting(None, "estimators; none: fog,zog,cem")
    states: int = setting(64, "states at which the models are read", at_least=1, cap=MAX_COUNT)
    samples: int = setting(32, "gradients per state", at_least=2, cap=MAX_COUNT)
    plan_horizon: int = setting(15, "steps a sequence looks ahead", at_least=1, cap=MAX_COUNT)
    sigma: float = setting(0.5, "standard deviation of the actions, in halves of their range", above=0)
    source: str | list | dict = setting(
        "random", "policy, or mixture, that visits the states; prior and native are a model's own"
    )
    epsilon: float = setting(0.0, "share of its actions replaced by random ones", at_least=0, at_most=1)
    episode_steps: int = setting(EPISODE_STEPS, "steps of its episodes, at most the environment's", at_least=1)

    def __post_init__(self):
        check_settings(self)
        self._esnr  # checks the settings  # noqa: B018

    @property
    def _esnr(self) -> EsnrDiagnostic:
        return EsnrDiagnostic(**asdict(self))

    def check(self, environment: Environment, model: Any, objective: Any) -> None:
        """Raises BadInput where there is no true gradient, before any episode runs."""
        if not environment.spec.branchable or not isinstance(environment.spec.actions, Box):
            raise BadInput(f"{environment.spec.name} has no true gradient: it must be branchable, its actions a box")
        self._esnr.check(environment, model, objective)

    def read(self, environment: Environment, name: str, model: Any, **options: Any) -> dict[str, Any]:
        """The cosines of one model and of the oracle's own estimates, as JSON; `options` are those of `esnr`."""
        data = self._esnr.read(environment, name, model, **options)
        rows = [
            {
                "model": one["model"],
                "method": one["method"],
                "cosine": one["alignment"]["cosine"]["value"],
                "low": one["alignment"]["cosine"]["low"],
                "high": one["alignment"]["cosine"]["high"],
                "against": one["alignment"]["against_share"],
                "unresolved": one["alignment"]["unresolved_share"],
            }
            for one in data["readings"]
        ]
        return {"environment": data["environment"], "source": data["source"], "rows": rows}

    @staticmethod
    def describe(data: dict[str, Any]) -> str:
        """The first cosines, in a few words."""
        values = ((one["method"], one["cosine"]) for one in data["rows"][:3])
        return ", ".join(f"{method} {'n/a' if value is None else format(value, '.2f')}" for method, value in values)
