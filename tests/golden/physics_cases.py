"""Golden cases on control tasks; rewards depend on numpy's vector instructions in their last bits."""

from tests.golden.brought_models import BreakingEnvironment
from tests.golden.setting import EVERY_BLOCK, Setting, plan_settings

PHYSICS = {
    "acrobot fixed": Setting(
        "dmc_acrobot",
        "random-shooting",
        20,
        plan_settings(8, 12),
        {"init": "fixed"},
        stop="horizon",
        depends_on="physics",
    ),
    "acrobot task": Setting("dmc_acrobot", "mppi", 12, plan_settings(5, 8), stop="horizon", depends_on="physics"),
    "cartpole blocks": Setting(
        "dmc_cartpole",
        "cem",
        15,
        plan_settings(6, 10, execute=3),
        episodes=6,
        perturbation="observation-noise-0.1",
        perturb_prob=0.5,
        blocks=EVERY_BLOCK,
        depends_on="physics",
    ),
    "cartpole fixed": Setting(
        "dmc_cartpole",
        "random-shooting",
        16,
        plan_settings(6, 10),
        {"init": "fixed"},
        stop="horizon",
        depends_on="physics",
    ),
    "reacher task": Setting(
        "dmc_reacher", "random-shooting", 30, plan_settings(8, 24), episodes=4, depends_on="physics"
    ),
    "reacher fixed": Setting("dmc_reacher", "cem", 60, plan_settings(12, 16), {"init": "fixed"}, depends_on="physics"),
    "walker mppi knots": Setting(
        "dmc:walker-walk", "mppi", 6, plan_settings(6, 6, knots=3, execute=2), episodes=2, depends_on="physics"
    ),
    "swingup random-shooting repeated": Setting(
        "dmc:cartpole-swingup",
        "random-shooting",
        10,
        plan_settings(4, 8),
        {"action_repeat": 2},
        criterion="reward>=0.003@sustained:2",
        stop="horizon",
        depends_on="physics",
    ),
    "swingup cem knots": Setting(
        "dmc:cartpole-swingup",
        "cem",
        14,
        plan_settings(9, 10, knots=3, execute=4, objective="smooth-upright"),
        criterion="reward>=0.0004",
        depends_on="physics",
    ),
    "cheetah mppi at end": Setting(
        "dmc:cheetah-run",
        "mppi",
        8,
        plan_settings(5, 6),
        criterion="reward>=0.02@at_end",
        episodes=4,
        depends_on="physics",
    ),
    "two poles row by row": Setting(
        "dmc:cartpole-two_poles", "cem", 5, plan_settings(3, 4), episodes=2, depends_on="physics"
    ),
    "lqr row by row random": Setting("dmc:lqr-lqr_2_1", "random", 8, episodes=2, depends_on="physics"),
}
PERTURBED = {
    "reacher hold-idle": Setting(
        "dmc_reacher",
        "random-shooting",
        20,
        plan_settings(6, 10),
        perturbation="hold-idle-5",
        perturb_prob=0.7,
        episodes=4,
        depends_on="physics",
    ),
    "cartpole observation-noise": Setting(
        "dmc_cartpole",
        "cem",
        16,
        plan_settings(5, 8),
        perturbation="observation-noise-0.3@6",
        perturb_prob=0.7,
        perturb_step=2,
        stop="horizon",
        depends_on="physics",
    ),
    "acrobot action-delay": Setting(
        "dmc_acrobot",
        "random-shooting",
        16,
        plan_settings(5, 8, execute=2),
        perturbation="action-delay-2@7",
        perturb_prob=0.8,
        episodes=4,
        stop="horizon",
        depends_on="physics",
    ),
    "acrobot breaking environment": Setting(
        "dmc_acrobot",
        "random",
        12,
        wrap=lambda world: BreakingEnvironment(world, 0.312),
        episodes=5,
        blocks=EVERY_BLOCK,
        stop="horizon",
        depends_on="physics",
    ),
}
PHYSICS_CASES = {**PHYSICS, **PERTURBED}
