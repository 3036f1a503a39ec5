"""`wmel train`: collect data, fit a world model, write a checkpoint."""

from pathlib import Path
from typing import Annotated

import typer

from wmel.cli import options
from wmel.cli.options import count, number

INTERRUPTED = 130

EXAMPLES = """\b
Examples:
  wmel train mlp --env dmc_acrobot --transitions 2000 --output models/acrobot
  wmel train mlp --env dmc:cartpole-swingup --transitions 20000 --collect '3*random+cem' --output models/cartpole
  wmel train latent-mlp --env dmc:cartpole-swingup --transitions 20000 --output models/cartpole-latent
  wmel train tdmpc2 --env dmc:cartpole-swingup --size 1 --updates 100000 --device cuda --output models/my-cartpole
  wmel train tdmpc2 --data models/my-cartpole/episodes --updates 20000 --checkpoints 8 --output models/offline
  wmel train mlp --env dmc:cartpole-swingup --data models/my-cartpole/episodes --output models/cartpole-mlp-on-td1
  wmel train mlp --env maze_toy --output models/maze
"""


def train(
    kind: Annotated[
        str,
        typer.Argument(
            help="What to train: mlp; latent-mlp, which imagines in a latent and knows rewards; tdmpc2, which learns "
            "as it plays."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "--out", help="Folder of the checkpoint.")],
    env: Annotated[
        str | None,
        typer.Option(
            "--env", help="Environment; `wmel list environments` names them. Not needed by a tdmpc2 on stored --data."
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Folder of episodes that a tdmpc2 played, to train on instead of playing."),
    ] = None,
    transitions: Annotated[
        int | None, count("--transitions", "Transitions to collect.  [default: 2000; of --data 20000]")
    ] = None,
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
    action_repeat: options.ActionRepeat = None,
    epochs: Annotated[
        int | None, count("--epochs", "Passes over the data.  [default: 200; latent-mlp 80; on grids 800]")
    ] = None,
    hidden: Annotated[
        str | None, typer.Option("--hidden", help="Widths of the hidden layers.  [default: 64,64; on grids 32,32]")
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target", help="Of mlp: next, or delta (scaled).  [default: next on dmc_*, as documented, else delta]"
        ),
    ] = None,
    patience: Annotated[
        int | None, count("--patience", "Stop after so many epochs without a better held-out error; keep the best.")
    ] = None,
    size: Annotated[
        int | None, count("--size", "Of tdmpc2: 1, 5, 19, 48 or 317 million weights.  [default: 1]")
    ] = None,
    activation: Annotated[
        str | None, typer.Option("--activation", help="Of tdmpc2: mish or relu.  [default: mish]")
    ] = None,
    latent_norm: Annotated[
        str | None, typer.Option("--latent-norm", help="Of tdmpc2: simnorm, layernorm or none.  [default: simnorm]")
    ] = None,
    updates: Annotated[int | None, count("--updates", "Of tdmpc2: steps of learning.  [default: 100000]")] = None,
    batch: Annotated[int | None, count("--batch", "Of tdmpc2: windows per update.  [default: 256]")] = None,
    envs: Annotated[int | None, count("--envs", "Of tdmpc2: episodes played at a time.  [default: 64]")] = None,
    updates_per_step: Annotated[
        int | None,
        count("--updates-per-step", "Of tdmpc2: updates for each decision of all episodes together.  [default: 2]"),
    ] = None,
    checkpoints: Annotated[
        int | None,
        count("--checkpoints", "Of tdmpc2: checkpoints on the way, evenly in the logarithm of updates.  [default: 0]"),
    ] = None,
    decoder_steps: Annotated[
        int | None, count("--decoder-steps", "Of tdmpc2: steps of fitting its decoder afterwards.  [default: 5000]")
    ] = None,
    half: Annotated[
        bool, typer.Option("--half", help="Of tdmpc2: round the finished weights to half precision, half the file.")
    ] = False,
    device: Annotated[
        str | None, typer.Option("--device", help="Of tdmpc2: where it learns: cpu, cuda, cuda:1.  [default: cpu]")
    ] = None,
    threads: Annotated[int, count("--threads", "Threads to fit with.")] = 1,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> int:
    """Train a world model and write its checkpoint and card.

    It learns from data a policy collects, or plays itself (tdmpc2), or from stored episodes (--data). A tdmpc2 keeps
    the episodes it plays in OUTPUT/episodes; one that was stopped goes on when the same command is given again.
    """
    from wmel import catalog
    from wmel.cli import inputs
    from wmel.cli.progress import progress
    from wmel.cli.train_tdmpc2 import Source, train_tdmpc2_checkpoint
    from wmel.errors import BadInput
    from wmel.training.checkpoints import refuse_another, write_checkpoint
    from wmel.training.kinds import KINDS
    from wmel.training.recipes import gathered, recipe, stored, trained

    inputs.find_from_here()
    inputs.check_outputs(output / "card.json")
    fitted = inputs.given(
        collect=collect,
        transitions=transitions,
        epsilon=epsilon,
        episode_steps=episode_steps,
        hidden=None if hidden is None else tuple(inputs.whole_numbers(hidden, "--hidden")),
        target=target,
        epochs=epochs,
        patience=patience,
    )
    learning = inputs.given(
        size=size,
        activation=activation,
        latent_norm=latent_norm,
        updates=updates,
        batch=batch,
        envs=envs,
        updates_per_step=updates_per_step,
        checkpoints=checkpoints,
        decoder_steps=decoder_steps,
        half=half or None,
        device=device,
    )
    world_settings = inputs.given(init=init, action_repeat=action_repeat)
    if kind not in KINDS:
        raise BadInput(f"no trainer named '{kind}'; known: {', '.join(KINDS)}")
    if env is None and (kind != "tdmpc2" or data is None):
        raise BadInput("say with --env which environment is to be learned")
    if kind == "tdmpc2":
        if fitted:
            raise BadInput(f"trainer 'tdmpc2' has no setting '{next(iter(fitted))}'")
        asked = {**learning, "threads": threads, "seed": seed}
        return train_tdmpc2_checkpoint(Source(env, world_settings, data), output, asked, quiet)
    assert env is not None
    refuse_another(output, kind)
    world = catalog.environment(env, **world_settings)
    if data is not None and collect is not None:
        raise BadInput(f"stored episodes are as they were played: leave out --collect {collect}, or --data")
    fitted |= {} if data is None else {"collect": "stored"}
    how = recipe(world, kind, **fitted, **learning, threads=threads, seed=seed)
    wanted = how.collection.transitions or 0
    with progress(f"{how.collection.policy} in {env}", wanted, quiet=quiet, unit="transitions") as advance:
        gathering = gathered(world, how, advance) if data is None else stored(data, world, wanted, seed)
    with progress(f"fitting {kind}", how.fit.epochs, quiet=quiet, unit="epochs") as advance:
        made = trained(world, how, gathering, advance)
    card = made.card
    write_checkpoint(output, made.model.network.state_dict(), card)
    if not quiet:
        _print(card, output)
    return INTERRUPTED if card["fit"]["interrupted"] else 0


def _print(card: dict, output: Path) -> None:
    errors, data = card["errors"], card["data"]
    print(f"{data['transitions']} transitions of {data['episodes']} episodes, {card['fit']['epochs_taken']} epochs")
    for name in (name for name in errors if name.endswith("_mse")):
        print(f"{name}: {errors[name]:.3g}" if errors[name] is not None else f"{name}: n/a (nothing was held out)")
    drift = errors["open_loop_rmse"]
    steps = [k for k in (1, 5, 10, 15, 20, 50) if k <= len(drift)]
    said = ", ".join(f"{k}: {drift[k - 1]:.3g}" for k in steps)
    print(f"open-loop error (rms) after steps {said}" if steps else "open-loop error: n/a (nothing was held out)")
    if card["fit"]["interrupted"]:
        print("interrupted: the weights so far are kept")
    print(f"checkpoint: {output}")
