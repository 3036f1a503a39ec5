"""`wmel esnr`: how much signal policy gradients through a model carry, before any policy exists."""

from pathlib import Path
from typing import Annotated

import typer

from wmel.cli import esnr_options as asking
from wmel.cli import options

EXAMPLES = """\b
Examples:
  wmel esnr --model models/cartpole --env dmc:cartpole-swingup --methods fog,zog,cem --output runs/esnr
  wmel esnr --model models/mlp --model models/latent --env dmc:cartpole-swingup --objective smooth-upright
  wmel esnr --model oracle --env dmc_acrobot --methods zog,cem --states 128 --from cem
  wmel esnr toy --output runs/toy
  wmel esnr over-training runs/seed0 runs/seed1 --env dmc:cartpole-swingup --output runs/over-training
"""


def esnr(
    context: typer.Context,
    env: Annotated[str | None, typer.Option("--env", help="Environment the models are of.")] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model", help="A checkpoint folder, package.module:object or oracle; may be given several times."
        ),
    ] = None,
    methods: asking.Methods = None,
    states: asking.States = 64,
    source: asking.Source = None,
    plan_horizon: asking.PlanHorizon = 15,
    samples: asking.Samples = 32,
    sigma: asking.Sigma = None,
    discount: asking.Discount = 1.0,
    actions: asking.Actions = None,
    credit: asking.Credit = None,
    baseline: asking.Baseline = None,
    population: asking.Population = 64,
    elites: asking.Elites = 8,
    temperature: asking.Temperature = None,
    paper: asking.Paper = False,
    oracle: asking.Oracle = True,
    objective: options.Objective = None,
    init: options.Init = None,
    action_repeat: options.ActionRepeat = None,
    seed: asking.Seed = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "--out", help="Folder for esnr.json, esnr.md and esnr.html.")
    ] = None,
    device: options.Device = None,
    rollout: options.Rollout = None,
    quiet: options.Quiet = False,
) -> int:
    """Read models by the signal-to-noise ratio of policy gradients through them, and by where those point."""
    if context.invoked_subcommand is not None:
        return 0
    from wmel import catalog
    from wmel.cli import inputs
    from wmel.cli.esnr_sitting import estimator_settings, methods_of, seated
    from wmel.cli.progress import progress
    from wmel.cli.shown_esnr import print_esnr
    from wmel.errors import BadInput
    from wmel.reports.esnr_page import esnr_page, to_markdown_esnr
    from wmel.reports.files import write_atomically
    from wmel.reports.records import write_record

    inputs.find_from_here()
    if env is None or not model:
        raise BadInput("wmel esnr needs --env and at least one --model (or: wmel esnr toy); see wmel esnr --help")
    files = {} if output is None else {name: output / f"esnr.{name}" for name in ("json", "md", "html")}
    inputs.check_outputs(*files.values())
    world = catalog.environment(env, **inputs.given(init=init, action_repeat=action_repeat))
    wanted = methods_of(methods, world)
    own = [text for text in model if text != "oracle"]
    learned = inputs.own_models(own, world, device, rollout)
    if rollout is not None and not learned:
        raise BadInput("--rollout is for checkpoints; the oracle imagines in its own way")
    if len(learned) + model.count("oracle") < len(model) or {"oracle", ""} & set(learned):
        raise BadInput(f"each model needs a name of its own, not oracle; got {', '.join(model)}")
    if "oracle" in model and not oracle:
        raise BadInput("--model oracle and --no-oracle contradict each other")
    settings = estimator_settings(
        plan_horizon=plan_horizon, samples=samples, sigma=sigma, discount=discount, actions=actions, credit=credit,
        baseline=baseline, population=population, elites=elites, temperature=temperature, paper=paper, seed=seed,
        device=device,
    )  # fmt: skip
    sitting = seated(
        world, wanted, settings, objective=objective, source=source, models=model,
        acting=next(iter(learned.items()), ("", None)), states=states, seed=seed, init=init,
        paper=paper, oracle=oracle, quiet=quiet,
    )  # fmt: skip
    with progress(f"{', '.join(wanted)}", sitting.work(len(learned)), quiet=quiet, unit="states") as advance:
        record = sitting.read(learned, advance)
    if files:
        write_record(files["json"], record)
        write_atomically(files["md"], to_markdown_esnr(record))
        write_atomically(files["html"], esnr_page(record))
    if not quiet:
        print_esnr(record)
        if output is not None:
            print(f"\nreport: {files['html']}")
    return 0
