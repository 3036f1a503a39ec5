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
WITH_LEVELS = {  # the documents' tasks, whose actions are a few levels -> the same physics with all actions
    "dmc_acrobot": "dmc:acrobot-swingup",
    "dmc_cartpole": "dmc:cartpole-swingup",
    "dmc_reacher": "dmc:reacher-easy",
}
RECOVERABLE = ("acrobot", "cartpole", "reacher")  # domains whose observation determines the state
SCORES = {
    "acrobot": ("upright",),
    "cartpole": ("upright", "smooth-upright"),
    "pendulum": ("smooth-upright", "upright"),
    "reacher": ("target-distance",),
}
WANTED = {"mujoco": "3.16.", "dm-control": "1.0.49"}


def objectives_of(task: str) -> tuple[str, ...]:
    """What a planner may minimise there, the default first."""
    domain = task.split("-")[0]
    scores = SCORES.get(domain, ()) if task in VECTORISED else ()
    return (*(("task-reward",) if task in REWARD_OF_OBSERVATION else ()), *scores, "model-reward")


def summary_of(task: str) -> str:
    """Its line in `wmel list`."""
    how = "vectorised" if task in VECTORISED else "row by row"
    graphics = "; needs OpenGL" if task in NEEDS_GRAPHICS else ""
    ends = "; never ends early" if task.startswith("lqr") else ""
    scores = [name for name in objectives_of(task) if name != "model-reward"]
    return f"{how}{graphics}{ends}; objectives of observations: {', '.join(scores) or 'none'}"


def check_installed() -> None:
    """Refuse, with what to install, where a package is missing or of a version that loads no task."""
    for package, wanted in WANTED.items():
        try:
            found = version(package)
        except PackageNotFoundError:
            raise MissingExtra(f"{package} is not installed: pip install 'wmel[control]'") from None
        if not f"{found}.".startswith(wanted):
            raise MissingExtra(
                f"{package} {found} is installed, and wmel needs {wanted.rstrip('.')}: with others the tasks of "
                "DeepMind Control do not load; pip install 'wmel[control]'"
            )
