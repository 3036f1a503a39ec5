"""Everything the README shows runs; `make demo` and `make test` are run by .ci/run itself."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```(bash|python|toml)\n(.*?)```", README, flags=re.DOTALL)
FILES = {text.split()[1]: text for language, text in BLOCKS if language == "toml"}  # named in their first line
PYTHON = [text for language, text in BLOCKS if language == "python"]
COMMANDS = [line for language, text in BLOCKS if language == "bash" for line in text.splitlines()]


def test_the_readme_opens_with_its_two_commands():
    assert [line.split("#")[0].strip() for line in COMMANDS[:2]] == ["make demo", "make test"]


@pytest.mark.slow
def test_every_command_line_of_the_readme_works(wmel_command, tmp_path):
    lines = [line for line in COMMANDS if line.startswith("wmel ")]
    assert lines
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    for shipped in ROOT.glob("models/*-td[15]*"):
        shutil.copytree(shipped, tmp_path / "models" / shipped.name)
    for line in lines:
        done = wmel_command(*shlex.split(line)[1:], cwd=tmp_path)
        assert done.returncode == 0, f"{line}: {done.stderr}"


@pytest.mark.parametrize("text", PYTHON, ids=range(len(PYTHON)))
def test_every_piece_of_python_in_the_readme_runs(text, tmp_path):
    (tmp_path / "models").symlink_to(ROOT / "models")
    done = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_each_way_to_bring_a_model_takes_fewer_than_fifteen_lines():
    ways = [text for text in PYTHON if "model=" in text]
    assert len(ways) == 3
    assert all(len(text.strip().splitlines()) < 15 for text in ways)


def test_the_scorecard_shown_is_the_scorecard_printed(wmel_command, tmp_path):
    """Outcomes are exact; only the latency line differs between machines."""
    shown = re.search(r"```\n(environment: maze_toy.*?)```", README, flags=re.DOTALL)
    assert shown is not None
    line = next(line for line in COMMANDS if line.startswith("wmel run"))
    printed = [" ".join(line.split()) for line in wmel_command(*line.split()[1:], cwd=tmp_path).stdout.splitlines()]
    for expected in shown[1].splitlines():
        if expected != "..." and "latency" not in expected:
            assert " ".join(expected.split()) in printed


def test_every_link_of_the_readme_leads_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_every_verb_of_the_makefile_that_the_documents_name_exists():
    verbs = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert {"demo", "test", "check", "bench"} <= set(verbs)


def test_the_ci_script_can_be_run():
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
