"""`wmel esnr`: how much signal policy gradients through a model carry, before any policy exists."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from wmel.cli import options
from wmel.cli.options import count, number

EXAMPLES = """\b
Examples:
  wmel esnr --model models/cartpole --env dmc:cartpole-swingup --methods fog,zog,cem --output runs/esnr
  wmel esnr --model models/mlp --model models/latent --env dmc:cartpole-swingup --objective smooth-upright
  wmel esnr --model oracle --env dmc_acrobot --methods zog,cem --states 128 --from cem
  wmel esnr toy --output runs/toy
"""
EPISODE_STEPS = 200
MANY_STEPS = 3_000_000  # of a simulator: worth a word before they are taken
ON_CUDA = 1 << 18  # rows imagined at a time there


def esnr(
    context: typer.Context,
    env: Annotated[str | None, typer.Option("--env", help="Environment the models are of.")] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model", help="A checkpoint folder, package.module:object or oracle; may be given several times."
        ),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option("--methods", help="Estimators, separated by commas.  [default: fog,zog,cem; of levels zog,cem]"),
    ] = None,
    states: Annotated[int, count("--states", "States the models are asked at.")] = 64,
    source: Annotated[
        str | None,
        typer.Option(
            "--from", help="Policy, or mixture, whose states they are.  [default: the first model's card, or random]"
        ),
    ] = None,
    plan_horizon: Annotated[int, count("--plan-horizon", "Steps a gradient looks ahead.")] = 15,
    samples: Annotated[int, count("--samples", "Gradients per state.")] = 32,
    sigma: Annotated[
        float | None,
        typer.Option(
            parser=number, metavar="<float>", help="Spread of actions in halves of their range.  [default: 0.5]"
        ),
    ] = None,
    discount: Annotated[float, typer.Option(parser=number, metavar="<float>", help="Worth of a later step.")] = 1.0,
    actions: Annotated[
        str | None,
        typer.Option(
            "--actions", help="How draws stay within bounds: clamped, tanh; gaussian: they do not.  [default: clamped]"
        ),
    ] = None,
    credit: Annotated[
        str | None,
        typer.Option(
            "--credit",
            help="zog: reward_to_go, full_return or paper (its own reward only).  [default: reward_to_go]",
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option("--baseline", help="zog: leave_one_out, none or value.  [default: leave_one_out]"),
    ] = None,
    population: Annotated[int, count("--population", "cem: sequences per gradient.")] = 64,
    elites: Annotated[int, count("--elites", "cem: how many of them are kept.")] = 8,
    temperature: Annotated[
        float | None,
        typer.Option(
            parser=number, metavar="<float>", help="cem: how much more better elites count.  [default: 0, all alike]"
        ),
    ] = None,
    paper: Annotated[
        bool, typer.Option("--paper", help="The paper's quantity to the letter: biased, and not a displacement.")
    ] = False,
    oracle: Annotated[
        bool, typer.Option("--oracle/--no-oracle", help="Read the true dynamics too, and compare directions with them.")
    ] = True,
    objective: options.Objective = None,
    init: options.Init = None,
    seed: Annotated[int, count("--seed", "Of the fresh episodes and the noise.")] = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "--out", help="Folder for esnr.json, esnr.md and esnr.html.")
    ] = None,
    device: options.Device = None,
    quiet: options.Quiet = False,
) -> int:
    """Read models by the signal-to-noise ratio of policy gradients through them, and by where those point."""
    if context.invoked_subcommand is not None:
        return 0
    from wmel import catalog
    from wmel.cli import inputs
    from wmel.cli.progress import progress
    from wmel.cli.shown_esnr import print_esnr
    from wmel.diagnostics.esnr.readings import read_models, sittings, slope_steps
    from wmel.diagnostics.esnr.settings import EsnrSettings
    from wmel.diagnostics.observations import EPISODES, fresh_observations
    from wmel.errors import BadInput
    from wmel.policies.mixture import exploration
    from wmel.reports.esnr_page import esnr_page, to_markdown_esnr
    from wmel.reports.esnr_record import esnr_record
    from wmel.reports.files import write_atomically
    from wmel.reports.records import write_record

    inputs.find_from_here()
    if env is None or not model:
        raise BadInput("wmel esnr needs --env and at least one --model (or: wmel esnr toy); see wmel esnr --help")
    files = {} if output is None else {name: output / f"esnr.{name}" for name in ("json", "md", "html")}
    inputs.check_outputs(*files.values())
    world = catalog.environment(env, **inputs.given(init=init))
    wanted = _methods(methods, world)
    learned = {inputs.arm_name(text): inputs.own_model(text, world, device) for text in model if text != "oracle"}
    if len(learned) + model.count("oracle") < len(model) or {"oracle", ""} & set(learned):
        raise BadInput(f"each model needs a name of its own, not oracle; got {', '.join(model)}")
    if "oracle" in model and not oracle:
        raise BadInput("--model oracle and --no-oracle contradict each other")
    by_paper = inputs.given(actions=actions, credit=credit, baseline=baseline)
    if paper and by_paper:
        raise BadInput(f"--paper is to the letter: leave out --{next(iter(by_paper))}")
    settings: dict[str, Any] = {
        **{"horizon": plan_horizon, "samples": samples, "discount": discount, "population": population},
        **{"elites": elites, "noise_seed": seed, **by_paper, **inputs.given(sigma=sigma, temperature=temperature)},
        **({} if device in (None, "cpu") else {"rows": ON_CUDA}),
    }
    EsnrSettings(**settings)  # refused before anything is played
    score = catalog.objective(objective or world.spec.objectives[0], world)
    name, epsilon, length = _collector(model) if source is None else (source, 0.0, EPISODE_STEPS)
    policy, length = exploration(world, name, epsilon), min(length, world.spec.max_steps)
    with progress(f"{policy.name} in {env}", min(EPISODES, states), quiet=quiet) as advance:
        seen = fresh_observations(world, policy, states, episode_steps=length, seed=seed, progress=advance)
    total = states * sittings(len(learned), wanted, world, oracle)
    slopes = slope_steps(world, states, samples, plan_horizon)
    if oracle and slopes >= MANY_STEPS and not quiet:
        told = f"the oracle's slopes take {slopes / 1e6:.0f} million steps of the simulator"
        print(f"{told}; --no-oracle leaves them out", file=sys.stderr)
    with progress(f"{', '.join(wanted)}", total, quiet=quiet, unit="states") as advance:
        readings = read_models(
            learned, world, seen, wanted, score, oracle=oracle, progress=advance, paper=paper, **settings
        )
    record = esnr_record(readings, world.spec.name)
    if files:
        write_record(files["json"], record)
        write_atomically(files["md"], to_markdown_esnr(record))
        write_atomically(files["html"], esnr_page(record))
    if not quiet:
        print_esnr(record)
        if output is not None:
            print(f"\nreport: {files['html']}")
    return 0


def _methods(text: str | None, world: Any) -> list[str]:
    """The estimators asked for, those that the actions allow by default."""
    from wmel.contract.spaces import Finite
    from wmel.control_suite import WITH_LEVELS
    from wmel.diagnostics.esnr.measure import METHODS
    from wmel.errors import BadInput

    space = world.spec.actions
    if text is None:
        return [name for name in METHODS if name != "fog" or not isinstance(space, Finite)]
    named = list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))
    for name in named:
        if name not in METHODS:
            raise BadInput(f"no estimator is called {name!r}; known: {', '.join(METHODS)}")
    if not named:
        raise BadInput(f"--methods needs at least one of {', '.join(METHODS)}")
    if "fog" in named and isinstance(space, Finite):
        twin = WITH_LEVELS.get(world.spec.name)
        other = "" if twin is None else f", or train on {twin}, the same physics"
        raise BadInput(f"actions are {space.count} levels: use zog or cem{other}")
    return named


def _collector(models: list[str]) -> tuple[str, float, int]:
    """Policy, share of random actions and steps of an episode by the first card; random where there is none."""
    from wmel.training.checkpoints import read_card

    folders = [Path(text) for text in models if Path(text).is_dir()]
    said = read_card(folders[0]).get("collect") if folders else None
    policy, epsilon, steps = (
        (said.get(name) for name in ("policy", "epsilon", "episode_steps")) if isinstance(said, dict) else (None,) * 3
    )
    if not isinstance(policy, str) or policy == "all":  # every transition there was: no policy came through them
        return "random", 0.0, EPISODE_STEPS
    share = float(epsilon) if isinstance(epsilon, int | float) else 0.0
    return policy, share, steps if isinstance(steps, int) and steps > 0 else EPISODE_STEPS
