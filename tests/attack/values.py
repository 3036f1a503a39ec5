"""Values that users and other programs type by mistake, and how texts and data are mangled."""

import json
from copy import deepcopy
from random import Random
from typing import Any

TEXTS = (
    "", " ", "0", "-0", "1", "2", "3", "-1", "1.5", "nan", "inf", "-inf", "1e3", "1e-400", "1e400", "0x10", "1_000",
    "٣", "+2", " 2 ", "2,", ",2", "2,2", "1,2,3", "1;2", "100000000000000000000", "-100000000000000000000", "true",
    "None",
    "null", "[]", "{}", "[1,2]", "'", '"', "=", "a=b", "planner.", ".elites", "planner.elites", "planner.elites=",
    "planner.elites=2", "planner.elites=two", "model.x=1", "environment.init=task", "x" * 300, "é", "日本", "\u202e",
    "\x1b[31mred\x1b[0m", "\x00", "a\nb", "\t", "\udcff", "**bold**", "[a](b)", "<b>", "|", "`", "$HOME", "%s", "{0}",
    ".", "-", "--", "-x", "cpu", "cuda:99", "maze_toy", "two_room_toy", "cem", "mppi", "random", "greedy", "oracle",
    "random-shooting", "tabular-world-model", "drop-next-2", "drop-next-x", "composite:drop-next-2+env-default",
    "composite:", "env-default", "goal-distance", "success", "success@2", "success@", "success@x", "reward>=0.6",
    "distance<=0@at_end", "reward>=", "reward>=nan", ">=1", "reward>=0.6@sustained:0", "horizon", "changed", "paper",
    "latent", "json", "serial", "a:b", ":", "a:", ":b", "a:b:c", "os:getcwd", "builtins:dict", "builtins:int",
    "math:pi", "json:loads", "collections:OrderedDict", "tests.experiments.still:dynamics",
    "tests.experiments.truth:model", "numpy:array",
    "this_is.not:here", "store", "run.json", "net", "net/card.json", "nothing.json", "store/study.json",
    "out", "out.json", "out.npz", "out.md", "/dev/null", "/dev/full", "/dev/zero", "loop", "deep.json", "binary",
    "layout", "#S.G#", "####\n#SG#\n####",
)  # fmt: skip
NUMBERS = (0, 1, -1, 2, 3, 0.5, -0.0, 1e308, 10**20, -(10**20), 2**63, 2**31, float("nan"), float("inf"), True)
LEAVES: tuple[Any, ...] = (
    *NUMBERS, None, "", "x", "\x1b[31m", "a\nb", "\u202e", "é" * 200, [], {}, [None], [[]], {"name": 1}, {"sweep": [1]},
    "maze_toy", "cem", "random", "../x", "builtins:dict", [1, "a"], "nan", {"a": {"b": {"c": []}}},
)  # fmt: skip
MARKS = "\x00\x1b\n\r\t\"'\\=[]{}#,:.-_ é\u202e0179aZ"


def mangled_text(text: str, rng: Random) -> str:
    """A text with one to three characters changed, or a piece repeated or lost."""
    for _ in range(rng.randint(1, 3)):
        place = rng.randint(0, len(text))
        end = min(len(text), place + rng.randint(1, 12))
        how = rng.randrange(5)
        if how == 0:
            text = text[:place] + rng.choice(MARKS) + text[place:]
        elif how == 1:
            text = text[:place] + text[end:]
        elif how == 2:
            text = text[:place] + text[place:end] * rng.randint(2, 4) + text[end:]
        elif how == 3:
            text = text[:place] + rng.choice(MARKS) + text[place + 1 :]
        else:
            text = text[:place] + rng.choice(TEXTS) + text[end:]
    return text


def mangled_bytes(content: bytes, rng: Random) -> bytes:
    """A file that is cut, flipped, repeated, or filled with something else."""
    how, place = rng.randrange(6), rng.randint(0, max(0, len(content) - 1))
    if how == 0:
        return content[:place]
    if how == 1 and content:
        return content[:place] + bytes([content[place] ^ (1 << rng.randrange(8))]) + content[place + 1 :]
    if how == 2:
        return content + content[:place]
    if how == 3:
        return content[:place] + rng.randbytes(rng.randint(1, 64)) + content[place:]
    if how == 4:
        return rng.choice((b"", b"\x00" * 64, b"PK\x03\x04", b"null", b"[]", b"{}", b"\xff\xfe", b"[" * 100_000))
    return mangled_text(content.decode("utf-8", "replace"), rng).encode("utf-8", "surrogateescape")


def mangled_data(data: Any, rng: Random, changes: int | None = None) -> Any:
    """JSON data with some values replaced, removed, repeated or renamed, anywhere in it."""
    data = json.loads(json.dumps(data))
    for _ in range(changes or rng.randint(1, 3)):
        places = list(_places(data))
        if not places:
            return deepcopy(rng.choice(LEAVES))
        holder, key = rng.choice(places)
        how = rng.randrange(6)
        if how <= 2:
            holder[key] = deepcopy(rng.choice(LEAVES))
        elif how == 3:
            del holder[key]
        elif how == 4 and isinstance(holder, dict):
            holder[rng.choice((*holder, mangled_text(key, rng)))] = holder.pop(key)
        elif isinstance(holder, list):
            holder.insert(key, deepcopy(rng.choice((holder[key], rng.choice(LEAVES)))))
        else:
            holder[mangled_text(str(key), rng)] = deepcopy(rng.choice(LEAVES))
    return data


def _places(data: Any) -> Any:
    """Every place of a value in lists and mappings; of a long list some."""
    items = list(data.items()) if isinstance(data, dict) else list(enumerate(data)) if isinstance(data, list) else []
    for key, value in items[:30]:
        yield data, key
        yield from _places(value)
