"""A grid world drawn as text: `#` wall, `.` free, `S` start, `G` goal, `D` door (optional)."""

from dataclasses import dataclass
from typing import Annotated

from wmel.errors import BadLayout
from wmel.parts import Meaning

SYMBOLS = "#.SGD"
Cell = tuple[int, int]
Drawing = Annotated[str, Meaning("the grid as text: # wall, . free, S start, G goal, D door")]


@dataclass(frozen=True)
class Layout:
    """A validated drawing; cells are (x, y) with x to the right, y up, and (0, 0) at the bottom left."""

    width: int
    height: int
    walls: frozenset[Cell]
    start: Cell
    goal: Cell
    door: Cell | None

    @classmethod
    def parse(cls, drawing: str) -> "Layout":
        """Read a drawing, top row first; blank lines around it do not count."""
        rows = [line.rstrip() for line in drawing.strip("\n").splitlines()]
        if not any(rows):
            raise BadLayout("a layout needs at least one row; got nothing")
        for number, row in enumerate(rows, start=1):
            _check_row(number, row, len(rows[0]))
        cells = {
            symbol: [
                (x, len(rows) - 1 - i) for i, row in enumerate(rows) for x, mark in enumerate(row) if mark == symbol
            ]
            for symbol in SYMBOLS
        }
        for symbol, name in (("S", "start"), ("G", "goal")):
            if len(cells[symbol]) != 1:
                raise BadLayout(f"a layout needs exactly one {name} '{symbol}', got {len(cells[symbol])}")
        if len(cells["D"]) > 1:
            raise BadLayout(f"a layout has at most one door 'D', got {len(cells['D'])}")
        return cls(
            width=len(rows[0]),
            height=len(rows),
            walls=frozenset(cells["#"]),
            start=cells["S"][0],
            goal=cells["G"][0],
            door=cells["D"][0] if cells["D"] else None,
        )

    def __str__(self) -> str:
        marks = {self.start: "S", self.goal: "G", self.door: "D"} | dict.fromkeys(self.walls, "#")
        rows = range(self.height - 1, -1, -1)
        return "\n".join("".join(marks.get((x, y), ".") for x in range(self.width)) for y in rows)

    def is_free(self, cell: Cell) -> bool:
        x, y = cell
        return 0 <= x < self.width and 0 <= y < self.height and cell not in self.walls


def _check_row(number: int, row: str, width: int) -> None:
    if len(row) != width:
        raise BadLayout(f"row {number} of the layout has {len(row)} characters, row 1 has {width}: {row!r}")
    for column, mark in enumerate(row, start=1):
        if mark not in SYMBOLS:
            raise BadLayout(
                f"row {number}, character {column} of the layout is {mark!r}; use '#' wall, '.' free, 'S' start, "
                "'G' goal, 'D' door"
            )
