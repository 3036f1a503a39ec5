"""The current folder: only `package.module:object` is looked up there, and nothing in it runs by itself."""

import io
import json
import pickle
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import wmel
from tests.conftest import process_environment
from wmel.errors import BadInput
from wmel.files import hash_files

LEAVES = "import pathlib; pathlib.Path({path!r}).touch()\n"  # a module, or a program, that shows that it ran
STUDY = """name = "small"
episodes = 2
[[environments]]
name = "maze_toy"
[[policies]]
name = "random"
"""


@pytest.mark.slow
def test_files_of_the_folder_are_not_imported_in_place_of_packages(tmp_path):
    """Neither by the command line nor by its workers; modules of Python, of packages and of wmel's extras."""
    ran = tmp_path / "ran"
    for name in ("typing", "multiprocessing", "polars", "torch", "concurrent", "numpy", "rich"):
        (tmp_path / f"{name}.py").write_text(LEAVES.format(path=str(ran)) + f"raise SystemExit('{name} of the folder')")
    (tmp_path / "study.toml").write_text(STUDY)
    words = "study study.toml --output out --executor processes --workers 1 --quiet"
    environment = process_environment() | {"PYTHONPATH": str(Path(wmel.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-m", "wmel", *words.split()], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert not ran.exists()


def test_a_part_of_the_folder_is_found_last(tmp_path, wmel_command):
    (tmp_path / "mine_of_folder.py").write_text("def still(state, action): return state")
    before = list(sys.path)
    done = wmel_command("cpg", "--env", "maze_toy", "--model", "mine_of_folder:still", "--episodes", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sys.path == before


def test_a_study_of_built_in_parts_does_not_look_into_the_folder(tmp_path, monkeypatch):
    (tmp_path / "study.toml").write_text(STUDY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [one for one in sys.path if one != str(tmp_path)])
    wmel.study("study.toml", output=tmp_path / "out", quiet=True)
    assert str(tmp_path) not in sys.path
    with pytest.raises(BadInput, match="'absent:part'"):
        wmel.run(environment="absent:part")
    assert sys.path[-1] == str(tmp_path)


@pytest.fixture
def repository(tmp_path):
    """A folder under git with a changed file, whose configuration names programs for every step of `git status`."""
    folder, ran = tmp_path / "work", tmp_path / "ran"
    folder.mkdir()
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho \"$0 $@\" >> '{ran}'\ncat\n")
    program.chmod(0o755)

    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=folder, check=True)

    git("init", "--quiet")
    (folder / "file.txt").write_text("one")
    (folder / ".gitattributes").write_text("* filter=own.one diff=own\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "first")
    (folder / "file.txt").write_text("two")
    (folder / "hooks").mkdir()
    for hook in ("post-index-change", "fsmonitor-watchman"):
        shutil.copy(program, folder / "hooks" / hook)
    keys = {
        "core.fsmonitor": program, "core.hooksPath": folder / "hooks", "core.pager": program, "pager.status": program,
        "filter.own.one.clean": program, "filter.own.one.required": "true", "diff.own.textconv": program,
        "diff.own.command": program, "diff.external": program, "core.sshCommand": program,
    }  # fmt: skip
    for key, value in keys.items():
        git("config", key, str(value))
    ran.unlink(missing_ok=True)
    return folder, ran


def git_of(folder: Path, monkeypatch):
    """The revision of a folder, as a row stores it."""
    from wmel.experiments import provenance

    monkeypatch.chdir(folder)
    provenance._git.cache_clear()
    try:
        return provenance._git()
    finally:
        provenance._git.cache_clear()


def test_a_partial_clone_fetches_nothing_by_a_program_of_its_configuration(repository, tmp_path, monkeypatch):
    folder, ran = repository
    for words in (
        ("-C", str(folder), "config", "uploadpack.allowFilter", "true"),
        ("clone", "--quiet", "--no-checkout", "--filter=tree:0", f"file://{folder}", str(tmp_path / "part")),
        ("-C", str(tmp_path / "part"), "config", "remote.origin.uploadpack", str(tmp_path / "program")),
    ):
        subprocess.run(["git", *words], check=True)
    ran.unlink(missing_ok=True)
    git_of(tmp_path / "part", monkeypatch)
    assert not ran.exists()


@pytest.mark.parametrize("filters", [True, False])
def test_git_is_asked_without_the_programs_of_the_folder(repository, monkeypatch, filters):
    folder, ran = repository
    if not filters:
        (folder / ".gitattributes").write_text("")
    found = git_of(folder, monkeypatch)
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, text=True, check=True
    ).stdout.strip()
    assert found == {"commit": head, "dirty": True}
    assert not ran.exists(), ran.read_text()


class Runs:
    """A pickle that writes a file when it is loaded."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def pickled(path: Path) -> bytes:
    return pickle.dumps(Runs(path))


def archive_of_pickles(path: Path) -> bytes:
    """An .npz whose arrays hold objects."""
    content = io.BytesIO()
    np.savez(content, actions=np.array([Runs(path)], dtype=object))
    return content.getvalue()


def torch_archive(path: Path) -> bytes:
    """What torch.save writes, with an object of our own in it."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("archive/data.pkl", pickled(path))
        archive.writestr("archive/version", "3")
    return content.getvalue()


@pytest.mark.parametrize("make", [pickled, archive_of_pickles, torch_archive])
def test_no_pickle_is_loaded_however_it_is_named(make, maze_training, tmp_path, wmel_command):
    ran = tmp_path / "ran"
    content = make(ran)
    (tmp_path / "model.pt").write_bytes(content)
    (tmp_path / "episodes").mkdir()
    (tmp_path / "episodes" / "round-00000.safetensors").write_bytes(content)
    described = {"environment": "x", "observation": ["a"], "actions": {"bounds": [[-1], [1]]}}
    (tmp_path / "episodes" / "episodes.json").write_text(json.dumps(described))
    shutil.copytree(maze_training.folder, tmp_path / "net")
    (tmp_path / "net" / "weights.safetensors").write_bytes(content)
    card = json.loads((tmp_path / "net" / "card.json").read_text())
    card["weights_sha256"] = hash_files(tmp_path / "net" / "weights.safetensors")
    (tmp_path / "net" / "card.json").write_text(json.dumps(card))
    run = "run --env maze_toy --policy random --episodes 2 --trajectories"
    assert wmel_command(*run.split(), "steps", "--output", "stored", cwd=tmp_path).returncode == 0
    for path in (tmp_path / "stored").rglob("*.npz"):
        path.write_bytes(content)
    lines = (
        "convert model.pt --env dmc:cartpole-swingup --output new",
        "cpg --env maze_toy --model net --episodes 1",
        "train mlp --env dmc:cartpole-swingup --data episodes --output new",
        f"{run} again --output stored",
    )
    for line in lines:
        done = wmel_command(*line.split(), cwd=tmp_path)
        assert done.returncode in (1, 2) and len(done.stderr.splitlines()) == 1, (line, done.stderr)
    assert not ran.exists()
