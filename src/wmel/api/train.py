"""wmel.train: train a world model by any trainer of the catalogue and write its checkpoint."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from wmel import catalog
from wmel.api import options as o
from wmel.api.episodes import check_outputs
from wmel.api.given import Given, refuse_no_part
from wmel.api.progress import progress_listener
from wmel.contract.trainer import LearnsFromStored
from wmel.errors import BadInput
from wmel.parts import able, name_and_settings
from wmel.results import Result

INTERRUPTED = 130
OF_TDMPC2 = o.SettingOf("trainer", "tdmpc2")


@o.verb
def train(
    trainer: o.Trainer,
    environment: o.Environment = None,
    *,
    output: o.Folder,
    parts: o.Settings = None,
    quiet: o.Quiet = False,
    **settings: Any,
) -> Result:
    """Train a world model and write its checkpoint and card; `settings` are the trainer's own.

    A tdmpc2 keeps the episodes it plays in OUTPUT/episodes; one that was stopped goes on when it is called again. It
    needs no environment where it learns from stored data.
    """
    given = Given.of(parts)
    folder = Path(output)
    check_outputs(folder / "card.json")
    name, chosen = _trainer(trainer, {name: value for name, value in settings.items() if value is not None})
    world = None if environment is None else _environment(given, environment)
    given.refuse_unused()
    if world is None and _needs_environment(chosen):
        raise BadInput(f"trainer '{name}' needs an environment to learn: give --env")
    with progress_listener("", quiet=quiet) as listener:
        made = chosen.train(world, folder, listener)
    card = made.card
    lines = [*card_lines(card), f"checkpoint: {folder}"]
    interrupted = bool(card["fit"].get("interrupted"))
    return Result(
        f"A {name} was trained on {card['environment']}; its checkpoint is {folder}.",
        [{"number": name, "value": value} for name, value in card["errors"].items() if not isinstance(value, list)],
        lines=lines,
        exit_code=INTERRUPTED if interrupted else 0,
        folder=folder,
        more={"card": card, "model": made.model},
    )


@o.verb
def convert(
    file: Annotated[
        Path | str, o.Option("A checkpoint of the published TD-MPC2, in either layout.", "path", is_argument=True)
    ],
    environment: o.Environment,
    *,
    output: o.Folder,
    decoder_steps: Annotated[int | None, OF_TDMPC2] = None,
    half: Annotated[bool | None, OF_TDMPC2] = None,
    settings: o.Settings = None,
    device: o.Device = None,
    quiet: o.Quiet = False,
) -> Result:
    """Make a checkpoint of a published TD-MPC2 file (single task): weights as they are, a decoder, and a card.

    The published models of DeepMind Control decide every second step: give --action-repeat 2. Nothing in the file is
    run.
    """
    from wmel.training.checkpoints import CARD, usable_device, write_checkpoint
    from wmel.training.tdmpc2.finish import stored_weights
    from wmel.training.tdmpc2.official import converted

    given, folder = Given.of(settings), Path(output)
    check_outputs(folder / CARD)
    if (folder / CARD).exists():
        raise BadInput(f"{folder} holds a checkpoint: give another --output, or remove it first")
    world = _environment(given, environment)
    given.refuse_unused()
    finishing = {"decoder_steps": decoder_steps, "half": half}
    made = converted(
        Path(file),
        world,
        usable_device(device or "cpu"),
        **{name: value for name, value in finishing.items() if value is not None},
    )
    write_checkpoint(folder, stored_weights(made), made.card)
    lines = [*_returns(made.card), f"checkpoint: {folder}"]
    return Result(f"{file} is a checkpoint now: {folder}.", [], lines=lines, folder=folder, more={"card": made.card})


def _trainer(given: Any, settings: dict[str, Any]) -> tuple[str, Any]:
    """A trainer by its name, as {name, **settings} or as an object; and its name."""
    if not isinstance(given, str | Mapping):
        if not isinstance(given, type) and callable(getattr(given, "train", None)):
            if settings:
                raise BadInput(f"the trainer is an object, which has its settings: leave out {next(iter(settings))}")
            return catalog.TRAINERS.name_of(given) or type(given).__name__, given
        raise BadInput(f"{given!r:.80} is no trainer: give a name, {{name, **settings}} or an object with train")
    name, own = name_and_settings(given, "trainer")
    twice = next((one for one in settings if one in own), None)
    if twice is not None:
        raise BadInput(f"trainer '{name}': {twice} is given twice: {own[twice]!r} and {settings[twice]!r}")
    return name, catalog.TRAINERS.build(name, **own, **settings)


def _needs_environment(trainer: Any) -> bool:
    return not (able(trainer, LearnsFromStored) and trainer.learns_from_stored())


def _environment(given: Given, environment: Any) -> Any:
    """An environment by its name, as {name, **settings} or as an object."""
    if not isinstance(environment, str | Mapping):
        refuse_no_part("environment", environment)
        return environment
    part = given.part("environment", environment)
    return catalog.environment(part.pop("name"), **part)


def card_lines(card: dict[str, Any]) -> list[str]:
    """What a card says of a training, in a few lines."""
    data = card["data"]
    taken = card["fit"].get("epochs_taken")
    counted = f"{taken} epochs" if taken is not None else f"{card['fit'].get('updates')} updates"
    lines = [f"{data['transitions']} transitions of {data['episodes']} episodes, {counted}"]
    if "policy_return" in card:
        return [*lines, *_returns(card)]
    errors = card["errors"]
    for name in (name for name in errors if name.endswith("_mse")):
        missing = f"{name}: n/a (nothing was held out)"
        lines.append(f"{name}: {errors[name]:.3g}" if errors[name] is not None else missing)
    drift = errors.get("open_loop_rmse") or []
    steps = [k for k in (1, 5, 10, 15, 20, 50) if k <= len(drift)]
    words = ", ".join(f"{k}: {drift[k - 1]:.3g}" for k in steps)
    lines.append(
        f"open-loop error (rms) after steps {words}" if steps else "open-loop error: n/a (nothing was held out)"
    )
    return [*lines, "interrupted: the weights so far are kept"] if card["fit"].get("interrupted") else lines


def _returns(card: dict[str, Any]) -> list[str]:
    known, error = card["policy_return"], card["errors"]["held_out_decoder_mse"]
    lines = []
    if known is not None:
        lines.append(f"return of its policy: {_number(known['mean'])} over {known['episodes']} episodes")
    return [*lines, f"held-out error of its decoder (mean squared): {_number(error)}"]


def _number(value: float | None) -> str:
    return "n/a (no finite number)" if value is None else f"{value:.4g}"
