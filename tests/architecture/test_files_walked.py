"""A command is followed through few files: `benchmarks/files_walked.py` counts them."""

from pathlib import Path


def test_a_reader_opens_few_files_to_follow_a_command(maze_training, monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    from files_walked import COMMANDS, walk_all

    files = walk_all(maze_training.folder)
    assert {name: len(walked) <= COMMANDS[name][1] for name, walked in files.items()} == dict.fromkeys(files, True)
    assert "cli/main.py" in files["wmel run"] and "analysis/gap.py" in files["wmel cpg"]  # it counts something
