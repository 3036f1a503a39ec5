"""`wmel convert`: a published checkpoint as a folder that every other verb reads."""

from pathlib import Path
from typing import Annotated

import typer

from wmel.cli import options
from wmel.cli.options import count

EXAMPLES = """\b
Examples:
  wmel convert cartpole-swingup-1.pt --env dmc:cartpole-swingup --action-repeat 2 --output models/published
"""


def convert(
    file: Annotated[Path, typer.Argument(help="A checkpoint of the published TD-MPC2, in either layout.")],
    env: options.Environment,
    output: Annotated[Path, typer.Option("--output", "--out", help="Folder of the checkpoint.")],
    init: options.Init = None,
    action_repeat: options.ActionRepeat = None,
    decoder_steps: Annotated[int, count("--decoder-steps", "Steps of fitting its decoder.")] = 5_000,
    half: Annotated[bool, typer.Option("--half", help="Round the weights to half precision, half the file.")] = False,
    device: options.Device = None,
    quiet: options.Quiet = False,
) -> None:
    """Make a checkpoint of a published TD-MPC2 file (single task): weights as they are, a decoder, and a card.

    The published models of DeepMind Control decide every second step: give --action-repeat 2. Nothing in the file is
    run.
    """
    from wmel import catalog
    from wmel.cli import inputs
    from wmel.cli.train_tdmpc2 import said
    from wmel.errors import BadInput
    from wmel.training.checkpoints import CARD, write_checkpoint
    from wmel.training.devices import usable_device
    from wmel.training.tdmpc2.convert import converted
    from wmel.training.tdmpc2.finish import stored_weights

    inputs.find_from_here()
    inputs.check_outputs(output / CARD)
    if (output / CARD).exists():
        raise BadInput(f"{output} holds a checkpoint: give another --output, or remove it first")
    world = catalog.environment(env, **inputs.given(init=init, action_repeat=action_repeat))
    where = usable_device(device or "cpu")
    made = converted(file, world, where, half=half, decoder_steps=decoder_steps)
    write_checkpoint(output, stored_weights(made), made.card)
    if not quiet:
        returned, errors = made.card["policy_return"], made.card["errors"]
        print(f"return of its policy: {said(returned['mean'])} over {returned['episodes']} episodes")
        print(f"held-out error of its decoder (mean squared): {said(errors['held_out_decoder_mse'])}")
        print(f"checkpoint: {output}")
