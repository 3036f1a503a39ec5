from importlib.metadata import version

import pytest

from wmel.machine import _satisfies


def test_it_says_what_is_installed_and_how_to_get_the_rest(wmel_command):
    done = wmel_command("doctor")
    assert done.returncode == 0, done.stderr
    assert f"wmel {version('wmel')}, Python 3." in done.stdout
    answer, *rows = done.stdout.splitlines()
    assert answer.endswith(("everything is installed.", "not complete."))
    assert ("not complete" in answer) == any(row.rstrip().endswith(("missing", "(wrong)")) for row in rows)
    lines = {tuple(line.split()[:2]): line for line in done.stdout.splitlines()}
    assert version("numpy") in lines["core", "numpy"]
    for extra in ("control", "learned", "report", "pandas", "dev"):
        present = [line for (part, *_), line in ((key, value) for key, value in lines.items() if key) if part == extra]
        assert present, extra
        if any(line.rstrip().endswith("missing") for line in present):
            assert f"pip install 'wmel[{extra}]'" in done.stdout


@pytest.mark.parametrize(
    ("found", "wanted", "fits"),
    [
        ("3.16.0", "==3.16.*", True),
        ("4.0.0", "==3.16.*", False),
        ("3.160.0", "==3.16.*", False),
        ("1.0.49", "==1.0.49", True),
        ("2.13.0+cpu", ">=2.6", True),
        ("2.4.9", ">=2.6", False),
        ("0.1", "any", True),
        ("2.10", ">=2.9,==2.*", True),
    ],
)
def test_a_version_fits_or_not(found, wanted, fits):
    assert _satisfies(found, wanted) == fits
