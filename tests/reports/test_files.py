import io
import os
import stat
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

from wmel.api.verbs import _read_layout
from wmel.closed_loop.trajectories import write_trajectories
from wmel.errors import BadInput, CannotWrite
from wmel.files import check_writable, read_file, read_json, read_text, read_toml, write_atomically
from wmel.reports.records import read_record
from wmel.training.checkpoints import read_card


def test_missing_folders_are_made(tmp_path):
    write_atomically(tmp_path / "a" / "b" / "c.txt", "hello")
    assert (tmp_path / "a" / "b" / "c.txt").read_text() == "hello"


def test_nothing_is_left_beside_the_file(tmp_path):
    write_atomically(tmp_path / "c.txt", "one")
    write_atomically(tmp_path / "c.txt", "two")
    check_writable(tmp_path / "c.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["c.txt"]


def test_a_reader_never_sees_half_a_file(tmp_path):
    path, texts, seen = tmp_path / "c.txt", ["a" * 200_000, "b" * 200_000], set()
    write_atomically(path, texts[0])
    done = threading.Event()

    def read():
        while not done.is_set():
            seen.add(path.read_text())

    reader = threading.Thread(target=read)
    reader.start()
    for turn in range(50):
        write_atomically(path, texts[turn % 2])
    done.set()
    reader.join()
    assert seen <= set(texts)


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "c.txt"
    write_atomically(path, "old")

    def write(file):
        file.write(b"half")
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError):
        write_atomically(path, write)
    assert path.read_text() == "old" and [path.name for path in tmp_path.iterdir()] == ["c.txt"]


@pytest.mark.parametrize("check", [check_writable, lambda path: write_atomically(path, "")])
def test_a_path_below_a_file_cannot_be_written(tmp_path, check):
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotWrite, match="cannot write"):
        check(tmp_path / "file" / "out.json")


def test_a_link_is_followed(tmp_path):
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    write_atomically(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink() and (tmp_path / "real.txt").read_text() == "new"


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    read = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_text()))
    reader.start()
    write_atomically(tmp_path / "pipe", "hello")
    reader.join(timeout=5)
    assert read == ["hello"] and not (tmp_path / "pipe").is_file()


def test_two_outputs_cannot_be_one_file(tmp_path):
    with pytest.raises(BadInput, match="must be different files"):
        check_writable(tmp_path / "x", tmp_path / "." / "x")


def test_checking_leaves_nothing_behind(tmp_path):
    check_writable(tmp_path / "new" / "out.json")
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_that_cannot_be_written_is_found_out_beforehand():
    with pytest.raises(CannotWrite, match="cannot write /proc/nowhere"):
        check_writable(Path("/proc/nowhere/out.json"))


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(CannotWrite, match="it is a folder"):
        check_writable(tmp_path)


def test_a_draft_has_a_name_that_nobody_can_guess_and_is_no_link(tmp_path, monkeypatch):
    seen = []
    for _ in range(2):
        write_atomically(tmp_path / "c.txt", lambda file: seen.append(Path(file.name)))
    assert len(set(seen)) == 2 and all(str(os.getpid()) not in draft.name for draft in seen)
    (tmp_path / "victim").write_text("mine")
    monkeypatch.setattr("wmel.files.token_hex", lambda length: "known")
    (tmp_path / ".c.txt.known").symlink_to("victim")
    with pytest.raises(CannotWrite):
        write_atomically(tmp_path / "c.txt", "new")
    assert (tmp_path / "victim").read_text() == "mine" and (tmp_path / "c.txt").read_text() == ""


def test_a_long_name_has_a_draft_too(tmp_path):
    name = "é" * 120 + ".txt"
    write_atomically(tmp_path / name, "hello")
    assert (tmp_path / name).read_text() == "hello"


@pytest.mark.parametrize("name", ["trajectories.npz", "table.md"])
def test_a_device_stays_a_device_and_a_link_to_it_a_link(tmp_path, name):
    (tmp_path / name).symlink_to("/dev/null")
    check_writable(tmp_path / name, Path("/dev/null"))
    write_trajectories(tmp_path / name, {"steps": np.zeros(3)})
    write_atomically(tmp_path / name, "hello")
    assert (tmp_path / name).is_symlink() and stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_device_that_is_full_is_one_line():
    check_writable(Path("/dev/full"))
    with pytest.raises(CannotWrite, match="/dev/full"):
        write_atomically(Path("/dev/full"), "hello")


def test_what_another_program_holds_open_is_not_replaced(tmp_path):
    with (tmp_path / "log").open("w+") as log:
        log.write("before\n")
        log.flush()
        write_atomically(Path(f"/dev/fd/{log.fileno()}"), "hello")
        assert (tmp_path / "log").stat().st_ino == os.fstat(log.fileno()).st_ino
    assert (tmp_path / "log").read_text() == "before\nhello"


def test_arrays_go_through_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "steps.npz")
    read = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "steps.npz").read_bytes()))
    reader.start()
    write_trajectories(tmp_path / "steps.npz", {"steps": np.arange(3)})
    reader.join(timeout=30)
    assert np.load(io.BytesIO(read[0]))["steps"].tolist() == [0, 1, 2]
    assert stat.S_ISFIFO((tmp_path / "steps.npz").stat().st_mode)


@pytest.mark.parametrize("work", [check_writable, lambda path: write_atomically(path, "")])
@pytest.mark.parametrize("name", ["loop", "loop/out.json", "a\0b"])
def test_a_path_that_leads_nowhere_cannot_be_written(tmp_path, work, name):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(CannotWrite):
        work(tmp_path / name)


@pytest.mark.parametrize("read", [read_file, read_text, read_json, read_toml, read_record, read_card, _read_layout])
@pytest.mark.parametrize(
    "name", ["/dev/zero", "/dev/null", "loop", "loop/x", "folder", "a\0b", "absent", "large", "deep", "bytes"]
)
def test_a_file_that_cannot_be_read_is_one_short_line(tmp_path, monkeypatch, read, name):
    monkeypatch.setattr("wmel.files.read_file.__defaults__", (1000,))
    monkeypatch.setattr("wmel.files.read_text.__defaults__", (1000,))
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "folder").mkdir()
    (tmp_path / "large").write_bytes(b"[" * 1001)
    (tmp_path / "deep").write_bytes(b"[" * 999)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe{")
    is_content = name in ("deep", "bytes", "large")  # what a reader of anything takes
    if is_content and (read is read_file or (name == "deep" and read in (read_text, _read_layout))):
        return
    with pytest.raises(BadInput) as refused:
        read(tmp_path / name)
    assert len(str(refused.value).splitlines()) == 1 and len(str(refused.value)) < 500


def test_little_of_an_endless_pipe_is_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    process = subprocess.Popen(["sh", "-c", f"yes > '{tmp_path / 'pipe'}'"], stderr=subprocess.DEVNULL)
    try:
        with pytest.raises(BadInput, match="more than"):
            read_text(tmp_path / "pipe")
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    "text",
    ["[a" + ".a" * 50 + "]\nb = 1", 'name = "a\\u0000b"', 'name = "a\\nb"', 'about = "\\u001b[2J"', '"a\\u0000" = 1'],
)
def test_a_study_that_no_store_can_hold_is_refused(tmp_path, text):
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(BadInput, match=r"study\.toml"):
        read_toml(tmp_path / "study.toml")
