"""Reading what was typed: outputs checked before any work, files and lists turned into values."""

import sys
from pathlib import Path
from typing import Any

from wmel import catalog
from wmel.contract.criterion import Criterion
from wmel.control_suite import WITH_LEVELS
from wmel.errors import BadInput
from wmel.reports.files import check_writable


def check_outputs(*paths: Path | None) -> None:
    """Refuse outputs that cannot be written, before anything is computed."""
    check_writable(*(path for path in paths if path is not None))


def grid_settings(layout: Path | None) -> dict[str, str]:
    """The settings of a grid world drawn in a file, or none."""
    if layout is None:
        return {}
    try:
        return {"layout": layout.read_text(encoding="utf-8")}
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read the layout {layout}: {error}") from error


def whole_numbers(text: str, option: str) -> list[int]:
    """Numbers separated by commas."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not words:
        raise BadInput(f"{option} needs at least one whole number, such as 5,10,15; got {text!r}")
    try:
        return [int(word) for word in words]
    except ValueError:
        raise BadInput(f"{option} takes whole numbers separated by commas, got {text[:80]!r}") from None


def numbers(text: str, option: str) -> list[float]:
    """Numbers separated by commas, each once."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    try:
        found = [float(word) for word in words]
    except ValueError:
        found = []
    if not found:
        raise BadInput(f"{option} takes numbers separated by commas, such as 5,6; got {text[:80]!r}")
    if len(set(found)) < len(found):
        raise BadInput(f"{option} takes each number once, got {text[:80]!r}")
    return found


def given(**settings: Any) -> dict[str, Any]:
    """The settings that were typed; the rest keep their defaults."""
    return {name: value for name, value in settings.items() if value is not None}


def own_model(text: str | None, world: Any, device: str | None = None, rollout: str | None = None) -> Any:
    """A checkpoint folder, or a model named as package.module:object found from here on; None for the oracle."""
    stored = text is not None and (Path(text).exists() or "/" in text)
    if device is not None and not stored:
        raise BadInput(f"--device is for checkpoints; {text or 'the oracle'} is where it is")
    if rollout is not None and not stored:
        raise BadInput(f"--rollout is for checkpoints; {text or 'the oracle'} imagines in its own way")
    if text is None or text == "oracle":
        return None
    if stored:
        from wmel.training.restore import restored

        model = restored(Path(text), world, device or "cpu", rollout)
        tell_another_task(Path(text), world)
        return model
    return catalog.MODELS.load(text)


def own_models(texts: list[str], world: Any, device: str | None, rollout: str | None) -> dict[str, Any]:
    """Several by name; where some have a choice how to imagine, `rollout` is for those."""
    choosing = [text for text in texts if rollout is not None and _may_choose(text)]
    return {
        arm_name(text): own_model(text, world, device, rollout if text in choosing or not choosing else None)
        for text in texts
    }


def _may_choose(text: str) -> bool:
    """Whether it is a checkpoint whose kind imagines in more than one way."""
    from wmel.training.checkpoints import read_card
    from wmel.training.kinds import KINDS

    kind = read_card(Path(text))["model"].get("kind") if Path(text).exists() else None
    return isinstance(kind, str) and kind in KINDS and bool(KINDS[kind].rollouts)


def tell_another_task(folder: Path, world: Any) -> None:
    """A word on a checkpoint that fits a world by its shapes, and was trained on another task."""
    from wmel.training.checkpoints import read_card

    then = read_card(folder)["model"].get("environment")
    tasks = {WITH_LEVELS.get(name, name) for name in (str(one).partition("[")[0] for one in (then, world.spec.name))}
    if then is not None and len(tasks) > 1:
        print(f"note: {folder} was trained on {then}, and this is {world.spec.name}", file=sys.stderr)


def arm_name(text: str) -> str:
    """A model's name among others: that of its folder, or of the object."""
    return Path(text).name if "/" in text or Path(text).exists() else text.rpartition(":")[2]


def find_from_here() -> None:
    """Let package.module:object be found in the current folder, as `python -m` would."""
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))


def perturbation(text: str | None, probability: float) -> Any:
    """A perturbation as it was typed; one that never strikes is a slip."""
    if text is None:
        return None
    if probability == 0:
        raise BadInput(f"{text} never strikes: give --perturb-prob a share above 0")
    return catalog.perturbation(text)


def criterion(text: str | None) -> Criterion | None:
    """A criterion as it was typed, or None."""
    return None if text is None else Criterion.parse(text)


def metrics(names: list[str] | None, deadline_ms: float | None) -> list[str]:
    """The metrics asked for, the deadline among them; an unknown one is refused before anything runs."""
    wanted = [*(names or ()), *([] if deadline_ms is None else [f"deadline@{deadline_ms:.12g}"])]
    for name in wanted:
        catalog.metric(name)
    return wanted
