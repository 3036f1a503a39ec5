"""The names of DeepMind Control's tasks, and whether dm_control is installed."""

from importlib.metadata import PackageNotFoundError, version

from wmel.errors import MissingExtra

REWARD_OF_OBSERVATION = (
    "acrobot-swingup", "acrobot-swingup_sparse", "ball_in_cup-catch", "cartpole-balance", "cartpole-balance_sparse",
    "cartpole-swingup", "cartpole-swingup_sparse", "finger-spin", "pendulum-swingup", "point_mass-easy",
    "point_mass-hard",    "reacher-easy", "reacher-hard",
)  # fmt: skip
VECTORISED = (
    *REWARD_OF_OBSERVATION, "cheetah-run", "finger-turn_easy", "finger-turn_hard", "hopper-hop", "hopper-stand",
    "walker-run", "walker-stand", "walker-walk",
)  # fmt: skip
ROW_BY_ROW = (
    "cartpole-three_poles", "cartpole-two_poles", "dog-fetch", "dog-run", "dog-stand", "dog-trot", "dog-walk",
    "fish-swim", "fish-upright", "humanoid-run", "humanoid-run_pure_state", "humanoid-stand", "humanoid-walk",
    "humanoid_CMU-run", "humanoid_CMU-stand", "humanoid_CMU-walk", "lqr-lqr_2_1", "lqr-lqr_6_2",
    "manipulator-bring_ball", "manipulator-bring_peg", "manipulator-insert_ball", "manipulator-insert_peg",
    "quadruped-escape", "quadruped-fetch", "quadruped-run", "quadruped-walk", "stacker-stack_2",
    "stacker-stack_4", "swimmer-swimmer15", "swimmer-swimmer6",
)  # fmt: skip
TASKS = tuple(sorted((*VECTORISED, *ROW_BY_ROW)))
NEEDS_GRAPHICS = ("quadruped-escape",)
WITH_LEVELS = {  # tasks of the CPG paper and the wmel 0.18 repository with finite actions -> the same task in a Box
    "dmc_acrobot": "dmc:acrobot-swingup",
    "dmc_cartpole": "dmc:cartpole-swingup",
    "dmc_reacher": "dmc:reacher-easy",
}
RECOVERABLE = ("acrobot", "cartpole", "reacher")  # domains whose observation determines the state
OBSERVATION_OBJECTIVES = {  # besides the reward, by domain
    "acrobot": ("upright",),
    "cartpole": ("upright", "smooth-upright"),
    "pendulum": ("smooth-upright", "upright"),
    "reacher": ("target-distance",),
}
REQUIRED_VERSIONS = {"mujoco": "3.16.", "dm-control": "1.0.49"}


def objectives_of(task: str) -> tuple[str, ...]:
    """The objectives of a task, the default first."""
    domain = task.split("-")[0]
    objectives = OBSERVATION_OBJECTIVES.get(domain, ()) if task in VECTORISED else ()
    return (*(("task-reward",) if task in REWARD_OF_OBSERVATION else ()), *objectives, "model-reward")


def summary_of(task: str) -> str:
    """The line of a task in `wmel list`."""
    speed = "vectorised" if task in VECTORISED else "row by row"
    graphics = "; needs OpenGL" if task in NEEDS_GRAPHICS else ""
    ends = "; never ends early" if task.startswith("lqr") else ""
    objectives = [name for name in objectives_of(task) if name != "model-reward"]
    return f"{speed}{graphics}{ends}; objectives of observations: {', '.join(objectives) or 'none'}"


def check_installed() -> None:
    """Raises MissingExtra if a package is missing, or has a version that cannot load the tasks."""
    for package, required in REQUIRED_VERSIONS.items():
        try:
            found = version(package)
        except PackageNotFoundError:
            raise MissingExtra(f"{package} is not installed: pip install 'wmel[control]'") from None
        if not f"{found}.".startswith(required):
            raise MissingExtra(
                f"{package} {found} is installed, but wmel requires {required.rstrip('.')}: other versions cannot load "
                "the tasks of DeepMind Control; pip install 'wmel[control]'"
            )
