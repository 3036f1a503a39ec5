"""`wmel train tdmpc2`: a model that learns as it plays, or from stored episodes."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Source:
    """What is learned from: an environment by name with its settings, or a folder of episodes."""

    environment: str | None
    settings: dict[str, Any]
    episodes: Path | None


def train_tdmpc2_checkpoint(source: Source, output: Path, asked: dict[str, Any], quiet: bool) -> int:
    """Train with what was asked for, tell how it stands, and write the checkpoint; the exit code."""
    from wmel.cli.progress import progress
    from wmel.errors import BadInput
    from wmel.training.devices import usable_device
    from wmel.training.tdmpc2.diverged import Diverged
    from wmel.training.tdmpc2.keeper import Keeper
    from wmel.training.tdmpc2.settings import TDMPC2Settings

    for name in ("envs", "updates_per_step"):
        if source.episodes is not None and name in asked:
            raise BadInput(f"stored episodes are as they were played: leave out --{name.replace('_', '-')}")
    device = usable_device(asked.pop("device", "cpu"))
    keeper = Keeper(output, asked.pop("checkpoints", 0))
    settings = TDMPC2Settings(**asked)
    train, name = _training(source)
    with progress(f"tdmpc2 in {name}", settings.updates, quiet=quiet, unit="updates") as advance:
        told = 0

        def tell(moment: Any) -> None:
            if not quiet:
                print(_words(moment, settings.updates), file=sys.stderr, flush=True)

        def learned(updates: int) -> None:
            nonlocal told
            if not told and keeper.begun:
                advance(keeper.begun)
                if not quiet:
                    print(f"going on from update {keeper.begun}", file=sys.stderr)
            told += updates
            advance(updates)

        try:
            made = train(settings, device, tell, keeper, learned)
        except Diverged as error:
            if error.best is None:
                raise BadInput(f"{error}; no weights are written: none were rated before") from error
            keeper.finish(error.best)
            raise BadInput(f"{error}; the best weights before that are kept in {output}") from error
        except KeyboardInterrupt:
            if keeper.saved is not None:
                print(f"the same command goes on from update {keeper.saved}", file=sys.stderr)
            raise
    keeper.finish(made)
    if not quiet:
        card, data, known = made.card, made.card["data"], made.card["policy_return"]
        print(f"{data['transitions']} transitions of {data['episodes']} episodes, {settings.updates} updates")
        if known is not None:
            print(f"return of its policy: {said(known['mean'])} over {known['episodes']} episodes")
        print(f"held-out error of its decoder (mean squared): {said(card['errors']['held_out_decoder_mse'])}")
        print(f"checkpoint: {output}")
    return 0


def _training(source: Source) -> tuple[Callable[..., Any], str]:
    """How to train, given settings, device, who is told and who keeps; and the name of what is learned."""
    from functools import partial

    from wmel import catalog
    from wmel.errors import BadInput
    from wmel.training.stored_episodes import EpisodesFolder
    from wmel.training.tdmpc2.offline import train_tdmpc2_offline
    from wmel.training.tdmpc2.train import train_tdmpc2

    if source.episodes is None:
        assert source.environment is not None
        return partial(train_tdmpc2, catalog.environment(source.environment, **source.settings)), source.environment
    episodes = EpisodesFolder(source.episodes).read()
    played = episodes.described["environment"]
    if source.environment not in (None, played) or source.settings:
        raise BadInput(f"the episodes in {source.episodes} were played in {played}: leave out --env and its settings")
    return partial(train_tdmpc2_offline, episodes), f"{played} (stored episodes)"


def _words(moment: Any, wanted: int) -> str:
    returned = "" if moment.mean_return is None else f"return {moment.mean_return:.1f}, "
    losses = ", ".join(f"{name} {value:.3g}" for name, value in moment.losses.items())
    rate = moment.updates / moment.seconds if moment.seconds > 0 else 0.0
    left = f", {(wanted - moment.updates) / rate / 60:.1f} min left" if rate else ""
    return f"{moment.updates} updates ({rate:.0f}/s{left}), {moment.transitions} transitions: {returned}{losses}"


def said(value: float | None) -> str:
    return "n/a (no finite number)" if value is None else f"{value:.4g}"
