"""Golden cases of learned models: planning with them, and the weights of tiny trainings."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.golden import adapters
from tests.golden.setting import EVERY_BLOCK, Numbers, Setting, plan_settings

BALANCE = "dmc:cartpole-balance"  # the swing-up's observations; from hanging down every action is at its bound
TDMPC2, FIVE_CRITICS = (Path(__file__).parents[2] / "models" / name for name in ("cartpole-td1", "cartpole-td5"))


def _trained(environment: str, kind: str) -> Callable[[Any], Any]:
    return lambda _: adapters.train_model(environment, kind)


def _tdmpc2(rollout: str | None = None, folder: Path = TDMPC2) -> Callable[[Any], Any]:
    return lambda environment: adapters.restore_model(folder, environment, rollout)


def _random_and_prior(environment: Any) -> Any:
    model = adapters.restore_model(TDMPC2, environment)
    return adapters.mix_policies(environment, "random+prior", 0.2, model)


def _weights_of(environment: str, kind: str) -> Callable[[], Mapping[str, Any]]:
    return lambda: {"sha256": [adapters.hash_weights(adapters.weights_of(adapters.train_model(environment, kind)))]}


LEARNED = {
    "maze mlp": Setting(
        "maze_toy",
        "cem",
        40,
        plan_settings(12, 16),
        model=_trained("maze_toy", "mlp"),
        criterion="distance<=4",
        depends_on="learned",
    ),
    "cartpole mlp": Setting(
        "dmc_cartpole",
        "random-shooting",
        16,
        plan_settings(6, 12),
        model=_trained("dmc_cartpole", "mlp"),
        episodes=6,
        stop="horizon",
        blocks=EVERY_BLOCK,
        depends_on="learned",
    ),
    "swingup mlp execute": Setting(
        "dmc:cartpole-swingup",
        "mppi",
        16,
        plan_settings(6, 12, execute=3, objective="task-reward"),
        model=_trained("dmc:cartpole-swingup", "mlp"),
        depends_on="learned",
    ),
    "swingup latent-mlp": Setting(
        "dmc:cartpole-swingup",
        "cem",
        16,
        plan_settings(6, 12, objective="model-reward"),
        model=_trained("dmc:cartpole-swingup", "latent-mlp"),
        depends_on="learned",
    ),
    "cartpole latent-mlp": Setting(
        "dmc_cartpole",
        "mppi",
        16,
        plan_settings(6, 12, execute=2),
        model=_trained("dmc_cartpole", "latent-mlp"),
        stop="horizon",
        depends_on="learned",
    ),
    "swingup tdmpc2 latent": Setting(
        "dmc:cartpole-swingup",
        "cem",
        8,
        plan_settings(4, 12, objective="task-reward"),
        model=_tdmpc2("latent"),
        episodes=5,
        blocks=EVERY_BLOCK,
        depends_on="learned",
    ),
    "swingup tdmpc2 decoded": Setting(
        "dmc:cartpole-swingup",
        "cem",
        8,
        plan_settings(4, 12, objective="task-reward"),
        model=_tdmpc2("decoded"),
        depends_on="learned",
    ),
    "cartpole tdmpc2 reward": Setting(
        "dmc_cartpole",
        "random-shooting",
        8,
        plan_settings(4, 12, objective="model-reward"),
        model=_tdmpc2("latent"),
        stop="horizon",
        depends_on="learned",
    ),
    "balance tdmpc2 native": Setting(
        BALANCE, "native", 5, model=_tdmpc2(), blocks=EVERY_BLOCK, episodes=5, depends_on="learned"
    ),
    "balance tdmpc2 native of five critics": Setting(
        BALANCE, "native", 2, model=_tdmpc2(folder=FIVE_CRITICS), episodes=2, depends_on="learned"
    ),
    "balance tdmpc2 prior": Setting(
        BALANCE, "prior", 12, model=_tdmpc2(), blocks=EVERY_BLOCK, episodes=5, depends_on="learned"
    ),
    "swingup tdmpc2 prior": Setting("dmc:cartpole-swingup", "prior", 30, model=_tdmpc2(), depends_on="learned"),
    "balance random and prior": Setting(BALANCE, _random_and_prior, 12, episodes=4, depends_on="learned"),
}
WEIGHTS = {
    "weights of mlp": Numbers(_weights_of("dmc_cartpole", "mlp")),
    "weights of mlp box": Numbers(_weights_of("dmc:cartpole-swingup", "mlp")),
    "weights of latent-mlp": Numbers(_weights_of("dmc:cartpole-swingup", "latent-mlp")),
    "weights of latent-mlp levels": Numbers(_weights_of("dmc_cartpole", "latent-mlp")),
    "weights of tdmpc2": Numbers(
        lambda: {
            "sha256": [adapters.hash_weights(adapters.weights_of(adapters.train_tdmpc2("dmc:cartpole-swingup", 12)))]
        }
    ),
}
LEARNED_CASES = {**LEARNED, **WEIGHTS}
