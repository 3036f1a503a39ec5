"""Options that several verbs share, said once."""

from pathlib import Path
from typing import Annotated

import typer


def whole_number(text: str) -> int:
    """What was typed as an integer; anything else is named."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a whole number") from None


def plan_or_number(text: str) -> int | None:
    """`plan` for the whole plan, or how many of its actions."""
    return None if text == "plan" else whole_number(text)


def number(text: str) -> float:
    """What was typed as a number; anything else is named."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number") from None


Environment = Annotated[str, typer.Option("--env", help="Environment; `wmel list environments` names them.")]
Policy = Annotated[str, typer.Option("--policy", help="Policy; `wmel list policies` names them.")]
Candidates = Annotated[
    int | None,
    typer.Option(
        "--candidates",
        parser=whole_number,
        metavar="<int>",
        help="Candidates drawn at a time.  [default: 200; cem: 24 and mppi: 64, three times]",
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model", help="A checkpoint folder, or a model of your own as package.module:object.  [default: the oracle]"
    ),
]
Device = Annotated[
    str | None, typer.Option("--device", help="Where checkpoints are planned with: cpu, cuda, cuda:1.  [default: cpu]")
]
Rollout = Annotated[
    str | None,
    typer.Option(
        "--rollout",
        help="How a tdmpc2 checkpoint imagines: latent, or decoded at every step.  [default: latent]",
    ),
]
Execute = Annotated[
    int | None,
    typer.Option(
        "--execute",
        parser=plan_or_number,
        metavar="plan|<int>",
        help="Actions executed per plan; after K of them the rest of it starts the next.  [default: plan]",
    ),
]
Knots = Annotated[
    int | None,
    typer.Option(
        "--knots", parser=whole_number, metavar="<int>", help="Draw actions at so many moments and interpolate (Box)."
    ),
]
PerturbProb = Annotated[
    float,
    typer.Option(
        "--perturb-prob", parser=number, metavar="<float>", help="Share of episodes that meet the perturbation."
    ),
]
Perturbation = Annotated[
    str | None,
    typer.Option("--perturbation", help="What strikes; `wmel list perturbations` names them.  [default: env-default]"),
]
PerturbStep = Annotated[
    int | None,
    typer.Option(
        "--perturb-step",
        parser=whole_number,
        metavar="<int>",
        help="Step at which it strikes.  [default: drawn by each episode's seed, within the first half]",
    ),
]
Metric = Annotated[
    list[str] | None,
    typer.Option("--metric", help="A metric to add, such as success@20; may be given several times."),
]
Deadline = Annotated[
    float | None,
    typer.Option(
        "--deadline-ms", parser=number, metavar="<float>", help="Add the share of decisions made within this time."
    ),
]
Seed = Annotated[
    int,
    typer.Option("--seed", parser=whole_number, metavar="<int>", help="Episode k has the seed SEED * 100000 + k."),
]
Layout = Annotated[
    Path | None,
    typer.Option("--layout", help="Text file with a grid of your own: # wall, . free, S start, G goal, D door."),
]
Output = Annotated[Path | None, typer.Option("--output", "--out", help="Write the record here (JSON).")]
Markdown = Annotated[Path | None, typer.Option("--markdown", help="Write the table here (Markdown).")]
Init = Annotated[
    str | None,
    typer.Option(
        "--init", help="Where episodes start: task (drawn by their seeds) or fixed (all alike).  [default: task]"
    ),
]
ActionRepeat = Annotated[
    int | None,
    typer.Option(
        "--action-repeat",
        parser=whole_number,
        metavar="<int>",
        help="Of dmc: tasks: control steps that one step is, their rewards added up.  [default: 1]",
    ),
]
Success = Annotated[
    str | None,
    typer.Option(
        "--success",
        help="When an episode has succeeded: 'reward>=0.6', 'reward>=0.6@sustained:10', 'distance<=0@at_end'.  "
        "[default: the environment's own]",
    ),
]
StopAt = Annotated[
    str | None,
    typer.Option("--stop", help="What ends an episode early: success, or horizon for nothing.  [default: success]"),
]
Objective = Annotated[
    str | None,
    typer.Option("--objective", help="What planners minimise; `wmel list objectives`.  [default: the environment's]"),
]
Trajectories = Annotated[
    Path | None,
    typer.Option("--trajectories", help="Write every step here (.npz): actions, states, observations, rewards."),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")]


def count(flag: str, meaning: str):
    """An option that takes a whole number."""
    return typer.Option(flag, parser=whole_number, metavar="<int>", help=meaning)
