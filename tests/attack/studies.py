"""Mutations of the studies that come with wmel, as text and as data."""

import tomllib
from functools import cache
from random import Random
from typing import Any

from tests.attack.cases import Case, safe_text
from tests.attack.fixtures import INPUTS, STUDY, Fixtures
from tests.attack.values import mangled_bytes, mangled_data
from tests.conftest import ROOT

NAME = "studies (TOML)"
PROMISE = "a wrong study is one line that names its place, and exit 2, before anything runs"
CORPUS = (
    b"",
    b"\x00",
    b"\xff\xfe",
    b"[" * 10_000,
    b"a = " + b"[" * 10_000,
    b"a = " + b"{a = " * 5_000,
    b"name = 1",
    b"environments = 1",
    b"environments = [1]",
    b'environments = ["builtins:dict"]\npolicies = ["random"]',
    b'environments = ["maze_toy"]\npolicies = ["builtins:dict"]',
    b'environments = ["maze_toy"]\nplanners = ["os:getcwd"]',
    b'environments = ["maze_toy"]\npolicies = ["random"]\nepisodes = 100000000000000000000',
    b'environments = ["maze_toy"]\npolicies = ["random"]\nepisodes = 1e400',
    b'environments = ["maze_toy"]\npolicies = ["random"]\nseeds = [-1]',
    b'environments = ["maze_toy"]\npolicies = ["random"]\nseeds = [100000000000000000000]',
    b'environments = ["maze_toy"]\npolicies = ["random"]\nhorizon = 100000000000000000000',
    b'environments = ["maze_toy"]\npolicies = ["random"]\nblock = 100000000000000000000',
    b'environments = ["maze_toy"]\npolicies = ["random"]\nmetrics = ["builtins:dict"]',
    b'environments = ["maze_toy"]\npolicies = ["random"]\nname = "\\u001b[31m"',
    b'environments = ["maze_toy"]\npolicies = ["random"]\nname = "../../x"',
    b'environments = ["maze_toy"]\npolicies = ["random"]\nexecutor = "builtins:dict"',
    b'environments = ["maze_toy"]\nplanners = ["cem"]\n[[models]]\nname = "m"\ncheckpoint = "a\\u0000b"',
    b'environments = ["maze_toy"]\nplanners = ["cem"]\n[[models]]\nname = "m"\ncheckpoint = "loop"',
    b'environments = ["maze_toy"]\nplanners = ["cem"]\n[[models]]\nname = "m"\nobject = "builtins:dict"',
    b'environments = ["maze_toy"]\nplanners = ["cem"]\n[[models]]\nname = "m"\nobject = "math:pi"',
    b'environments = ["maze_toy"]\nplanners = ["cem"]\n[[models]]\nname = "m"\ntrainer = "builtins:dict"',
)


@cache
def originals() -> tuple[bytes, ...]:
    """The studies of the repository and the small one."""
    return (*(path.read_bytes() for path in sorted((ROOT / "studies").rglob("*.toml"))), STUDY.encode())


def case(number: int, rng: Random, fixtures: Fixtures) -> Case:
    """A study of the corpus, or a mutation; only a small one is also run."""
    if number < len(CORPUS):
        content = CORPUS[number]
    else:
        original = rng.choice(originals())
        if rng.random() < 0.35:
            content = mangled_bytes(original, rng)
        else:
            content = as_toml(mangled_data(tomllib.loads(original.decode()), rng)).encode("utf-8", "surrogateescape")
    content = safe_text(content.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    content = content.replace(b'"processes"', b'"serial"')
    how = rng.choice((("--dry-run",), ("--dry-run",), ("--limit", "1", "--quiet", "--output", "out")))
    return Case(("study", "s.toml", *how), {**INPUTS, "s.toml": content})


def as_toml(data: Any) -> str:
    """Data as TOML; what TOML does not have is written as a text."""
    lines = [f"{_key(key)} = {_value(value)}" for key, value in data.items()] if isinstance(data, dict) else [str(data)]
    return "\n".join(lines) + "\n"


def _key(key: str) -> str:
    return key if key.isidentifier() and key.isascii() else _text(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)} = {_value(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return str(value) if isinstance(value, int | float) else _text(str(value))


def _text(text: str) -> str:
    escaped = "".join(one if one.isprintable() and one not in '"\\' else f"\\U{ord(one):08X}" for one in text)
    return f'"{escaped}"'
