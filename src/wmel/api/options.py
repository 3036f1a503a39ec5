"""The options of the verbs: each is declared once, with its help, flags and default, for Python and the command line.

Options that several verbs share are groups: a verb that takes `**options: Unpack[EpisodeOptions]` has all of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

from wmel.closed_loop.run import EPISODES

Kind = Literal["text", "whole", "number", "flag", "path", "texts", "wholes", "numbers", "paths"]


@dataclass(frozen=True)
class Option:
    """How an option looks on the command line; lists are repeated options (texts, paths) or comma-separated."""

    help: str
    kind: Kind = "text"
    flags: tuple[str, ...] = ()  # beside the one that is its name
    default: Any = None  # of an option in a group
    is_argument: bool = False
    metavar: str | None = None
    names: tuple[str, ...] = ()  # what a shell completes it with: kinds of parts, presets, kinds, words
    at_least: float | None = None  # of a number
    at_most: float | None = None
    is_output: bool = False  # whether it is a file or folder that the verb writes

    def __repr__(self) -> str:
        return repr(self.help)  # in the signature of a verb


@dataclass(frozen=True)
class SettingOf:
    """An option that is a setting of a part: its help, type and limits are those of the part.

    One that is `merged` reaches the verb among `settings`, as `kind.name`.
    """

    kind: str
    part: str
    merged: bool = True


@dataclass(frozen=True)
class SettingsOf:
    """All settings of one part are options of the verb; without a name, of the part that is the first argument."""

    kind: str
    part: str | None = None


Environment = Annotated[
    Any, Option("Environment; `wmel list environments` names them.", flags=("--env",), names=("environments",))
]
Policy = Annotated[
    Any, Option("Policy or planner; `wmel list policies planners` names them.", names=("policies", "planners"))
]
Planner = Annotated[Any, Option("Planner of every arm; `wmel list planners` names them.", names=("planners",))]
Model = Annotated[
    Any,
    Option(
        "A checkpoint folder, a trainer's name (it is trained first), or a model of your own as package.module:object."
        "  [default: the oracle]",
        names=("trainers",),
    ),
]
Models = Annotated[
    Any,
    Option(
        "A checkpoint folder, a trainer's name (it is trained first), or package.module:object; may be given several "
        "times.",
        "texts",
        ("--model",),
        names=("trainers",),
    ),
]
Criterion = Annotated[
    Any,
    Option(
        "Condition under which an episode succeeds: 'reward>=0.6', 'reward>=0.6@sustained:10', 'distance<=0@at_end'.  "
        "[default: the environment's own]",
        flags=("--success",),
    ),
]
Output = Annotated[
    Path | str | None,
    Option(
        "Folder for what is stored and written; the same command continues from it. For a single record also a .json "
        "file.",
        "path",
        ("--out",),
        is_output=True,
    ),
]
Folder = Annotated[Path | str, Option("Folder for what is written.", "path", ("--out",), is_output=True)]
STORED = Option("What wmel wrote: a record (.json) or the folder of any verb.", "path", is_argument=True)
Stored = Annotated[Path | str, STORED]
StoredOrResult = Annotated[Any, STORED]
Seeds = Annotated[
    Sequence[int] | int | str,
    Option("Seeds of the episodes and of the noise, separated by commas.", "wholes", ("--seed",), 0),
]
Trainer = Annotated[Any, Option("Trainer; `wmel list trainers` names them.", is_argument=True, names=("trainers",))]
Diagnostic = Annotated[
    Any, Option("Diagnostic; `wmel list diagnostics` names them.", is_argument=True, names=("diagnostics",))
]
PartName = Annotated[
    Any,
    Option(
        "Name of a part; `wmel list` has them. One of your own is package.module:object, or a checkpoint folder.",
        is_argument=True,
    ),
]
Markdown = Annotated[Path | str | None, Option("Write the table here (Markdown).", "path", is_output=True)]
FORCE = Option("Write over files that wmel did not write.", "flag", default=False)  # of every verb with an output
Anytime = Annotated[bool, Option("Add pairs until each gap is decided or the maximum is reached.", "flag")]
Paper = Annotated[bool, Option("Add the answer by the interval and rule of the CPG paper.", "flag")]
Quiet = Annotated[bool, Option("Show nothing but errors.", "flag", default=False)]
Settings = Annotated[
    Mapping[str, Any] | Sequence[str] | None,
    Option(
        "A setting of a part, such as planner.elites=8; may be given several times. `wmel list NAME` explains them.",
        "texts",
        ("--set",),
        metavar="KIND.NAME=VALUE",
    ),
]
Sweep = Annotated[
    Mapping[str, Sequence[Any] | str] | Sequence[str] | None,
    Option(
        "Values of any setting: planner.elites=4,8,12; may be given several times.", "texts", metavar="KIND.NAME=A,B"
    ),
]
Device = Annotated[str | None, Option("Device for planning with checkpoints: cpu, cuda, cuda:1.  [default: cpu]")]
Trajectories = Annotated[
    Path | str | None,
    Option(
        "Write every step here: actions, states, observations, rewards. One arm: .npz; several: a folder.",
        "path",
        is_output=True,
    ),
]


Preset = Annotated[
    str | None,
    Option(
        "Settings of a published run, for parts given by name; `paper`: those of the CPG paper. Refused where it "
        "changes no part, unless it has a verdict rule and gaps are judged; a note names the parts it leaves alone.",
        names=("presets",),
    ),
]


class EnvironmentSettings(TypedDict, total=False):
    """Settings of environments that are used so often that they have an option of their own."""

    settings: Settings
    init: Annotated[Any, SettingOf("environment", "dmc:cartpole-swingup")]
    action_repeat: Annotated[Any, SettingOf("environment", "dmc:cartpole-swingup")]
    layout: Annotated[Any, SettingOf("environment", "maze_toy")]  # a file, or the drawing itself


class PlannerSettings(TypedDict, total=False):
    """The same of planners."""

    plan_horizon: Annotated[Any, SettingOf("planner", "cem")]
    candidates: Annotated[Any, SettingOf("planner", "cem")]
    iterations: Annotated[Any, SettingOf("planner", "cem")]
    elites: Annotated[Any, SettingOf("planner", "cem")]
    knots: Annotated[Any, SettingOf("planner", "cem")]
    execute: Annotated[
        int | None, Option("Actions executed per plan; the rest starts the next.  [default: the whole plan]", "whole")
    ]
    preset: Preset


class ScoringOptions(TypedDict, total=False):
    """How imagined steps are scored, and how checkpoints imagine them."""

    objective: Annotated[
        Any,
        Option("What planners minimise; `wmel list objectives`.  [default: the environment's]", names=("objectives",)),
    ]
    device: Device
    rollout: Annotated[
        str | None, Option("How a tdmpc2 checkpoint imagines: latent, or decoded at every step.  [default: latent]")
    ]


class TaskOptions(TypedDict, total=False):
    """What is attempted, and how often."""

    episodes: Annotated[
        int | None, Option(f"Episodes per seed.  [default: {EPISODES}]", "whole", ("--episodes-per-point",))
    ]
    seeds: Seeds
    horizon: Annotated[
        int | None,
        Option(
            "Steps an episode may take.  [default: as many as the environment allows]", "whole", ("--episode-horizon",)
        ),
    ]
    criterion: Criterion
    stop: Annotated[
        str | None, Option("What ends an episode early: success, or horizon for nothing.  [default: success]")
    ]
    perturbation: Annotated[
        Any,
        Option("Perturbation; `wmel list perturbations` names them.  [default: env-default]", names=("perturbations",)),
    ]
    perturb_prob: Annotated[
        float | None,
        Option(
            "Share of episodes that are perturbed.  [default: all, where one is named]",
            "number",
            at_least=0,
            at_most=1,
        ),
    ]
    perturb_step: Annotated[
        int | None,
        Option(
            "Step at which the perturbation occurs.  [default: sampled by each episode's seed, within the first half]",
            "whole",
        ),
    ]


class RowOptions(TypedDict, total=False):
    """What is computed and stored of episodes."""

    metrics: Annotated[
        Sequence[Any],
        Option(
            "A metric to add, such as success@20; may be given several times.",
            "texts",
            ("--metric",),
            (),
            names=("metrics",),
        ),
    ]
    deadline_ms: Annotated[float | None, Option("Add the share of decisions made within this time.", "number")]
    rewards: Annotated[
        bool,
        Option(
            "Keep the reward of every step in the .json record too; stored rows always have it.", "flag", default=False
        ),
    ]
    trajectories: Trajectories


class RunnerOptions(TypedDict, total=False):
    """Who runs it, and what is done with rows that are stored."""

    executor: Annotated[Any, Option("How jobs are run; see `wmel list executors`.", names=("executors",))]
    workers: Annotated[int | None, SettingOf("executor", "processes", merged=False)]
    rerun: Annotated[
        str | None,
        Option("Run cells again whose versions, code, weights or device changed.", metavar="changed"),
    ]
    keep: Annotated[bool, Option("Use the stored rows of such cells as they are.", "flag", default=False)]
    quiet: Quiet


class EpisodeOptions(
    PlannerSettings, ScoringOptions, TaskOptions, RowOptions, RunnerOptions, EnvironmentSettings, total=False
):
    """Of verbs that run episodes."""

    output: Output


class ReadingOptions(ScoringOptions, RunnerOptions, EnvironmentSettings, total=False):
    """Of verbs that read models."""

    seeds: Seeds


class StudyOptions(RunnerOptions, total=False):
    """Of a verb that runs a study from a file."""

    output: Output
    settings: Settings
    preset: Preset
    device: Device
    trajectories: Trajectories


class TrainingOptions(EnvironmentSettings, total=False):
    """Of verbs that write a checkpoint."""

    quiet: Quiet
