import os
import threading
from pathlib import Path

import pytest

from wmel.errors import BadInput, CannotWrite
from wmel.files import check_writable, write_atomically


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
