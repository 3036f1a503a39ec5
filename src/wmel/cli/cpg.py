"""`wmel cpg`: what a planner loses when a model replaces the true dynamics."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wmel.cli import options
from wmel.cli.options import count

if TYPE_CHECKING:
    from wmel.contract.run import Run

EXAMPLES = """\b
Examples:
  wmel cpg --env dmc_cartpole --model models/cartpole --episodes 30 --seeds 0,1,2 --output runs/cartpole
  wmel cpg --env dmc_acrobot --init fixed --model models/acrobot --planner cem --paper
  wmel cpg --env dmc_reacher --model models/small --model models/large --anytime --max-episodes 150
  wmel cpg --env dmc_cartpole --model models/tdmpc2 --planner cem --rollout decoded
"""


def cpg(
    model: Annotated[
        list[str],
        typer.Option("--model", help="A checkpoint folder, or package.module:object; may be given several times."),
    ],
    env: options.Environment,
    planner: Annotated[str, typer.Option("--planner", help="Planner of every arm.")] = "random-shooting",
    episodes: Annotated[int | None, count("--episodes", "Episodes per seed.  [default: 30]")] = None,
    seeds: Annotated[str, typer.Option("--seeds", help="Seeds of the episodes, separated by commas.")] = "0",
    horizon: Annotated[int | None, count("--horizon", "Steps an episode may take.")] = None,
    plan_horizon: Annotated[int, count("--plan-horizon", "Steps a plan looks ahead.")] = 15,
    candidates: Annotated[
        int | None, count("--candidates", "Candidates drawn at a time.  [default: 50; cem 24 and mppi 64, three times]")
    ] = None,
    execute: options.Execute = None,
    objective: options.Objective = None,
    init: options.Init = None,
    action_repeat: options.ActionRepeat = None,
    success: options.Success = None,
    stop: options.StopAt = None,
    perturb_prob: options.PerturbProb = 0.0,
    perturbation: options.Perturbation = None,
    perturb_step: options.PerturbStep = None,
    anytime: Annotated[bool, typer.Option("--anytime", help="Run pairs until the gap decides or hardly can.")] = False,
    max_episodes: Annotated[
        int | None, count("--max-episodes", "The most pairs of an --anytime run.  [default: 150]")
    ] = None,
    paper: Annotated[bool, typer.Option("--paper", help="The documents' interval and rule first.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "--out", help="Folder for the records of all arms and of the gap.")
    ] = None,
    device: options.Device = None,
    rollout: options.Rollout = None,
    quiet: options.Quiet = False,
) -> int:
    """Run a planner on the true dynamics and on models, on the same seeds, and print the gap and its verdict."""
    from dataclasses import replace

    from wmel import catalog
    from wmel.arrays import keep_freed_memory
    from wmel.cli import inputs
    from wmel.cli.failures import common_failure
    from wmel.cli.progress import progress
    from wmel.cli.shown_gaps import print_comparison
    from wmel.closed_loop.benchmark_runner import BenchmarkRunner
    from wmel.closed_loop.comparison import Comparison
    from wmel.errors import BadInput
    from wmel.reports.cpg_record import FILE, cpg_record, write_arm, write_comparison
    from wmel.training.seeds import TRAINING

    keep_freed_memory()
    inputs.find_from_here()
    if output is not None:
        inputs.check_outputs(output / FILE)
    if anytime and episodes is not None:
        raise BadInput("an --anytime run finds its own number of episodes: give --max-episodes instead of --episodes")
    if not anytime and max_episodes is not None:
        raise BadInput("--max-episodes is the most an --anytime run may take: add --anytime, or give --episodes")
    world = catalog.environment(env, **inputs.given(init=init, action_repeat=action_repeat))
    if success is None and world.default_criterion is None:
        raise BadInput(f"{env} has no criterion of success of its own: give one, such as --success 'reward>=0.6'")
    drawn = 50 if candidates is None and planner == "random-shooting" else candidates
    settings = inputs.given(plan_horizon=plan_horizon, candidates=drawn, execute=execute, objective=objective)
    models = inputs.own_models(model, world, device, rollout)
    if len(models) < len(model) or {"oracle", "random", "cpg", ""} & set(models):
        raise BadInput(f"each model needs a name of its own, none of oracle, random and cpg; got {', '.join(models)}")
    gathered = _data_coverage(model)
    numbers = inputs.whole_numbers(seeds, "--seeds")
    if max(numbers) >= TRAINING:
        raise BadInput(f"seeds from {TRAINING} on are those of training data, got {max(numbers)}")
    floor = catalog.policy("random", world)
    setting = BenchmarkRunner(
        world,
        floor,
        30 if episodes is None else episodes,
        world.spec.max_steps if horizon is None else horizon,
        perturb_prob=perturb_prob,
        perturbation=inputs.perturbation(perturbation, perturb_prob),
        perturb_step=perturb_step,
        seed=numbers[0] if anytime and len(numbers) == 1 else tuple(numbers),
        criterion=inputs.criterion(success),
        stop=stop,
    )
    comparison = Comparison(
        setting,
        catalog.policy(planner, world, **settings),
        {name: catalog.policy(planner, world, **settings, model=one) for name, one in models.items()},
        floor,
    )

    kept: dict[str, int] = {}

    def keep(name: str, run: "Run") -> None:
        """An arm that is done survives whatever happens to the next."""
        if output is not None:
            write_arm(output, name, run)
            kept[name] = len(run.table)

    cap = 150 if max_episodes is None else max_episodes
    pairs = cap if anytime else setting.episodes * len(numbers)
    try:
        with progress(f"{planner} in {env}", pairs * (2 + len(models)), quiet=quiet) as advance:
            arms = comparison.run_until_decided(cap, advance, keep) if anytime else comparison.run(advance, keep)
    except KeyboardInterrupt:
        done = ", ".join(f"{name} ({episodes} episodes)" for name, episodes in kept.items())
        print(f"kept in {output}: {done}" if kept else "no arm was finished: nothing is kept", file=sys.stderr)
        raise
    arms = replace(arms, coverage={**gathered, **arms.coverage})
    record = cpg_record(arms)
    if output is not None:
        write_comparison(output, arms)
    if not quiet:
        print_comparison(record, paper_first=paper)
        if output is not None:
            print(f"\nrecords: {output}")
    return max(common_failure(run.table) for run in (arms.oracle, *arms.learned.values()))


def _data_coverage(texts: list[str]) -> dict[str, Any]:
    """Where the training data of each checkpoint went, by its card."""
    from wmel.analysis.coverage import Coverage
    from wmel.cli import inputs
    from wmel.errors import BadInput
    from wmel.training.checkpoints import read_card

    cards = {inputs.arm_name(text): read_card(Path(text)) for text in texts if Path(text).is_dir()}
    try:
        return {f"{name}'s data": Coverage(**card["coverage"]) for name, card in cards.items() if card.get("coverage")}
    except TypeError as error:
        raise BadInput(f"the coverage on a card cannot be read: {error}") from error
