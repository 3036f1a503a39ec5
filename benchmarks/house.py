"""Counts what a reader of the code meets: files, lines, names twice, words of the list, tests, tests with a process.

`python benchmarks/house.py [FOLDER]` prints them for this checkout, or for another one with its own tests and package.
"""

import ast
import os
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from statistics import median

HERE = Path(__file__).parents[1]
WORDS = ("said", "drawn", "moment", "asked", "told")  # of a dialect; plain words replaced them
STARTERS = r"\bsubprocess\.|\bPopen\b|\benv="  # `wmel_command` with other variables (`env=`) is a process too
COLLECT = ("-m", "pytest", "--collect-only", "-p", "no:cacheprovider")


def count_source(folder: Path) -> dict[str, str]:
    """Files and lines of the package, class names in more than one file, and words of the list."""
    texts = [path.read_text(encoding="utf-8") for path in sorted((folder / "src" / "wmel").rglob("*.py"))]
    lines = [len(text.splitlines()) for text in texts]
    classes = Counter(name for text in texts for name in {*_names(text, ast.ClassDef)})
    twice = sorted(name for name, files in classes.items() if files > 1)
    words = Counter(re.findall(rf"\b({'|'.join(WORDS)})\b", "\n".join(texts).lower()))
    return {
        "files": f"{len(lines):,}",
        "lines": f"{sum(lines):,}",
        "median": f"{median(lines):g}",
        "class names in two files or more": f"{len(twice)} ({', '.join(twice)})" if twice else "0",
        "words of the list": ", ".join(f"{word} {words[word]}" for word in WORDS),
    }


def count_tests(folder: Path) -> dict[str, str]:
    """Tests that pytest collects, and those among them that start a process."""
    search = {**os.environ, "PYTHONPATH": str(folder / "src")}
    done = subprocess.run([sys.executable, *COLLECT], cwd=folder, env=search, capture_output=True, text=True)
    tests = re.findall(r"^(tests/[^:]+\.py)::(?:\w+::)?(\w+)", done.stdout, flags=re.MULTILINE)
    if not tests:
        raise SystemExit(f"pytest collected nothing in {folder}:\n{done.stdout[-1000:]}{done.stderr[-1000:]}")
    fixtures = {"wmel_process"}.union(
        *(_starting(path, frozenset()) for path in (folder / "tests").rglob("conftest.py"))
    )
    started = [name for path, name in tests if name in process_starters(folder / path, frozenset(fixtures))]
    return {"tests": f"{len(tests):,}", "tests that start a process": f"{len(started):,}"}


@cache
def _starting(path: Path, names: frozenset[str]) -> frozenset[str]:
    """Functions and fixtures at the top of a file that start a process themselves, or use one of these names."""
    calls = re.compile("|".join([STARTERS, *(rf"\b{name}\b" for name in sorted(names))]))
    bodies = _names(path.read_text(encoding="utf-8"), ast.FunctionDef)
    return frozenset(name for name, body in bodies.items() if calls.search(body))


@cache
def process_starters(path: Path, fixtures: frozenset[str]) -> frozenset[str]:
    """The same, also through other functions of the file."""
    found = _starting(path, fixtures)
    while (more := found | _starting(path, fixtures | found)) != found:
        found = more
    return found


def _names(text: str, kind: type[ast.ClassDef] | type[ast.FunctionDef]) -> dict[str, str]:
    """The classes or functions at the top of a file, and the text of each."""
    return {one.name: ast.get_source_segment(text, one) or "" for one in ast.parse(text).body if isinstance(one, kind)}


def main() -> int:
    folder = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else HERE
    for name, count in {**count_source(folder), **count_tests(folder)}.items():
        print(f"{name}: {count}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
