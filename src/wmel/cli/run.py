"""`wmel run`: one policy in one environment, and its scorecard."""

from typing import Annotated

from wmel.cli import options
from wmel.cli.options import count

EXAMPLES = """\b
Examples:
  wmel run --env maze_toy --policy tabular-world-model --episodes 30 --output run.json
  wmel run --env two_room_toy --policy greedy --horizon 60 --episodes 50
  wmel run --env maze_toy --policy cem --plan-horizon 15 --markdown scorecard.md
  wmel run --env maze_toy --layout my_maze.txt
"""


def run(
    env: options.Environment = "maze_toy",
    policy: options.Policy = "tabular-world-model",
    episodes: Annotated[int, count("--episodes", "Number of episodes.")] = 30,
    horizon: Annotated[int, count("--horizon", "Steps an episode may take.")] = 60,
    plan_horizon: Annotated[int | None, count("--plan-horizon", "Steps a plan looks ahead.  [default: 20]")] = None,
    candidates: options.Candidates = None,
    seed: options.Seed = 0,
    layout: options.Layout = None,
    output: options.Output = None,
    markdown: options.Markdown = None,
    quiet: options.Quiet = False,
) -> int:
    """Run a policy in an environment and print its scorecard."""
    from wmel import catalog
    from wmel.cli.failures import common_failure
    from wmel.cli.inputs import check_outputs, grid_settings
    from wmel.cli.progress import progress
    from wmel.cli.screen import print_scorecard, say
    from wmel.closed_loop.benchmark_runner import BenchmarkRunner
    from wmel.reports.files import write_atomically
    from wmel.reports.markdown import to_markdown_scorecard
    from wmel.reports.records import run_record, run_scorecard, write_record

    check_outputs(output, markdown)
    grid = grid_settings(layout)
    world = catalog.environment(env, **grid)
    given = {"plan_horizon": plan_horizon, "candidates": candidates}
    settings = catalog.POLICIES.settings(policy, **{name: value for name, value in given.items() if value is not None})
    runner = BenchmarkRunner(world, catalog.policy(policy, world, **settings), episodes, horizon, seed)
    with progress(f"{policy} in {env}", episodes, quiet=quiet) as advance:
        finished = runner.run(advance)
    record = run_record(finished, settings=settings, layout=grid.get("layout"))
    card = run_scorecard(record)
    if not quiet:
        print_scorecard(record.metadata, card)
    if output is not None:
        write_record(output, record)
        say(f"record: {output}", quiet=quiet)
    if markdown is not None:
        write_atomically(markdown, to_markdown_scorecard(card))
        say(f"scorecard: {markdown}", quiet=quiet)
    return common_failure(finished.table)
