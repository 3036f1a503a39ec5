import signal
import subprocess
import sys
import time

import pytest

VERBS = ("run", "sweep", "show", "list", "power", "check", "explain", "doctor")


def test_help_names_every_verb(wmel_command):
    done = wmel_command("--help")
    assert done.returncode == 0
    for verb in VERBS:
        assert f"\n  {verb}" in done.stdout


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_each_verb_ends_with_examples(wmel_command, verb):
    lines = wmel_command(verb, "--help").stdout.strip().splitlines()
    start = next(place for place, line in enumerate(lines) if line.strip() == "Examples:")
    assert len(lines) > start + 1
    assert all(line.strip().startswith(f"wmel {verb}") for line in lines[start + 1 :])


def test_without_a_verb_help_is_shown(wmel_command):
    done = wmel_command()
    assert "Usage: " in done.stdout + done.stderr


def test_an_unknown_verb_is_one_clear_line(wmel_command):
    done = wmel_command("rum")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1 and "rum" in done.stderr


@pytest.mark.parametrize("where", ["| head -1", ">/dev/full", ">&-", "2>&-"])
def test_a_closed_or_full_stream_loses_no_record(tmp_path, where):
    command = f"{sys.executable} -c 'from wmel.cli.main import main; main()' run --episodes 2 --output r.json {where}"
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (tmp_path / "r.json").exists()
    assert "Traceback" not in done.stderr


def test_an_interruption_is_reported_in_one_line(tmp_path):
    body = "    pathlib.Path('begun').touch()\n    time.sleep(600)\n"
    (tmp_path / "slow.py").write_text(f"import pathlib, time\ndef dynamics(s, a):\n{body}")
    code = "from wmel.cli.main import main; main()"
    command = [sys.executable, "-c", code, "run", "--policy", "cem", "--model", "slow:dynamics"]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a test in the background ignores it
    )
    while not (tmp_path / "begun").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30)[1] == "wmel: interrupted\n"
    assert process.returncode == 130


def test_no_color_means_no_escape_codes(wmel_process):
    done = wmel_process("run", "--episodes", "2", NO_COLOR="1", FORCE_COLOR="")
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "line", ["run --episodes 1 --quiet", "cpg --env maze_toy --model own:still --episodes 1 --quiet", "list planners"]
)
def test_a_command_that_uses_no_checkpoint_needs_no_torch(line, tmp_path):
    (tmp_path / "own.py").write_text("def still(state, action):\n    return state\n")
    code = "import sys; sys.modules['torch'] = None; from wmel.cli.main import main; main()"
    command = [sys.executable, "-c", code, *line.split()]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
