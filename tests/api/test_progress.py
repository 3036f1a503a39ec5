"""Progress where there is no terminal: plain lines, and in a notebook one line that is written over."""

import pytest

from wmel.api import progress


def written_over(text: str) -> list[str]:
    """The lines that are left where a carriage return goes back to the start of a line, as a notebook shows them."""
    lines = []
    for line in text.split("\n"):
        shown = ""
        for words in line.split("\r"):
            shown = words + shown[len(words) :]
        lines.append(shown.rstrip())
    return [line for line in lines if line]


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on by ten seconds whenever it is read."""
    times = iter(range(0, 10_000, 10))
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(times))


@pytest.mark.parametrize("in_place", [True, False])
def test_episodes_are_counted_whole_and_the_last_line_is_all_of_them(capsys, clock, in_place):
    lines = progress._Lines("cem in maze_toy", 12, "episodes", in_place=in_place)
    for _ in range(48):
        lines.advance(0.25)
    shown = written_over(capsys.readouterr().err)
    assert shown[-1] == "cem in maze_toy: 12/12 episodes"
    assert len(shown) == (1 if in_place else 48)
    assert all("." not in line for line in shown)
