"""`wmel train`: collect data, fit a world model, write a checkpoint."""

from pathlib import Path
from typing import Annotated, Any

import typer

from wmel.cli import options
from wmel.cli.options import count, number

INTERRUPTED = 130

EXAMPLES = """\b
Examples:
  wmel train mlp --env dmc_acrobot --transitions 2000 --output models/acrobot
  wmel train mlp --env dmc:cartpole-swingup --transitions 20000 --collect '3*random+cem' --output models/cartpole
  wmel train mlp --env maze_toy --output models/maze
"""


def train(
    kind: Annotated[str, typer.Argument(help="What to train: mlp.")],
    env: options.Environment,
    output: Annotated[Path, typer.Option("--output", "--out", help="Folder of the checkpoint.")],
    transitions: Annotated[int | None, count("--transitions", "Transitions to collect.  [default: 2000]")] = None,
    collect: Annotated[
        str | None,
        typer.Option(
            "--collect",
            help="Policy that collects them, or a mixture: 3*random+cem.  [default: random; on grids all there are]",
        ),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(
            parser=number, metavar="<float>", help="Share of actions drawn at random instead.  [default: none]"
        ),
    ] = None,
    episode_steps: Annotated[
        int | None, count("--episode-steps", "Steps of an episode of data.  [default: 200]")
    ] = None,
    init: options.Init = None,
    epochs: Annotated[int | None, count("--epochs", "Passes over the data.  [default: 200; on grids 800]")] = None,
    hidden: Annotated[
        str | None, typer.Option("--hidden", help="Widths of the hidden layers.  [default: 64,64; on grids 32,32]")
    ] = None,
    target: Annotated[
        str | None,
        typer.Option("--target", help="next, or delta (scaled).  [default: next on dmc_*, as documented, else delta]"),
    ] = None,
    patience: Annotated[
        int | None, count("--patience", "Stop after so many epochs without a better held-out error; keep the best.")
    ] = None,
    threads: Annotated[int, count("--threads", "Threads to fit with.")] = 1,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> int:
    """Train a world model on data a policy collects, and write its checkpoint and card."""
    from wmel import catalog
    from wmel.cli import inputs
    from wmel.cli.progress import progress
    from wmel.errors import BadInput

    if kind != "mlp":
        raise BadInput(f"no trainer named '{kind}'; known: mlp")
    from dataclasses import replace

    from wmel.policies.mixture import exploration
    from wmel.training.checkpoints import write_checkpoint
    from wmel.training.collect import collect as collected
    from wmel.training.collect import every_transition
    from wmel.training.mlp import train_mlp
    from wmel.training.recipes import default_recipe

    inputs.find_from_here()
    inputs.check_outputs(output / "card.json")
    world = catalog.environment(env, **inputs.given(init=init))
    recipe = default_recipe(world)
    widths = None if hidden is None else tuple(inputs.whole_numbers(hidden, "--hidden"))
    network = replace(recipe.network, **inputs.given(hidden=widths, target=target))
    settings = replace(recipe.fit, **inputs.given(epochs=epochs, patience=patience), seed=seed, threads=threads)
    asked = inputs.given(transitions=transitions, epsilon=epsilon, episode_steps=episode_steps)
    how: dict[str, Any] = {"policy": collect or recipe.collect, "seed": seed}
    if how["policy"] == "all":
        if asked:
            raise BadInput(
                f"every transition of {env} is collected, so --{next(iter(asked)).replace('_', '-')} has no use: leave "
                "it out, or name a policy with --collect"
            )
        data = every_transition(world)
    else:
        how |= {"transitions": 2000, "epsilon": 0.0, "episode_steps": 200} | asked
        policy = exploration(world, how["policy"], how["epsilon"])
        with progress(f"{policy.name} in {env}", how["transitions"], quiet=quiet, unit="transitions") as advance:
            data = collected(
                world, policy, how["transitions"], episode_steps=how["episode_steps"], seed=seed, progress=advance
            )
    with progress(f"fitting {kind}", settings.epochs, quiet=quiet, unit="epochs") as advance:
        trained = train_mlp(world, data, network, settings, advance)
    card = {**trained.card, "collect": how}
    write_checkpoint(output, trained.model.network.state_dict(), card)
    if not quiet:
        _print(card, output)
    return INTERRUPTED if card["fit"]["interrupted"] else 0


def _print(card: dict, output: Path) -> None:
    errors, data = card["errors"], card["data"]
    print(f"{data['transitions']} transitions of {data['episodes']} episodes, {card['fit']['epochs_taken']} epochs")
    for name in ("training_mse", "held_out_transition_mse", "held_out_episode_mse"):
        print(f"{name}: {errors[name]:.3g}" if errors[name] is not None else f"{name}: n/a (nothing was held out)")
    drift = errors["open_loop_rmse"]
    steps = [k for k in (1, 5, 10, 15, 20, 50) if k <= len(drift)]
    print("open-loop error (rms) after", ", ".join(f"{k}: {drift[k - 1]:.3g}" for k in steps), "steps")
    if card["fit"]["interrupted"]:
        print("interrupted: the weights so far are kept")
    print(f"checkpoint: {output}")
