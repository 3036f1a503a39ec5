"""Damaged stores: files of one small study cut, changed, swapped, lost, or of another kind."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from random import Random

from tests.attack.cases import Case, Outcome
from tests.attack.fixtures import INPUTS, Fixtures
from tests.attack.values import mangled_bytes, mangled_data

NAME = "stores"
PROMISE = "a damaged store is named in a line or mended by running it again; no row is lost or changed"
VERBS = (
    "study study.toml --quiet --output store", "study study.toml --quiet --output store", "report store", "show store",
    "compare store whole", "study study.toml --dry-run --output store", "study study.toml --output store --keep --json",
)  # fmt: skip
MEASURED = ("planning_latencies_ms", "latency", "plan_ms", "seconds")
CORPUS = tuple(
    (place, content) for place in range(4) for content in (None, b"", b"{}", b"null", b"\x80\x04N.", b"\x00" * 9)
)


@cache
def store_files(store: Path) -> tuple[str, ...]:
    """The files of a store, by path."""
    found = sorted(path.relative_to(store).as_posix() for path in store.rglob("*") if path.is_file())
    return tuple(name for name in found if not name.startswith("."))


def case(number: int, rng: Random, fixtures: Fixtures) -> Case:
    """A store with one to three damages, and a verb that reads it or continues it."""
    store = fixtures.path("store")
    files = store_files(store)
    damaged: dict[str, bytes | None] = {}
    if number < len(CORPUS):
        place, content = CORPUS[number]
        damaged[files[place * (len(files) - 1) // 3]] = content
    else:
        for _ in range(rng.randint(1, 3)):
            damaged.update(_damage(store, files, rng))
    words = tuple(VERBS[number % len(VERBS)].split())
    changed = {f"store/{name}": content for name, content in damaged.items()}

    def check(folder: Path, outcome: Outcome) -> str | None:
        return _lost_rows(folder / "store", store) if words[0] == "study" and "--dry-run" not in words else None

    folders = {"store": store, "whole": store}
    return Case(
        words,
        {**INPUTS, **changed},
        folders,
        lambda folder, outcome: check(folder, outcome) if outcome.code == 0 else None,
    )


def _damage(store: Path, files: tuple[str, ...], rng: Random) -> Mapping[str, bytes | None]:
    name, other, how = rng.choice(files), rng.choice(files), rng.randrange(6)
    content = (store / name).read_bytes()
    if how == 0:
        return {name: None}
    if how == 1:
        return {name: (store / other).read_bytes()}
    if how == 2:
        return {name: (store / other).read_bytes(), other: content}
    if how == 3 or not name.endswith(".json"):
        return {name: mangled_bytes(content, rng)}
    return {name: json.dumps(mangled_data(json.loads(content), rng), indent=1).encode()}


def _lost_rows(found: Path, whole: Path) -> str | None:
    """What differs between the rows of two stores, apart from measured times."""
    one, other = rows_of(found), rows_of(whole)
    if one == other:
        return None
    return f"exit 0 with {len(one)} rows for {len(other)}" if len(one) != len(other) else "exit 0 with changed rows"


def rows_of(store: Path) -> list[str]:
    """The rows of a store in an order of their own, without measured times."""
    import wmel

    try:
        table = wmel.load(store).episodes
    except wmel.WmelError as error:
        return [f"cannot be loaded: {error}"]
    kept = [name for name in table.columns if not any(word in name for word in MEASURED)]
    return sorted(json.dumps(row, sort_keys=True, default=str) for row in table.select(kept).to_dicts())
