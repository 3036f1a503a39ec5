"""What verbs share: their parameters, each with its help and its flags, stated once for Python and the command line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

Kind = Literal["text", "whole", "number", "flag", "path", "texts", "wholes", "numbers", "paths"]


@dataclass(frozen=True)
class Option:
    """How a parameter looks on the command line; lists are repeated options (texts, paths) or comma-separated."""

    help: str
    kind: Kind = "text"
    flags: tuple[str, ...] = ()  # beside the one that is its name
    is_argument: bool = False
    metavar: str | None = None


Environment = Annotated[Any, Option("Environment; `wmel list environments` names them.", flags=("--env",))]
Policy = Annotated[Any, Option("Policy or planner; `wmel list policies planners` names them.")]
Planner = Annotated[Any, Option("Planner of every arm; `wmel list planners` names them.")]
Model = Annotated[
    Any, Option("A checkpoint folder, or a model of your own as package.module:object.  [default: the oracle]")
]
Models = Annotated[
    Any,
    Option("A checkpoint folder, or package.module:object; may be given several times.", "texts", ("--model",)),
]
Objective = Annotated[Any, Option("What planners minimise; `wmel list objectives`.  [default: the environment's]")]
Execute = Annotated[
    int | None, Option("Actions executed per plan; the rest starts the next.  [default: the whole plan]", "whole")
]
Episodes = Annotated[int | None, Option("Episodes per seed.  [default: 30]", "whole")]
Seeds = Annotated[Sequence[int] | int, Option("Seeds of the episodes, separated by commas.", "wholes", ("--seed",))]
Horizon = Annotated[
    int | None, Option("Steps an episode may take.  [default: as many as the environment allows]", "whole")
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
Perturbation = Annotated[Any, Option("What strikes; `wmel list perturbations` names them.  [default: env-default]")]
PerturbProb = Annotated[
    float | None,
    Option("Share of episodes that meet the perturbation.  [default: all, where one is named]", "number"),
]
PerturbStep = Annotated[
    int | None,
    Option("Step at which it strikes.  [default: sampled by each episode's seed, within the first half]", "whole"),
]
Metrics = Annotated[
    Sequence[str], Option("A metric to add, such as success@20; may be given several times.", "texts", ("--metric",))
]
DeadlineMs = Annotated[float | None, Option("Add the share of decisions made within this time.", "number")]
Settings = Annotated[
    Mapping[str, Any] | None,
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
    Option("Folder of the stored rows and results; the same command goes on from there.", "path", ("--out",)),
]
Record = Annotated[
    Path | str | None,
    Option("Write the record here (.json), or store rows and record in a folder.", "path", ("--out",)),
]
Markdown = Annotated[Path | str | None, Option("Write the table here (Markdown).", "path")]
Trajectories = Annotated[
    Path | str | None,
    Option("Write every step here (.npz, or a folder of them): actions, states, observations, rewards.", "path"),
]
Rewards = Annotated[bool, Option("Keep the reward of every step in the record.", "flag")]
Executor = Annotated[Any, Option("serial, or processes; `wmel list executors`.")]
Workers = Annotated[int | None, Option("Processes.  [default: as many as there are cores]", "whole")]
Rerun = Annotated[
    str | None,
    Option("Run cells again whose versions, code, weights or device changed.", metavar="changed"),
]
Keep = Annotated[bool, Option("Let such cells stand.", "flag")]
Quiet = Annotated[bool, Option("Show nothing but errors.", "flag")]
