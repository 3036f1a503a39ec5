"""Reading what was typed: outputs checked before any work, files and lists turned into values."""

from pathlib import Path

from wmel.errors import BadInput
from wmel.reports.files import check_writable


def check_outputs(*paths: Path | None) -> None:
    """Refuse outputs that cannot be written, before anything is computed."""
    for path in paths:
        if path is not None:
            check_writable(path)


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
    for word in words:
        if not word.lstrip("+-").isdecimal():
            raise BadInput(f"{option} takes whole numbers separated by commas; {word!r} is none")
    return [int(word) for word in words]
