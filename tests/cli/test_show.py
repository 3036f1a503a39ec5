import json

import pytest


@pytest.fixture(scope="module")
def folder(tmp_path_factory, wmel_command):
    folder = tmp_path_factory.mktemp("records")
    wmel_command("run", "--episodes", "5", "--out", "run.json", cwd=folder)
    wmel_command("sweep", "--plan-horizons", "5,15", "--episodes-per-point", "5", "--out", "sweep.json", cwd=folder)
    return folder


@pytest.mark.parametrize(("name", "words"), [("run.json", "success_rate"), ("sweep.json", "effective horizon H*")])
def test_a_stored_record_is_printed_again(wmel_command, folder, name, words):
    done = wmel_command("show", name, "--markdown", "again.md", cwd=folder)
    assert done.returncode == 0 and words in done.stdout
    text = (folder / "again.md").read_text()
    assert text.startswith("# tabular-world-model in maze_toy") and done.stdout.splitlines()[0] in text.splitlines()


def test_a_record_of_another_schema_version_is_one_clear_line(wmel_command, folder):
    record = json.loads((folder / "run.json").read_text()) | {"schema_version": "1.0"}
    (folder / "old.json").write_text(json.dumps(record))
    done = wmel_command("show", "old.json", cwd=folder)
    assert done.returncode == 2
    assert done.stderr == "wmel: old.json has schema version '1.0', and this wmel reads 2.0 and 2.1\n"


@pytest.mark.parametrize("content", ["", "{", "[1,2]", '{"schema_version": "2.0"}'])
def test_what_is_no_record_is_one_clear_line(wmel_command, folder, content):
    (folder / "bad.json").write_text(content)
    done = wmel_command("show", "bad.json", cwd=folder)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
