"""`wmel train tdmpc2`: a model that learns as it plays."""

import sys
from pathlib import Path
from typing import Any


def train_tdmpc2_checkpoint(env: str, output: Path, world_settings: dict[str, Any], asked: dict[str, Any], quiet: bool):
    """Train with what was asked for, tell how it stands after every round of episodes, and write the checkpoint."""
    from wmel import catalog
    from wmel.cli.progress import progress
    from wmel.errors import BadInput
    from wmel.training.checkpoints import write_checkpoint
    from wmel.training.devices import usable_device
    from wmel.training.tdmpc2.online import Diverged, Moment
    from wmel.training.tdmpc2.settings import TDMPC2Settings
    from wmel.training.tdmpc2.train import train_tdmpc2

    device = usable_device(asked.pop("device", "cpu"))
    settings = TDMPC2Settings(**asked)
    world = catalog.environment(env, **world_settings)
    with progress(f"tdmpc2 in {env}", settings.updates, quiet=quiet, unit="updates") as advance:
        done = 0

        def tell(moment: Moment) -> None:
            nonlocal done
            advance(moment.updates - done)
            done = moment.updates
            if not quiet:
                print(_words(moment), file=sys.stderr, flush=True)

        try:
            made = train_tdmpc2(world, settings, device, tell)
        except Diverged as error:
            if error.best is None:
                raise BadInput(f"{error}; nothing is written: no round of episodes was rated before") from error
            write_checkpoint(output, error.best.model.network.state_dict(), error.best.card)
            raise BadInput(f"{error}; the best weights before that are kept in {output}") from error
    write_checkpoint(output, made.model.network.state_dict(), made.card)
    if not quiet:
        card = made.card
        print(f"{card['data']['transitions']} transitions of {card['data']['episodes']} episodes, {done} updates")
        known = card["policy_return"]
        print(f"return of its policy: {_said(known['mean'])} over {known['episodes']} episodes")
        print(f"held-out error of its decoder (mean squared): {_said(card['errors']['held_out_decoder_mse'])}")
        print(f"checkpoint: {output}")


def _words(moment: Any) -> str:
    returned = "" if moment.mean_return is None else f"return {moment.mean_return:.1f}, "
    losses = ", ".join(f"{name} {value:.3g}" for name, value in moment.losses.items())
    rate = moment.updates / moment.seconds if moment.seconds > 0 else 0.0
    return f"{moment.updates} updates ({rate:.0f}/s), {moment.transitions} transitions: {returned}{losses}"


def _said(value: float | None) -> str:
    return "n/a (no finite number)" if value is None else f"{value:.4g}"
