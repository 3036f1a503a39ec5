"""Mutated records of every kind, in the verbs that read them."""

import json
from random import Random

from tests.attack.cases import Case
from tests.attack.fixtures import INPUTS, Fixtures
from tests.attack.values import mangled_bytes, mangled_data

NAME = "records (JSON)"
PROMISE = "a damaged record is one line and exit 2"
CORPUS = (
    b"", b"null", b"[]", b"{}", b"1", b'"x"', b"\xff\xfe\x00", b"[" * 100_000, b'{"a":' * 100_000, b'{"kind": "run"}',
    b'{"kind": ["run"]}', b'{"kind": "\\u001b[31m"}', b'{"kind": "run", "kind": "sweep"}', b"1" * 5000, b"-Infinity",
)  # fmt: skip
VERBS = (
    "show r.json", "show r.json --json", "report r.json --output page", "compare r.json whole.json",
    "compare whole.json r.json --fail-if-worse 0.1", "show r.json --markdown out.md",
)  # fmt: skip


def case(number: int, rng: Random, fixtures: Fixtures) -> Case:
    """A record of the corpus, or a mutation of one that a verb wrote."""
    name, data = rng.choice(sorted(fixtures.records.items()))
    whole = json.dumps(data).encode()
    if number < len(CORPUS):
        content = CORPUS[number]
    elif rng.random() < 0.2:
        content = mangled_bytes(whole, rng)
    else:
        content = json.dumps(mangled_data(data, rng)).encode()
    words = rng.choice(VERBS).split()
    return Case(tuple(words), {**INPUTS, "r.json": content, "whole.json": whole}, about=name)
