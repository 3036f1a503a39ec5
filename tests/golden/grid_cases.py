"""Golden cases on the grids, whose rows are the same on every machine."""

from tests.golden import adapters
from tests.golden.brought_models import BreakingEnvironment, FourMethods, breaking_dynamics, maze_dynamics
from tests.golden.setting import EVERY_BLOCK, Setting, plan_settings

LAYOUT = """
########
#S..#..#
#.#.#.##
#.#....#
#...##G#
########
"""
GRIDS = {
    "maze random": Setting("maze_toy", "random", 40, criterion="distance<=6", episodes=6),
    "maze greedy": Setting("maze_toy", "greedy", 30),
    "maze tabular-world-model": Setting("maze_toy", "tabular-world-model", 50, plan_settings(12, 40), episodes=6),
    "maze random-shooting stopped at horizon": Setting(
        "maze_toy", "random-shooting", 50, plan_settings(14, 80), stop="horizon", seed=4, episodes=6
    ),
    "maze cem execute": Setting(
        "maze_toy", "cem", 40, plan_settings(14, 16, execute=3), blocks=EVERY_BLOCK, episodes=6
    ),
    "maze mppi": Setting("maze_toy", "mppi", 40, plan_settings(14, 24), episodes=6),
    "own layout random-shooting": Setting(
        "maze_toy", "random-shooting", 30, plan_settings(8, 12, execute=2), {"layout": LAYOUT}, episodes=6
    ),
    "two rooms greedy": Setting("two_room_toy", "greedy", 30),
    "two rooms cem at end": Setting(
        "two_room_toy", "cem", 20, plan_settings(12, 16), criterion="distance<=2@at_end", episodes=6
    ),
    "two rooms mppi sustained": Setting(
        "two_room_toy", "mppi", 20, plan_settings(12, 16, execute=2), criterion="distance<=1@sustained:3", episodes=6
    ),
    "two rooms cem sustained": Setting(
        "two_room_toy", "cem", 20, plan_settings(8, 12), criterion="distance<=3@sustained:4", episodes=6
    ),
    "two rooms mixture": Setting(
        "two_room_toy",
        lambda environment: adapters.mix_policies(environment, "2*random+greedy", 0.3),
        40,
        episodes=10,
        criterion="distance<=4",
        blocks=EVERY_BLOCK,
    ),
}
BROUGHT = {
    "maze callable": Setting("maze_toy", "cem", 30, plan_settings(12, 10), model=lambda _: maze_dynamics),
    "maze callable execute": Setting(
        "maze_toy", "random-shooting", 24, plan_settings(10, 12, execute=4), model=lambda _: maze_dynamics
    ),
    "maze four methods": Setting(
        "maze_toy", "random-shooting", 30, plan_settings(12, 12), model=lambda _: FourMethods()
    ),
    "maze four methods native": Setting("maze_toy", "native", 30, model=lambda _: FourMethods(), blocks=EVERY_BLOCK),
    "maze breaking model": Setting(
        "maze_toy",
        "random-shooting",
        20,
        plan_settings(8, 3, execute=4),
        model=lambda _: breaking_dynamics,
        episodes=6,
        blocks=EVERY_BLOCK,
    ),
    "maze breaking environment": Setting(
        "maze_toy", "random", 40, wrap=lambda world: BreakingEnvironment(world, 2), episodes=6, blocks=EVERY_BLOCK
    ),
}
PERTURBED = {
    "two rooms env-default": Setting("two_room_toy", "greedy", 30, perturb_prob=0.6, episodes=5, seed=(2, 7)),
    "maze drop-next": Setting(
        "maze_toy",
        "random-shooting",
        40,
        plan_settings(14, 60),
        perturbation="drop-next-3",
        perturb_prob=0.6,
        episodes=5,
    ),
    "maze hold-last": Setting(
        "maze_toy", "cem", 40, plan_settings(14, 16), perturbation="hold-last-4", perturb_prob=1.0, perturb_step=3
    ),
    "two rooms composite": Setting(
        "two_room_toy",
        "cem",
        30,
        plan_settings(10, 12, execute=5),
        perturbation="composite:drop-next-2+env-default+hold-last-2",
        perturb_prob=0.7,
        episodes=6,
        blocks=EVERY_BLOCK,
    ),
}
GRID_CASES = {**GRIDS, **BROUGHT, **PERTURBED}
