"""What a preset changes of the parts of a request, and what it leaves as it is."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from wmel import catalog
from wmel.errors import BadInput

NOTED = ("environment", "planner", "policy")  # kinds of parts that the note of a preset names


@dataclass(eq=False)
class PresetUse:
    """What a preset changes. It applies to parts given by name; objects and tables keep the settings that they have."""

    preset: Mapping[str, Mapping[str, Any]]
    is_used: bool = False  # whether a part received a setting
    unchanged: list[str] = field(default_factory=list)  # parts that received none

    def record(self, kind: str, name: str, received: Collection[str]) -> None:
        """Records a part and the settings that it received."""
        part = f"{kind} '{name}'"
        if received:
            self.is_used = True
        elif kind in NOTED and part not in self.unchanged:
            self.unchanged.append(part)

    def fill_in(self, kind: str, table: Mapping[str, Any]) -> dict[str, Any]:
        """The table of a part with the settings of the preset that it does not set; a live part has its own."""
        is_live = bool(table.get("given"))
        received = {} if is_live else catalog.settings_by_preset(self.preset, catalog.REGISTRIES[kind], table["name"])
        self.record(kind, table["name"], received.keys() - table.keys())
        return {**received, **table}

    def notes(self, *, judges_gaps: bool) -> tuple[str, ...]:
        """A line about the parts that the preset does not change; none if it changes all.

        Raises BadInput if it changes nothing: its verdict rule is enough only for a request that judges gaps.
        """
        if not self.preset or (self.is_used and not self.unchanged):
            return ()
        unchanged = ", ".join(self.unchanged)
        if self.is_used:
            return (f"the preset leaves these as they are: {unchanged}",)
        if judges_gaps and "verdict" in self.preset:
            return (f"only the verdict rule of the preset applies; it leaves these as they are: {unchanged}",)
        raise BadInput(
            f"the preset does not apply to any part named here ({unchanged}): it has settings of "
            f"{', '.join(self.preset)}; settings that are given, and those of an object, stay"
        )
