from importlib.metadata import version


def test_it_says_what_is_installed_and_how_to_get_the_rest(wmel_command):
    done = wmel_command("doctor")
    assert done.returncode == 0, done.stderr
    assert f"wmel {version('wmel')}, Python 3." in done.stdout
    lines = {tuple(line.split()[:2]): line for line in done.stdout.splitlines()}
    assert version("numpy") in lines["core", "numpy"]
    for extra in ("control", "learned", "report", "gym", "ray", "dev"):
        present = [line for (part, *_), line in ((key, value) for key, value in lines.items() if key) if part == extra]
        assert present, extra
        if any(line.rstrip().endswith("missing") for line in present):
            assert f"pip install 'wmel[{extra}]'" in done.stdout
