"""What verbs share: their parameters, each with its help and its flags, stated once for Python and the command line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from wmel.closed_loop.run import EPISODES

Kind = Literal["text", "whole", "number", "flag", "path", "texts", "wholes", "numbers", "paths"]


@dataclass(frozen=True)
class Option:
    """How a parameter looks on the command line; lists are repeated options (texts, paths) or comma-separated."""

    help: str
    kind: Kind = "text"
    flags: tuple[str, ...] = ()  # beside the one that is its name
    is_argument: bool = False
    metavar: str | None = None
    names: tuple[str, ...] = ()  # kinds of parts whose names a shell completes it with


@dataclass(frozen=True)
class SettingOf:
    """A parameter that is a setting of a part: its help, type and limits are those of the part."""

    kind: str
    part: str


Environment = Annotated[
    Any, Option("Environment; `wmel list environments` names them.", flags=("--env",), names=("environments",))
]
Policy = Annotated[
    Any, Option("Policy or planner; `wmel list policies planners` names them.", names=("policies", "planners"))
]
Planner = Annotated[Any, Option("Planner of every arm; `wmel list planners` names them.", names=("planners",))]
Model = Annotated[
    Any, Option("A checkpoint folder, or a model of your own as package.module:object.  [default: the oracle]")
]
Models = Annotated[
    Any,
    Option("A checkpoint folder, or package.module:object; may be given several times.", "texts", ("--model",)),
]
Objective = Annotated[
    Any,
    Option("What planners minimise; `wmel list objectives`.  [default: the environment's]", names=("objectives",)),
]
Execute = Annotated[
    int | None, Option("Actions executed per plan; the rest starts the next.  [default: the whole plan]", "whole")
]
Episodes = Annotated[
    int | None, Option(f"Episodes per seed.  [default: {EPISODES}]", "whole", ("--episodes-per-point",))
]
Seeds = Annotated[Sequence[int] | int, Option("Seeds of the episodes, separated by commas.", "wholes", ("--seed",))]
Seed = Annotated[int, Option("Seed of the fresh episodes and the noise.", "whole", ("--seed",))]
Horizon = Annotated[
    int | None,
    Option("Steps an episode may take.  [default: as many as the environment allows]", "whole", ("--episode-horizon",)),
]
Criterion = Annotated[
    str | None,
    Option(
        "When an episode has succeeded: 'reward>=0.6', 'reward>=0.6@sustained:10', 'distance<=0@at_end'.  "
        "[default: the environment's own]",
        flags=("--success",),
    ),
]
Stop = Annotated[str | None, Option("What ends an episode early: success, or horizon for nothing.  [default: success]")]
Perturbation = Annotated[
    Any,
    Option("What strikes; `wmel list perturbations` names them.  [default: env-default]", names=("perturbations",)),
]
PerturbProb = Annotated[
    float | None,
    Option("Share of episodes that meet the perturbation.  [default: all, where one is named]", "number"),
]
PerturbStep = Annotated[
    int | None,
    Option("Step at which it strikes.  [default: sampled by each episode's seed, within the first half]", "whole"),
]
Metrics = Annotated[
    Sequence[str],
    Option(
        "A metric to add, such as success@20; may be given several times.", "texts", ("--metric",), names=("metrics",)
    ),
]
DeadlineMs = Annotated[float | None, Option("Add the share of decisions made within this time.", "number")]
Settings = Annotated[
    Mapping[str, Any] | Sequence[str] | None,
    Option(
        "A setting of a part, such as planner.elites=8; may be given several times. `wmel list NAME` explains them.",
        "texts",
        ("--set",),
        metavar="KIND.NAME=VALUE",
    ),
]
Preset = Annotated[str | None, Option("Settings of a published run; `paper`: those of the CPG paper.")]
Device = Annotated[str | None, Option("Where checkpoints are planned with: cpu, cuda, cuda:1.  [default: cpu]")]
Rollout = Annotated[
    str | None, Option("How a tdmpc2 checkpoint imagines: latent, or decoded at every step.  [default: latent]")
]
Output = Annotated[
    Path | str | None,
    Option(
        "Folder of what is stored and written, from which the same command goes on; where it is one record, a .json "
        "file will do.",
        "path",
        ("--out",),
    ),
]
Folder = Annotated[Path | str, Option("Folder of what is written.", "path", ("--out",))]
STORED = Option("What wmel wrote: a record (.json) or the folder of a gap or study.", "path", is_argument=True)
Stored = Annotated[Path | str, STORED]
StoredOrResult = Annotated[Any, STORED]
Trainer = Annotated[Any, Option("Trainer; `wmel list trainers` names them.", is_argument=True, names=("trainers",))]
PartName = Annotated[
    Any,
    Option(
        "Name of a part; `wmel list` has them. One of your own is package.module:object.",
        is_argument=True,
    ),
]
Markdown = Annotated[Path | str | None, Option("Write the table here (Markdown).", "path")]
Trajectories = Annotated[
    Path | str | None,
    Option("Write every step here (.npz, or a folder of them): actions, states, observations, rewards.", "path"),
]
Rewards = Annotated[bool, Option("Keep the reward of every step in the record.", "flag")]
Executor = Annotated[Any, Option("serial, or processes; `wmel list executors`.", names=("executors",))]
Workers = Annotated[int | None, SettingOf("executor", "processes")]
Anytime = Annotated[bool, Option("Add pairs until each gap is decided or the maximum is reached.", "flag")]
Paper = Annotated[bool, Option("The documents' interval, and where there is one their rule, first.", "flag")]
Rerun = Annotated[
    str | None,
    Option("Run cells again whose versions, code, weights or device changed.", metavar="changed"),
]
Keep = Annotated[bool, Option("Let such cells stand.", "flag")]
Quiet = Annotated[bool, Option("Show nothing but errors.", "flag")]
