import pytest

VERBS = ("run", "sweep", "show", "list", "doctor")


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


def test_no_color_means_no_escape_codes(wmel_command):
    import os

    done = wmel_command("run", "--episodes", "2", env={**os.environ, "NO_COLOR": "1", "FORCE_COLOR": ""})
    assert "\x1b" not in done.stdout + done.stderr
