"""wmel.train: train a world model by any trainer of the catalogue and write its checkpoint."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Unpack

from wmel import catalog
from wmel.api import options as o
from wmel.api.episodes import check_outputs, listener_for
from wmel.api.study_entries import EntryBuilder, has_its_settings
from wmel.api.verbs import given_twice, verb
from wmel.contract.trainer import OfflineTrainer, UnwrittenModel
from wmel.errors import BadInput, describe_error, requires_package
from wmel.kinds import check_methods
from wmel.parts import implements, name_and_settings
from wmel.reports.cells import count_words
from wmel.reports.small_svg import Curves
from wmel.results import LazyValue, Result

INTERRUPTED = 130
CARD = "card.json"  # of a checkpoint
OF_TDMPC2 = o.SettingOf("trainer", "tdmpc2", merged=False)


@verb
def train(
    trainer: o.Trainer,
    environment: o.Environment = None,
    *,
    output: o.Folder,
    **options: Annotated[Any, o.TrainingOptions, o.SettingsOf("trainer")],
) -> Result:
    """Train a world model and write its checkpoint and card; other keywords are the settings of the trainer.

    A tdmpc2 stores its episodes in OUTPUT/episodes; if it was stopped, the same call continues it. It needs no
    environment if it learns from stored data.
    """
    builder = EntryBuilder.of(options["settings"])
    folder = Path(output)
    check_outputs(folder / CARD)
    shared = o.TrainingOptions.__annotations__
    settings = {name: value for name, value in options.items() if name not in shared and value is not None}
    if isinstance(trainer, str):
        settings = builder.beside("trainer", trainer, settings)
    name, chosen = _trainer(trainer, settings)
    world = None if environment is None else _environment(builder, environment)
    builder.refuse_unused()
    if world is None and _needs_environment(chosen):
        raise BadInput(f"trainer '{name}' needs an environment to learn: give --env")
    try:
        with listener_for("", quiet=options["quiet"]) as listener:
            trained = chosen.train(world, folder, listener)
    except UnwrittenModel as error:
        result = _result(error.trained.card, None, error.trained.model)
        return replace(result, exit_code=result.exit_code or 1, failures=[str(error)])
    written = folder / CARD
    return _result(json.loads(written.read_text()) if written.exists() else trained.card, folder, trained.model)


def stored_training(folder: Path) -> Result:
    """The result of a training from its checkpoint; its model is restored when it is read."""
    card = card_of(folder)
    try:
        return _result(card, folder, LazyValue(lambda: restore_model(folder, catalog.environment(card["environment"]))))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise BadInput(f"the card of {folder} describes no training: {describe_error(error)}") from error


def card_of(folder: Path) -> dict[str, Any]:
    """The card of a checkpoint."""
    with requires_package("torch", "checkpoints need torch: install wmel[learned]"):
        from wmel.training.checkpoints import read_card

    return read_card(folder)


def restore_model(folder: Path, environment: Any) -> Any:
    """The model of a checkpoint."""
    with requires_package("torch", "checkpoints need torch: install wmel[learned]"):
        from wmel.training.checkpoints import restore

    return restore(folder, environment)


def _result(card: dict[str, Any], folder: Path | None, model: Any) -> Result:
    """The result of a training; `folder` is that of its checkpoint, if it has one."""
    answer = training_answer(card)
    return Result(
        answer,
        [{"number": name, "value": value} for name, value in card["errors"].items() if not isinstance(value, list)],
        lines=[answer, *card_lines(card)[1:], *([] if folder is None else [f"checkpoint: {folder}"])],
        exit_code=INTERRUPTED if card["fit"].get("interrupted") else 0,
        verb="train",
        folder=folder,
        curves=_curves(card),
        write=None if folder is None else lambda into: _copy(folder, into),
        more={"card": card, "model": model},
    )


def training_answer(card: dict[str, Any]) -> str:
    """What a model was trained on and how well it predicts or acts, in a sentence."""
    interrupted = " (interrupted)" if card["fit"].get("interrupted") else ""
    learned = f"{card['model']['kind']} learned {card['environment']} from {card_lines(card)[0]}{interrupted}"
    return f"{learned}: {_quality(card)}. `wmel cpg` measures whether it may be planned with."


def _quality(card: dict[str, Any]) -> str:
    """How well a model acts, or else predicts, on what it was not trained on."""
    known = card.get("policy_return")
    if known is not None:
        return f"its own policy returns {_number(known['mean'])} over {count_words(known['episodes'], 'episode')}"
    errors = card["errors"]
    for name in ("held_out_episode_mse", "held_out_transition_mse", "held_out_decoder_mse"):
        if errors.get(name) is not None:
            words = name.removeprefix("held_out_").removesuffix("_mse")
            what = "of its decoder" if words == "decoder" else f"one step ahead on {words}s it was not trained on"
            return f"its error {what} is {errors[name]:.3g} (mean squared)"
    return "nothing was held out to measure its error on"


def _copy(folder: Path, into: Path) -> None:
    from wmel.training.checkpoints import copy_checkpoint  # torch is needed only here

    copy_checkpoint(folder, into)


def _curves(card: dict[str, Any]) -> Curves | None:
    """The losses over training; where a card has none, the error of the model over the steps it predicts."""
    moments = card.get("curve") or []
    at = next((name for name in ("epochs", "updates") if moments and name in moments[0]), None)
    if at is not None:
        names = dict.fromkeys(name for one in moments for name in one["losses"])
        lines = {name: [(one[at], one["losses"][name]) for one in moments if name in one["losses"]] for name in names}
        return Curves(lines, at, "loss")
    drift = card["errors"].get("open_loop_rmse") or []
    return Curves({"open-loop error": list(enumerate(drift, 1))}, "steps", "error (rms)") if drift else None


@verb
def convert(
    file: Annotated[
        Path | str, o.Option("A checkpoint of the published TD-MPC2, in either layout.", "path", is_argument=True)
    ],
    environment: o.Environment,
    *,
    output: o.Folder,
    decoder_steps: Annotated[int | None, OF_TDMPC2] = None,
    half: Annotated[bool | None, OF_TDMPC2] = None,
    device: o.Device = None,
    **options: Unpack[o.TrainingOptions],
) -> Result:
    """Convert a published TD-MPC2 file (single task) to a checkpoint: its weights, a fitted decoder, and a card.

    The published models of DeepMind Control decide every second step: give --action-repeat 2. Nothing in the file is
    run.
    """
    from wmel.training.checkpoints import parse_device, write_checkpoint
    from wmel.training.tdmpc2.official import convert_checkpoint
    from wmel.training.tdmpc2.resume import stored_weights

    builder, folder = EntryBuilder.of(options["settings"]), Path(output)
    check_outputs(folder / CARD)
    if (folder / CARD).exists():
        raise BadInput(f"{folder} holds a checkpoint: give another --output, or remove it first")
    world = _environment(builder, environment)
    builder.refuse_unused()
    finishing = {"decoder_steps": decoder_steps, "half": half}
    trained = convert_checkpoint(
        Path(file),
        world,
        parse_device(device or "cpu"),
        **{name: value for name, value in finishing.items() if value is not None},
    )
    write_checkpoint(folder, stored_weights(trained), trained.card)
    lines = [*_returns(trained.card), f"checkpoint: {folder}"]
    return Result(f"{file} is a checkpoint now: {folder}.", [], lines=lines, folder=folder, more={"card": trained.card})


def _trainer(trainer: Any, settings: dict[str, Any]) -> tuple[str, Any]:
    """A trainer by its name, as {name, **settings} or as an object; and its name."""
    if not isinstance(trainer, str | Mapping):
        if not isinstance(trainer, type) and callable(getattr(trainer, "train", None)):
            if settings:
                raise BadInput(has_its_settings("trainer", next(iter(settings))))
            return catalog.TRAINERS.name_of(trainer) or type(trainer).__name__, trainer
        raise BadInput(f"{trainer!r:.80} is no trainer: give a name, {{name, **settings}} or an object with train")
    name, own = name_and_settings(trainer, "trainer")
    twice = next((one for one in settings if one in own), None)
    if twice is not None:
        raise BadInput(given_twice("trainer", name, twice, own[twice], settings[twice]))
    return name, catalog.TRAINERS.build(name, **own, **settings)


def _needs_environment(trainer: Any) -> bool:
    return not (implements(trainer, OfflineTrainer) and trainer.learns_from_stored())


def _environment(builder: EntryBuilder, environment: Any) -> Any:
    """An environment by its name, as {name, **settings} or as an object."""
    if not isinstance(environment, str | Mapping):
        check_methods("environment", environment)
        return environment
    part = builder.part("environment", environment)
    return catalog.environment(part.pop("name"), **part)


def card_lines(card: dict[str, Any]) -> list[str]:
    """A training in a few lines, from its card."""
    data = card["data"]
    epochs = card["fit"].get("epochs_taken")
    length = count_words(card["fit"].get("updates") or 0, "update") if epochs is None else count_words(epochs, "epoch")
    transitions, episodes = count_words(data["transitions"], "transition"), count_words(data["episodes"], "episode")
    lines = [f"{transitions} of {episodes}, {length}"]
    if "policy_return" in card:
        return [*lines, *_returns(card)]
    errors = card["errors"]
    known = {name: error for name, error in errors.items() if name.endswith("_mse") and error is not None}
    lines += [f"{name}: {error:.3g}" for name, error in known.items()]
    drift = errors.get("open_loop_rmse") or []
    steps = [k for k in (1, 5, 10, 15, 20, 50) if k <= len(drift)]
    words = ", ".join(f"{k}: {drift[k - 1]:.3g}" for k in steps)
    lines += [f"open-loop error (rms) after steps {words}"] if steps else []
    return [*lines, "interrupted: the weights so far are kept"] if card["fit"].get("interrupted") else lines


def _returns(card: dict[str, Any]) -> list[str]:
    known, error = card["policy_return"], card["errors"]["held_out_decoder_mse"]
    lines = []
    if known is not None:
        lines.append(f"return of its policy: {_number(known['mean'])} over {count_words(known['episodes'], 'episode')}")
    return [*lines, f"held-out error of its decoder (mean squared): {_number(error)}"]


def _number(value: float | None) -> str:
    return "n/a (no finite number)" if value is None else f"{value:.4g}"
