"""The diagnostic `alignment`: the cosine between a model's policy gradients and the true ones."""

from dataclasses import asdict, dataclass
from typing import Any

from wmel.contract.environment import Box, Environment
from wmel.diagnostics.esnr.diagnostic import EPISODE_STEPS, EsnrDiagnostic
from wmel.errors import BadInput
from wmel.parts import check_settings, refuse_unknown_settings, setting
from wmel.settings import MAX_COUNT


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
