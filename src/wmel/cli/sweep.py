"""`wmel sweep`: one policy at several planning horizons, and the horizon that is enough."""

from typing import Annotated

import typer

from wmel.cli import options
from wmel.cli.options import count, number

EXAMPLES = """\b
Examples:
  wmel sweep --env maze_toy --plan-horizons 5,10,15,20,30 --output sweep.json
  wmel sweep --env two_room_toy --policy cem --plan-horizons 4,8,16 --epsilon 0.05
  wmel sweep --env dmc_acrobot --policy cem --init fixed --plan-horizons 1,5,10,15
  wmel sweep --env maze_toy --episodes-per-point 500 --markdown sweep.md
"""


def sweep(
    env: options.Environment = "maze_toy",
    policy: options.Policy = "tabular-world-model",
    plan_horizons: Annotated[str, typer.Option(help="Planning horizons, separated by commas.")] = "5,10,15,20,30",
    episodes_per_point: Annotated[int, count("--episodes-per-point", "Episodes per planning horizon.")] = 30,
    episode_horizon: Annotated[
        int | None,
        count("--episode-horizon", "Steps an episode may take.  [default: 80, or what the environment allows if more]"),
    ] = None,
    init: options.Init = None,
    action_repeat: options.ActionRepeat = None,
    success: options.Success = None,
    stop: options.StopAt = None,
    objective: options.Objective = None,
    epsilon: Annotated[
        float,
        typer.Option(parser=number, metavar="<float>", help="Success a longer horizon must add to count as better."),
    ] = 0.01,
    candidates: options.Candidates = None,
    model: options.Model = None,
    perturb_prob: options.PerturbProb = 0.0,
    perturbation: options.Perturbation = None,
    seed: options.Seed = 0,
    layout: options.Layout = None,
    output: options.Output = None,
    markdown: options.Markdown = None,
    device: options.Device = None,
    rollout: options.Rollout = None,
    quiet: options.Quiet = False,
) -> int:
    """Sweep the planning horizon of a policy and print the curve and its effective horizon H*."""
    from wmel import catalog
    from wmel.analysis.horizon_set import check_epsilon
    from wmel.arrays import keep_freed_memory
    from wmel.cli import inputs
    from wmel.cli.failures import common_failure
    from wmel.cli.progress import progress
    from wmel.cli.screen import say_where
    from wmel.cli.shown_results import print_sweep
    from wmel.closed_loop.horizon_sweep import horizon_sweep
    from wmel.episodes import stacked
    from wmel.reports.files import write_atomically
    from wmel.reports.markdown import to_markdown_horizon_sweep
    from wmel.reports.records import recorded_sweep, sweep_record, write_record

    keep_freed_memory()
    inputs.find_from_here()
    inputs.check_outputs(output, markdown)
    check_epsilon(epsilon)
    horizons, grid = inputs.whole_numbers(plan_horizons, "--plan-horizons"), inputs.grid_settings(layout)
    world = catalog.environment(env, **grid, **inputs.given(init=init, action_repeat=action_repeat))
    chosen = inputs.own_model(model, world, device, rollout)
    settings = inputs.given(candidates=candidates, objective=objective, model=chosen)
    with progress(f"{policy} in {env}", episodes_per_point * len(horizons), quiet=quiet) as advance:
        points = horizon_sweep(
            world,
            lambda plan_horizon: catalog.policy(policy, world, plan_horizon=plan_horizon, **settings),
            horizons,
            episodes_per_point=episodes_per_point,
            episode_horizon=max(80, world.spec.max_steps) if episode_horizon is None else episode_horizon,
            perturb_prob=perturb_prob,
            perturbation=inputs.perturbation(perturbation, perturb_prob),
            seed=seed,
            criterion=inputs.criterion(success),
            stop=stop,
            progress=advance,
        )
    record = sweep_record(points, epsilon=epsilon)
    curve = recorded_sweep(record)
    if output is not None:
        write_record(output, record)
    if markdown is not None:
        write_atomically(markdown, to_markdown_horizon_sweep(curve))
    if not quiet:
        print_sweep(record.metadata, curve)
        say_where(record=output, table=markdown)
    return common_failure(stacked([point.run.table for point in points]))
