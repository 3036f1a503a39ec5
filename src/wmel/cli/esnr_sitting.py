"""What is fixed before models are read by ESNR: the estimators and their settings, the score, and the states."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from wmel import catalog
from wmel.cli import inputs
from wmel.cli.progress import progress
from wmel.contract.spaces import Finite
from wmel.control_suite import WITH_LEVELS
from wmel.diagnostics.esnr.measure import METHODS
from wmel.diagnostics.esnr.readings import read_models, sittings, slope_steps
from wmel.diagnostics.esnr.settings import EsnrSettings
from wmel.diagnostics.observations import EPISODES, Observations, fresh_observations
from wmel.errors import BadInput
from wmel.policies.mixture import acting_itself, exploration
from wmel.reports.esnr_envelope import EsnrRecord
from wmel.reports.esnr_record import esnr_record

EPISODE_STEPS = 200
MANY_STEPS = 3_000_000  # of a simulator: worth a word before they are taken
ON_CUDA = 1 << 18  # rows imagined at a time there


@dataclass(frozen=True, eq=False)
class Sitting:
    """States of a world, and how models are asked at them."""

    world: Any
    methods: list[str]
    score: Any
    seen: Observations
    settings: dict[str, Any]
    paper: bool
    oracle: bool

    def work(self, models: int) -> int:
        """Progress that a reading of so many models makes."""
        return len(self.seen) * sittings(models, self.methods, self.world, self.oracle)

    def read(self, models: Mapping[str, Any], advance: Callable[[float], None], **changed: Any) -> EsnrRecord:
        """Models by name as a record; `changed` are settings of this reading alone."""
        readings = read_models(
            models, self.world, self.seen, self.methods, self.score, oracle=self.oracle, progress=advance,
            paper=self.paper, **{**self.settings, **changed},
        )  # fmt: skip
        return esnr_record(readings, self.world.spec.name)


def estimator_settings(
    *,
    paper: bool,
    device: str | None,
    actions: str | None,
    credit: str | None,
    baseline: str | None,
    sigma: float | None,
    temperature: float | None,
    seed: int,
    plan_horizon: int,
    **counts: Any,
) -> dict[str, Any]:
    """What was typed as settings of an ESNR, refused before anything is played."""
    by_paper = inputs.given(actions=actions, credit=credit, baseline=baseline)
    if paper and by_paper:
        raise BadInput(f"--paper is to the letter: leave out --{next(iter(by_paper))}")
    settings: dict[str, Any] = {
        **{"horizon": plan_horizon, "noise_seed": seed, **counts, **by_paper},
        **inputs.given(sigma=sigma, temperature=temperature),
        **({} if device in (None, "cpu") else {"rows": ON_CUDA}),
    }
    EsnrSettings(**settings)
    return settings


def seated(
    world: Any,
    methods: list[str],
    settings: dict[str, Any],
    *,
    objective: str | None,
    source: str | None,
    models: list[str],
    states: int,
    seed: int,
    init: str | None,
    paper: bool,
    oracle: bool,
    quiet: bool,
    times: int = 1,
    acting: tuple[str, Any] = ("", None),
) -> Sitting:
    """Play for states to ask at, as the first of `models` was trained on where none are named.

    `acting` is the name and the model whose own policy may be their source.
    `times` is how often the truth is taken.
    """
    score = catalog.objective(objective or world.spec.objectives[0], world)
    name, epsilon, length = _collector(models) if source is None else (source, 0.0, EPISODE_STEPS)
    policy, length = exploration(world, name, epsilon, acting[1]), min(length, world.spec.max_steps)
    with progress(f"{policy.name} in {world.spec.name}", min(EPISODES, states), quiet=quiet) as advance:
        seen = fresh_observations(world, policy, states, episode_steps=length, seed=seed, progress=advance)
    if acting_itself(name):
        seen = replace(seen, source=f"{seen.source}, by {acting[0]}")
    if init is not None:
        seen = replace(seen, source=f"{seen.source}, init {init}")
    slopes = times * slope_steps(world, states, settings["samples"], settings["horizon"])
    if oracle and slopes >= MANY_STEPS and not quiet:
        told = f"the oracle's slopes take {slopes / 1e6:.0f} million steps of the simulator"
        print(f"{told}; --no-oracle leaves them out", file=sys.stderr)
    return Sitting(world, methods, score, seen, settings, paper, oracle)


def methods_of(text: str | None, world: Any) -> list[str]:
    """The estimators asked for, those that the actions allow by default."""
    space = world.spec.actions
    if text is None:
        return [name for name in METHODS if name != "fog" or not isinstance(space, Finite)]
    named = list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    for name in named:
        if name not in METHODS:
            raise BadInput(f"no estimator is called {name!r}; known: {', '.join(METHODS)}")
    if not named:
        raise BadInput(f"--methods needs at least one of {', '.join(METHODS)}")
    if "fog" in named and isinstance(space, Finite):
        twin = WITH_LEVELS.get(world.spec.name)
        other = "" if twin is None else f", or train on {twin}, the same physics"
        raise BadInput(f"actions are {space.count} levels: use zog or cem{other}")
    return named


def _collector(models: list[str]) -> tuple[str, float, int]:
    """Policy, share of random actions and steps of an episode by the first card; random where there is none."""
    from wmel.training.checkpoints import read_card

    folders = [Path(text) for text in models if Path(text).is_dir()]
    said = read_card(folders[0]).get("collect") if folders else None
    policy, epsilon, steps = (
        (said.get(name) for name in ("policy", "epsilon", "episode_steps")) if isinstance(said, dict) else (None,) * 3
    )
    if not isinstance(policy, str) or policy in ("all", "stored"):  # no policy of the catalogue came through them
        return "random", 0.0, EPISODE_STEPS
    share = float(epsilon) if isinstance(epsilon, int | float) else 0.0
    return policy, share, steps if isinstance(steps, int) and steps > 0 else EPISODE_STEPS
