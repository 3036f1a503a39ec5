"""`wmel esnr over-training` as a user calls it."""

import json
import shutil

import pytest

import wmel
from wmel.training.checkpoints import read_checkpoint, write_checkpoint

WORLD = "dmc:cartpole-swingup"
QUICK = ["--env", WORLD, "--states", "4", "--samples", "4", "--plan-horizon", "2", "--population", "4", "--elites", "2"]
SETTINGS = {"states": 4, "samples": 4, "plan_horizon": 2, "population": 4, "elites": 2}
UPDATES = (1, 4, 16, 64, 256)


@pytest.fixture(scope="module")
def run(swingup_tdmpc2, tmp_path_factory):
    """A training that never learned anything: its weights are the same at every checkpoint."""
    folder = tmp_path_factory.mktemp("runs") / "seed0"
    for updates in UPDATES:
        shutil.copytree(swingup_tdmpc2, folder / "checkpoints" / f"{updates:07d}")
    (folder / "checkpoints" / "0001024").mkdir()  # being written: not whole
    return folder


@pytest.fixture(scope="module")
def read(wmel_command, run, tmp_path_factory):
    """The command once for all tests that look at what it made."""
    folder = tmp_path_factory.mktemp("read") / "out"
    folder.mkdir()
    table = folder / "returns.csv"
    lines = [f"seed0,{updates},{10 * updates},{'' if updates == 4 else 0.5}" for updates in (*UPDATES, 100)]
    table.write_text("\n".join(["run,updates,return,<i>gap</i>", *lines]) + "\n")
    done = wmel_command("esnr", "over-training", str(run), *QUICK, "--output", str(folder), "--beside", str(table))
    assert done.returncode == 0, done.stderr
    return folder, done


@pytest.fixture(scope="module")
def page(read):
    return (read[0] / "over-training.html").read_text()


@pytest.fixture(scope="module")
def records(page, read, run):
    """The records of its checkpoints by updates: everything is stored, so that nothing is read again."""
    result = wmel.esnr_over_training([run], WORLD, output=read[0], quiet=True, **SETTINGS)
    (training,) = result.trainings
    return training.records


def test_every_checkpoint_is_a_record_beside_the_oracle(records):
    assert list(records) == list(UPDATES)
    rows = [(one.model, one.method) for one in records[4].readings]
    assert rows == [
        *(("seed0@4", name) for name in ("fog", "zog", "cem")),
        *(("oracle", name) for name in ("fog(fd)", "zog", "cem")),
    ]
    assert all(one.alignment is not None for one in records[4].readings)


def test_what_is_stored_can_be_loaded_and_reported(read, wmel_command, tmp_path):
    shutil.copytree(read[0], tmp_path / "store")
    (training,) = wmel.load(tmp_path / "store").trainings
    models = {one.model for record in training.records.values() for one in record.readings}
    assert models == {"oracle", *(f"seed0@{updates}" for updates in UPDATES)}
    shown = wmel_command("report", str(tmp_path / "store"))
    assert shown.returncode == 0 and "seed0, fog: " in shown.stdout, shown.stderr
    assert "ESNR by fog over training" in (tmp_path / "store" / "report.html").read_text()


def test_noise_is_drawn_anew_at_every_checkpoint_and_states_are_the_same(records):
    first, *_ = found = list(records.values())
    assert len({one.readings[0].settings["noise_seed"] for one in found}) == len(UPDATES)
    assert len({one.readings[0].esnr.value for one in found}) == len(UPDATES)
    assert len({one.readings[0].weights for one in found}) == 1
    assert all(one.states == first.states for one in found)


def test_the_screen_has_a_row_for_each_checkpoint_and_a_verdict_for_each_estimator(read):
    folder, done = read
    rows = [line.split()[1] for line in done.stdout.splitlines() if line.split()[:1] == ["seed0"]]
    assert rows == [str(updates) for updates in UPDATES]
    for method in ("fog", "zog", "cem"):
        begins = tuple(f"- seed0, {method}: {reason}: " for reason in ("no U-shape", "too few checkpoints"))
        assert sum(line.startswith(begins) for line in done.stdout.splitlines()) == 1
        assert f"{method} ESNR of the oracle" in done.stdout
    assert "5/5 readings" in done.stderr and done.stderr.count("seed0@") == 5
    assert f"page: {folder / 'over-training.html'}" in done.stdout
    assert (folder / "over-training.md").read_text().startswith("# ESNR over training in dmc:cartpole-swingup")


def test_the_page_has_the_curves(page, records):
    for place, name in enumerate(("fog", "zog", "cem")):
        ratios, aligned = (_lines(page, f"{figure}-{name}") for figure in ("ratios", "alignments"))
        found = {updates: record.readings[place].esnr for updates, record in records.items()}
        assert ratios.get("seed0", []) == [updates for updates, one in found.items() if one.value > 0]
        assert ratios.get("seed0: at most", []) == [n for n, one in found.items() if one.value <= 0 < (one.high or 0)]
        assert aligned["seed0"] == list(UPDATES)
    assert _lines(page, "beside-0")["seed0"] == [1, 4, 16, 64, 100, 256]
    assert "<i>gap" not in page


def _lines(page: str, figure: str) -> dict[str, list[float]]:
    """The updates of every line by name, on a logarithmic axis."""
    data = json.loads(page.split(f'data-figure="{figure}">')[1].split("</script>")[0])
    assert data["layout"]["xaxis"]["type"] == "log"
    return {line["name"]: line["x"] for line in data["data"]}


@pytest.fixture
def again(read, run, wmel_command, tmp_path):
    """The command once more, in a copy of its folder: what it said, and its readings by file."""
    shutil.copytree(read[0] / "cells", tmp_path / "cells")
    shutil.copy(read[0] / "study.json", tmp_path)

    def call(*more: str, training=run):
        done = wmel_command("esnr", "over-training", str(training), *QUICK, *more, "--output", str(tmp_path))
        return done, {file: file.read_bytes() for file in tmp_path.rglob("reading.json")}

    return call


def test_what_was_read_is_not_read_again(again, tmp_path):
    lost = next(file for file in tmp_path.rglob("reading.json") if '"seed0@16"' in file.read_text())
    before = json.loads(lost.read_text())
    lost.unlink()
    stay = {file: file.read_bytes() for file in tmp_path.rglob("reading.json")}
    done, files = again()
    assert done.returncode == 0, done.stderr
    assert "1/1 readings" in done.stderr and len(stay) == 4
    assert all(files[file] == content for file, content in stay.items())
    found = json.loads(lost.read_text())
    assert [one["esnr"] for one in found["data"]["readings"]] == [one["esnr"] for one in before["data"]["readings"]]


@pytest.mark.parametrize("more", [["--sigma", "0.3"], ["--methods", "fog"], ["--no-oracle"], ["--init", "fixed"]])
def test_another_question_is_refused_and_leaves_the_folder_as_it_is(again, tmp_path, more):
    before = {file: file.read_bytes() for file in tmp_path.rglob("*.json")}
    done, _ = again(*more)
    assert done.returncode == 2 and str(tmp_path) in done.stderr and done.stderr.count("\n") == 1
    assert {file: file.read_bytes() for file in tmp_path.rglob("*.json")} == before


def test_models_that_imagine_in_another_way_are_read_anew_and_never_mixed_with_the_first(again, tmp_path):
    before = {file: file.read_bytes() for file in tmp_path.rglob("reading.json")}
    done, files = again("--rollout", "decoded")
    assert done.returncode == 0, done.stderr
    assert "5/5 readings" in done.stderr and len(files) == 10
    assert {file: files[file] for file in before} == before
    (training,) = wmel.load(tmp_path).trainings
    assert len({one.settings["samples"] for record in training.records.values() for one in record.readings}) == 1
    done, files = again()
    assert done.returncode == 0 and "readings" not in done.stderr and len(files) == 10  # the first is still there


def test_other_weights_are_read_again(again, run, tmp_path):
    other = tmp_path / "runs" / "seed0"
    shutil.copytree(run, other)
    checkpoint = other / "checkpoints" / "0000004"
    weights, card = read_checkpoint(checkpoint)
    changed = {name: value + 1 if value.is_floating_point() else value for name, value in weights.items()}
    write_checkpoint(checkpoint, changed, card)
    done, files = again(training=other)
    assert done.returncode == 0, done.stderr
    assert "1/1 readings" in done.stderr and len(files) == 6


def test_a_bad_table_is_one_line_and_exit_code_2_before_any_work(wmel_command, run, tmp_path):
    (tmp_path / "bad.csv").write_text("run,step\nseed0,1\n")
    options = [str(run), *QUICK, "--output", str(tmp_path / "out"), "--beside", str(tmp_path / "bad.csv")]
    done = wmel_command("esnr", "over-training", *options)
    assert done.returncode == 2 and "must have the columns" in done.stderr
    assert done.stderr.count("\n") == 1 and not (tmp_path / "out").exists()


def test_help_ends_with_examples(wmel_command):
    text = wmel_command("esnr", "over-training", "--help").stdout
    assert "wmel esnr over-training runs/seed0" in text.split("Examples:")[1]
