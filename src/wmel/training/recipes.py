"""Recipes: how a world model is trained, as data, from the policy that collects to the checkpoint's card."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from wmel.contract.abilities import able
from wmel.contract.environment import Enumerable, Environment
from wmel.errors import BadInput
from wmel.policies.mixture import exploration
from wmel.training.card import Trained, trained_for
from wmel.training.collect import Collected, collect, every_transition
from wmel.training.devices import usable_device
from wmel.training.fit import FitSettings
from wmel.training.kinds import KINDS, imagining
from wmel.training.latent_mlp import LatentMLPSettings, check_rewarded
from wmel.training.mlp import MLPSettings
from wmel.training.stored_episodes import EpisodesFolder

TRAINERS = tuple(name for name, kind in KINDS.items() if kind.fit is not None)
EVERY_TRANSITION = FitSettings(epochs=800, batch=1 << 20, learning_rate=1e-2, held_out=0.0)  # in one batch
Progress = Callable[[float], None]


@dataclass(frozen=True)
class Collection:
    """Who collects, and how much.

    `all` is every transition there is, and then the rest has no use; `stored` are episodes someone played before.
    """

    policy: str
    transitions: int | None = None
    epsilon: float | None = None  # share of actions drawn at random instead
    episode_steps: int | None = None

    def whole(self) -> "Collection":
        """With the documents' numbers where none were given."""
        if self.policy == "stored":
            if self.epsilon is not None or self.episode_steps is not None:
                raise BadInput("stored episodes are as they were played: leave out epsilon and episode-steps")
            return replace(self, transitions=20_000 if self.transitions is None else self.transitions)
        if self.policy != "all":
            given = {name: value for name, value in asdict(self).items() if value is not None}
            return Collection(**{"transitions": 2000, "epsilon": 0.0, "episode_steps": 200} | given)
        for name in ("transitions", "epsilon", "episode_steps"):
            if getattr(self, name) is not None:
                raise BadInput(
                    f"every transition there is is collected, so {name.replace('_', '-')} has no use: leave it out, or "
                    "name a policy that collects"
                )
        return self


@dataclass(frozen=True)
class Recipe:
    """How data are collected, what is fitted and how."""

    trainer: str
    collection: Collection
    network: MLPSettings | LatentMLPSettings
    fit: FitSettings


def recipe(environment: Environment, trainer: str, **asked: Any) -> Recipe:
    """What is asked for; for the rest the documents' settings on their control tasks and mazes, else scaled changes."""
    if trainer not in TRAINERS:
        apart = "; train it with `wmel train tdmpc2` and give checkpoint = FOLDER" if trainer == "tdmpc2" else ""
        raise BadInput(f"no trainer named '{trainer}'; known: {', '.join(TRAINERS)}{apart}")
    usual = _usual_latent_mlp(environment) if trainer == "latent-mlp" else _usual_mlp(environment)
    renamed = {("policy" if name == "collect" else name): value for name, value in asked.items()}
    renamed |= {"hidden": tuple(asked["hidden"])} if "hidden" in asked else {}
    parts = {}
    for name, part in (("collection", usual.collection), ("network", usual.network), ("fit", usual.fit)):
        mine = {setting: renamed.pop(setting) for setting in list(renamed) if setting in asdict(part)}
        parts[name] = replace(part, **mine)
    if renamed:
        raise BadInput(f"trainer '{trainer}' has no setting '{next(iter(renamed))}'")
    return Recipe(trainer, parts["collection"].whole(), parts["network"], parts["fit"])


def gathered(environment: Environment, recipe: Recipe, progress: Progress = lambda done: None) -> Collected:
    """The data a recipe asks for; `progress` counts transitions."""
    how = recipe.collection
    if how.policy == "all":
        return every_transition(environment)
    if how.policy == "stored":
        raise BadInput("'stored' collects nothing: say with --data where episodes are stored")
    assert how.transitions is not None and how.epsilon is not None and how.episode_steps is not None
    policy = exploration(environment, how.policy, how.epsilon)
    steps, seed = how.episode_steps, recipe.fit.seed
    return collect(environment, policy, how.transitions, episode_steps=steps, seed=seed, progress=progress)


def stored(folder: Path, environment: Environment, transitions: int, seed: int) -> Collected:
    """So many transitions of the episodes in a folder, which must have been played in the same environment."""
    episodes = EpisodesFolder(folder).read()
    here = trained_for(environment)
    if {name: value for name, value in episodes.described.items() if name != "init"} != here:
        raise BadInput(
            f"the episodes in {folder} were played in {episodes.described['environment']} and cannot be learned from "
            f"for {environment.spec.name}: its observations, actions or action repeat are others"
        )
    return episodes.collected(transitions, seed)


def trained(
    environment: Environment, recipe: Recipe, data: Collected, progress: Progress = lambda done: None
) -> Trained:
    """The model a recipe makes of its data; `progress` counts epochs."""
    fit = KINDS[recipe.trainer].fit
    assert fit is not None, "a recipe is of a kind that is fitted to data"
    made = fit(environment, data, recipe.network, recipe.fit, progress)
    return Trained(made.model, {**made.card, "collect": {**asdict(recipe.collection), "seed": recipe.fit.seed}})


def untrained(environment: Environment, recipe: Recipe, device: str = "cpu", rollout: str | None = None) -> Any:
    """A model as large as the one a recipe makes, on a device, that imagines in the same way."""
    kind = KINDS[recipe.trainer]
    network = kind.blank(environment, recipe.network).to(usable_device(device))
    return imagining(kind.model(environment, network), recipe.trainer, rollout)


def _usual_mlp(environment: Environment) -> Recipe:
    if able(environment, Enumerable):
        return Recipe("mlp", Collection("all"), MLPSettings((32, 32), "delta", rounded=True), EVERY_TRANSITION)
    target = "next" if environment.spec.name.startswith("dmc_") else "delta"
    return Recipe("mlp", Collection("random"), MLPSettings((64, 64), target), FitSettings())


def _usual_latent_mlp(environment: Environment) -> Recipe:
    check_rewarded(environment)
    if able(environment, Enumerable):
        return Recipe("latent-mlp", Collection("all"), LatentMLPSettings(), EVERY_TRANSITION)
    fit = FitSettings(epochs=80, learning_rate=6e-3, decay=True)  # an epoch sees each transition window times
    return Recipe("latent-mlp", Collection("random"), LatentMLPSettings(), fit)
