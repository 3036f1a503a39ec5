"""Damaged checkpoints: edited cards, weights with other headers, pickles in their place."""

import json
import pickle
import struct
from hashlib import sha256
from random import Random

from tests.attack.cases import Case
from tests.attack.fixtures import INPUTS, TINY, Fixtures
from tests.attack.values import mangled_bytes, mangled_data

NAME = "checkpoints"
PROMISE = "an edited card or damaged weights are refused in one line; no code of a file runs"
VERBS = (
    f"cpg --env maze_toy --model net {TINY} --quiet",
    "show net", "check net", "list net",
    "diagnose prediction-error --env maze_toy --model net --states 2 --steps 2 --quiet",
    "train mlp --env maze_toy --epochs 1 --quiet --output net",
)  # fmt: skip
CORPUS = (
    b"", b"\x00" * 8, b"\xff" * 8, pickle.dumps([1]), b"PK\x03\x04", struct.pack("<Q", 2**60) + b"{}",
    struct.pack("<Q", 2) + b"[]", struct.pack("<Q", 4) + b"null",
)  # fmt: skip


def case(number: int, rng: Random, fixtures: Fixtures) -> Case:
    """A checkpoint with another card or other weights; the card may have the checksum of the new weights."""
    net = fixtures.path("net")
    weights, card = (net / "weights.safetensors").read_bytes(), json.loads((net / "card.json").read_text())
    how = rng.randrange(6)
    if number < len(CORPUS):
        weights = CORPUS[number]
    elif how == 0:
        weights = mangled_bytes(weights, rng)
    elif how == 1:
        weights = _with_header(weights, rng)
    elif how == 2:
        card = mangled_data(card, rng)
    else:
        card["model"] = mangled_data(card["model"], rng)
    if isinstance(card, dict) and rng.random() < 0.8:
        card["weights_sha256"] = sha256(weights).hexdigest()
    text = json.dumps(card).encode()
    if how == 2 and rng.random() < 0.2:
        text = mangled_bytes(text, rng)
    folders = {"net": net}
    changed = {"net/weights.safetensors": weights, "net/card.json": text}
    return Case(tuple(VERBS[number % len(VERBS)].split()), {**INPUTS, **changed}, folders)


def _with_header(weights: bytes, rng: Random) -> bytes:
    """Weights with a mutated header: names, types, shapes, places."""
    (size,) = struct.unpack("<Q", weights[:8])
    header = json.loads(weights[8 : 8 + size])
    if rng.random() < 0.5:
        name = rng.choice(sorted(name for name in header if name != "__metadata__"))
        header[name]["dtype"] = rng.choice(("F8_E4M3", "F8_E5M2", "BF16", "F64", "I64", "BOOL", "U8", "C64", "X"))
        header[name]["shape"] = rng.choice(([], [0], [10**9, 10**9], header[name]["shape"][::-1], [-1]))
    else:
        header = mangled_data(header, rng)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + weights[8 + size :]
