"""Options of `wmel esnr` and of what reads models as it does."""

from typing import Annotated

import typer

from wmel.cli.options import count, number

Methods = Annotated[
    str | None,
    typer.Option("--methods", help="Estimators, separated by commas.  [default: fog,zog,cem; of levels zog,cem]"),
]
States = Annotated[int, count("--states", "States the models are asked at.")]
Source = Annotated[
    str | None,
    typer.Option(
        "--from",
        help="Policy, or mixture, whose states they are; prior and native are the first model's own.  "
        "[default: the first model's card, or random]",
    ),
]
PlanHorizon = Annotated[int, count("--plan-horizon", "Steps a gradient looks ahead.")]
Samples = Annotated[int, count("--samples", "Gradients per state.")]
Sigma = Annotated[
    float | None,
    typer.Option(parser=number, metavar="<float>", help="Spread of actions in halves of their range.  [default: 0.5]"),
]
Discount = Annotated[float, typer.Option(parser=number, metavar="<float>", help="Worth of a later step.")]
Actions = Annotated[
    str | None,
    typer.Option(
        "--actions", help="How draws stay within bounds: clamped, tanh; gaussian: they do not.  [default: clamped]"
    ),
]
Credit = Annotated[
    str | None,
    typer.Option(
        "--credit", help="zog: reward_to_go, full_return or paper (its own reward only).  [default: reward_to_go]"
    ),
]
Baseline = Annotated[
    str | None,
    typer.Option("--baseline", help="zog: leave_one_out, none or value.  [default: leave_one_out]"),
]
Population = Annotated[int, count("--population", "cem: sequences per gradient.")]
Elites = Annotated[int, count("--elites", "cem: how many of them are kept.")]
Temperature = Annotated[
    float | None,
    typer.Option(
        parser=number, metavar="<float>", help="cem: how much more better elites count.  [default: 0, all alike]"
    ),
]
Paper = Annotated[
    bool, typer.Option("--paper", help="The paper's quantity to the letter: biased, and not a displacement.")
]
Oracle = Annotated[
    bool, typer.Option("--oracle/--no-oracle", help="Read the true dynamics too, and compare directions with them.")
]
Seed = Annotated[int, count("--seed", "Of the fresh episodes and the noise.")]
