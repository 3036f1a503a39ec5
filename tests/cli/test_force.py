"""Outputs never replace a file of another kind, unless --force is given."""

import inspect

import pytest

import wmel
from tests.conftest import says
from wmel.errors import BadInput

RUN = "run --env maze_toy --policy random --episodes 2 --horizon 3 --quiet"
NOTES = "# Notes\n\nThese are mine.\n"


@pytest.mark.parametrize(
    ("option", "name"),
    [("--output", "notes.json"), ("--markdown", "notes.md"), ("--markdown", "notes"), ("--trajectories", "notes.npz")],
)
def test_a_file_that_wmel_did_not_write_is_replaced_with_force_alone(tmp_path, wmel_command, option, name):
    (tmp_path / name).write_text(NOTES)
    done = wmel_command(*RUN.split(), option, name, cwd=tmp_path)
    assert done.returncode == 2 and says(done.stderr, f"{name} ... --force"), done.stderr
    assert (tmp_path / name).read_text() == NOTES and [one.name for one in tmp_path.iterdir()] == [name]
    for more in (["--force"], []):  # from then on the file is its own
        done = wmel_command(*RUN.split(), option, name, *more, cwd=tmp_path)
        assert done.returncode == 0 and (tmp_path / name).read_bytes() != NOTES.encode(), done.stderr


def test_an_empty_file_and_a_file_of_its_own_need_no_force(tmp_path):
    (tmp_path / "empty.md").write_text("")
    for _ in range(2):
        done = wmel.run(
            "maze_toy", "random", episodes=2, horizon=3, output=tmp_path / "r.json", markdown=tmp_path / "empty.md"
        )
        assert done.exit_code == 0
        wmel.report(tmp_path / "r.json")
        wmel.report(tmp_path / "r.json", output=tmp_path / "pages")
        wmel.show(tmp_path / "r.json", markdown=tmp_path / "pages" / "report.md")


def test_a_report_of_somebody_else_in_the_folder_stays(tmp_path, maze_training):
    wmel.run("maze_toy", "random", episodes=2, horizon=3, output=tmp_path / "r.json")
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "report.md").write_text(NOTES)
    with pytest.raises(BadInput, match=r"report\.md"):
        wmel.report(tmp_path / "r.json", output=tmp_path / "pages")
    assert (tmp_path / "pages" / "report.md").read_text() == NOTES
    for one in (tmp_path / "r.json", maze_training.folder):
        for _ in range(2):
            wmel.report(one, output=tmp_path / "pages", force=True)
    wmel.report(maze_training.folder, output=tmp_path / "pages")


def test_what_is_no_folder_holds_no_store(tmp_path, wmel_command):
    (tmp_path / "notes.txt").write_text(NOTES)
    for more in ([], ["--force"]):
        done = wmel_command(*RUN.split(), "--output", "notes.txt", *more, cwd=tmp_path)
        assert done.returncode == 2 and "notes.txt" in done.stderr and len(done.stderr.splitlines()) == 1
    assert (tmp_path / "notes.txt").read_text() == NOTES


def test_every_verb_with_an_output_has_force():
    for name in (
        "run",
        "sweep",
        "cpg",
        "study",
        "esnr",
        "esnr_toy",
        "diagnose",
        "compare",
        "report",
        "train",
        "convert",
    ):
        assert "force" in inspect.signature(getattr(wmel, name)).parameters, name
    assert "force" not in inspect.signature(wmel.power).parameters
    with pytest.raises(BadInput, match="force"):
        wmel.run("maze_toy", "random", force="yes")
