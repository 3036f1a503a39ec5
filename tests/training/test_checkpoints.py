"""Checkpoint folders: what is written is read, whole, and nothing is written over."""

import json
import os
import stat
import subprocess
import sys
from hashlib import sha256

import pytest
import torch

from wmel.errors import BadInput
from wmel.training.checkpoints import read_card, read_checkpoint, refuse_other_kind, write_checkpoint

WEIGHTS = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.ones(2, dtype=torch.float16)}
FULL = """
import resource, signal, sys
from pathlib import Path
import numpy as np, torch
from wmel.errors import CannotWrite
from wmel.training.checkpoints import write_checkpoint, write_tensors
from wmel.training.stored_episodes import EpisodesFolder
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
folder, much = Path(sys.argv[1]), torch.zeros(10_000)
episodes = np.zeros((11, 40, 5)), np.zeros((10, 40, 1)), np.zeros((10, 40))
for write in (
    lambda: write_checkpoint(folder, {"a": much}, {"model": {}}),
    lambda: write_tensors(folder / "t.safetensors", {"a": much}, {}),
    lambda: EpisodesFolder(folder / "episodes").add(0, *episodes),
):
    try:
        write()
        print("written")
    except CannotWrite as error:
        print(error)
"""


def test_what_is_written_is_read(tmp_path):
    write_checkpoint(tmp_path, WEIGHTS, {"model": {"kind": "any"}})
    weights, card = read_checkpoint(tmp_path)
    assert card["model"] == {"kind": "any"} and weights.keys() == WEIGHTS.keys()
    assert all(
        torch.equal(weights[name], WEIGHTS[name]) and weights[name].dtype == WEIGHTS[name].dtype for name in weights
    )


def test_weights_of_another_card_are_refused(tmp_path):
    for place, name in enumerate(("one", "other")):
        write_checkpoint(tmp_path / name, {"a": torch.full((3,), float(place))}, {"model": {"kind": "any"}})
    (tmp_path / "one" / "weights.safetensors").write_bytes((tmp_path / "other" / "weights.safetensors").read_bytes())
    with pytest.raises(BadInput, match=r"weights\.safetensors does not match card\.json"):
        read_checkpoint(tmp_path / "one")


def test_it_may_be_given_by_its_card(tmp_path):
    write_checkpoint(tmp_path, WEIGHTS, {"model": {"kind": "any"}})
    assert read_checkpoint(tmp_path / "card.json")[1] == read_card(tmp_path / "card.json") == read_card(tmp_path)


@pytest.mark.parametrize("kind", ["F8_E8M0", "NONE", "F32"])
def test_weights_that_no_tensor_can_hold_are_refused(tmp_path, kind):
    """The bytes are those the card describes, and are none that can be read: unknown numbers, or too few."""
    header = json.dumps({"a": {"dtype": kind, "shape": [2], "data_offsets": [0, 2]}}).encode()
    stored = len(header).to_bytes(8, "little") + header + bytes(2)
    (tmp_path / "weights.safetensors").write_bytes(stored)
    card = {"model": {"kind": "any"}, "weights_sha256": sha256(stored).hexdigest()}
    (tmp_path / "card.json").write_text(json.dumps(card))
    with pytest.raises(BadInput, match="cannot read the weights"):
        read_checkpoint(tmp_path)


def test_a_card_without_a_hash_is_refused(tmp_path):
    write_checkpoint(tmp_path, WEIGHTS, {"model": {"kind": "any"}})
    (tmp_path / "card.json").write_text(json.dumps({"model": {"kind": "any"}}))
    with pytest.raises(BadInput, match="its card has no weights_sha256"):
        read_checkpoint(tmp_path)


def edit(folder, **changes):
    card = {**json.loads((folder / "card.json").read_text()), **changes}
    (folder / "card.json").write_text(json.dumps({name: one for name, one in card.items() if one is not None}))


def test_a_card_that_was_edited_is_refused(tmp_path):
    write_checkpoint(tmp_path, WEIGHTS, {"model": {"kind": "any", "target": "next"}, "curve": (1.5, float("nan"))})
    edit(tmp_path)  # another layout of the same content
    assert read_checkpoint(tmp_path)[1]["model"]["target"] == "next"
    edit(tmp_path, model={"kind": "any", "target": "delta"})
    with pytest.raises(BadInput, match=rf"{tmp_path}/card.json was edited"):
        read_checkpoint(tmp_path)
    edit(tmp_path, card_sha256=3)
    with pytest.raises(BadInput, match="card_sha256 is 3"):
        read_checkpoint(tmp_path)


def test_a_card_of_an_earlier_version_has_no_hash_of_its_own_and_is_read(tmp_path):
    write_checkpoint(tmp_path, WEIGHTS, {"model": {"kind": "any"}})
    edit(tmp_path, card_sha256=None, model={"kind": "other"})
    assert read_checkpoint(tmp_path)[1]["model"] == {"kind": "other"}


def test_the_weights_alone_are_sent_back_to_their_folder(tmp_path):
    write_checkpoint(tmp_path, WEIGHTS, {"model": {"kind": "any"}})
    with pytest.raises(BadInput, match="give its folder"):
        read_checkpoint(tmp_path / "weights.safetensors")


def test_whoever_may_read_the_card_may_read_the_weights(tmp_path):
    before = os.umask(0o022)
    try:
        write_checkpoint(tmp_path, WEIGHTS, {"model": {}})
    finally:
        os.umask(before)
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("card.json", "weights.safetensors")]
    assert modes == [0o644, 0o644]


def test_a_disk_that_is_full_is_said_in_one_line_and_leaves_nothing_half(tmp_path):
    """By a limit on the size of files, which writing meets as it meets a full disk."""
    done = subprocess.run([sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True, timeout=120)
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and len(lines) == 3, done.stderr
    assert all(line.startswith("cannot write ") and "File too large" in line for line in lines), lines
    assert not list(tmp_path.rglob("*.safetensors"))


def test_a_model_of_another_kind_is_not_written_over(tmp_path):
    write_checkpoint(tmp_path, WEIGHTS, {"model": {"kind": "tdmpc2"}})
    with pytest.raises(BadInput, match=r"kind tdmpc2.*--output"):
        refuse_other_kind(tmp_path, "mlp")
    refuse_other_kind(tmp_path, "tdmpc2")
    refuse_other_kind(tmp_path / "empty", "mlp")
