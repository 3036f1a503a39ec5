"""`wmel run`: one policy in one environment, and its scorecard."""

from typing import Annotated

import typer

from wmel.cli import options
from wmel.cli.options import count

EXAMPLES = """\b
Examples:
  wmel run --env maze_toy --policy tabular-world-model --episodes 30 --output run.json
  wmel run --env two_room_toy --policy greedy --perturb-prob 0.3 --episodes 50
  wmel run --env maze_toy --policy cem --plan-horizon 15 --execute 3 --markdown scorecard.md
  wmel run --env maze_toy --perturb-prob 1 --perturbation composite:drop-next-2+env-default
  wmel run --env dmc_acrobot --policy random-shooting --candidates 50 --plan-horizon 15 --init fixed
  wmel run --env dmc:walker-walk --policy mppi --horizon 200 --episodes 4
  wmel run --env dmc:cartpole-swingup --policy random --success 'reward>=0.6@sustained:10' --trajectories steps.npz
  wmel run --env dmc:cartpole-swingup --policy prior --model models/tdmpc2 --success 'reward>=0.6'
  wmel run --env maze_toy --policy mppi --model my_package.my_module:model --deadline-ms 5
"""


def run(
    env: options.Environment = "maze_toy",
    policy: options.Policy = "tabular-world-model",
    episodes: Annotated[int, count("--episodes", "Number of episodes.")] = 30,
    horizon: Annotated[
        int | None, count("--horizon", "Steps an episode may take.  [default: as many as the environment allows]")
    ] = None,
    init: options.Init = None,
    action_repeat: options.ActionRepeat = None,
    success: options.Success = None,
    stop: options.StopAt = None,
    objective: options.Objective = None,
    plan_horizon: Annotated[int | None, count("--plan-horizon", "Steps a plan looks ahead.  [default: 20]")] = None,
    candidates: options.Candidates = None,
    execute: options.Execute = None,
    knots: options.Knots = None,
    model: options.Model = None,
    perturb_prob: options.PerturbProb = 0.0,
    perturbation: options.Perturbation = None,
    perturb_step: options.PerturbStep = None,
    metric: options.Metric = None,
    deadline_ms: options.Deadline = None,
    seed: options.Seed = 0,
    layout: options.Layout = None,
    output: options.Output = None,
    markdown: options.Markdown = None,
    rewards: Annotated[bool, typer.Option("--rewards", help="Keep the reward of every step in the record.")] = False,
    trajectories: options.Trajectories = None,
    device: options.Device = None,
    rollout: options.Rollout = None,
    quiet: options.Quiet = False,
) -> int:
    """Run a policy in an environment and print its scorecard."""
    from wmel import catalog
    from wmel.arrays import keep_freed_memory
    from wmel.cli import inputs
    from wmel.cli.failures import common_failure
    from wmel.cli.progress import progress
    from wmel.cli.screen import say_where
    from wmel.cli.shown_results import print_scorecard
    from wmel.closed_loop.benchmark_runner import BenchmarkRunner
    from wmel.closed_loop.record import Trajectories, write_trajectories
    from wmel.reports.files import write_atomically
    from wmel.reports.markdown import to_markdown_scorecard
    from wmel.reports.records import run_record, run_scorecard, write_record

    keep_freed_memory()
    inputs.find_from_here()
    inputs.check_outputs(output, markdown, trajectories)
    metrics, grid = inputs.metrics(metric, deadline_ms), inputs.grid_settings(layout)
    world = catalog.environment(env, **grid, **inputs.given(init=init, action_repeat=action_repeat))
    settings = inputs.given(
        plan_horizon=plan_horizon,
        candidates=candidates,
        execute=execute,
        knots=knots,
        objective=objective,
        model=inputs.own_model(model, world, device, rollout),
    )
    runner = BenchmarkRunner(
        world,
        catalog.policy(policy, world, **settings),
        episodes,
        world.spec.max_steps if horizon is None else horizon,
        perturb_prob=perturb_prob,
        perturbation=inputs.perturbation(perturbation, perturb_prob),
        perturb_step=perturb_step,
        seed=seed,
        criterion=inputs.criterion(success),
        stop=stop,
    )
    steps = Trajectories() if trajectories is not None else None
    with progress(f"{policy} in {env}", episodes, quiet=quiet) as advance:
        finished = runner.run(advance, steps)
    record = run_record(finished, metrics=metrics, rewards=rewards)
    card = run_scorecard(record)
    if output is not None:
        write_record(output, record)
    if trajectories is not None and steps is not None:
        write_trajectories(trajectories, steps.arrays(world, finished.table))
    if markdown is not None:
        write_atomically(markdown, to_markdown_scorecard(card))
    if not quiet:
        print_scorecard(record.metadata, card)
        say_where(record=output, scorecard=markdown, trajectories=trajectories)
    return common_failure(finished.table)
