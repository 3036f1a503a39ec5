"""Pages of the documentation as data: blocks that run, files they need, what they print, and links."""

import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass, field, replace
from importlib import import_module
from io import StringIO
from operator import attrgetter
from pathlib import Path
from typing import Any

from wmel.catalog import CATALOGUE

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
ENTRY_POINTS = [registry.group for registry in CATALOGUE.values()]
FENCE = re.compile(r"^```(\w*)[ ]*([\w.-]*)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
MEASURED = ("latency", "_ms")  # a line with one of these holds times: its fractions may be others
FRACTION = re.compile(r"\d+\.\d+")
PIP = ("-m", "pip", "--disable-pip-version-check", "install", "--dry-run", "--no-deps", "--no-build-isolation")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the file it stands for, its text, and the output shown after it."""

    language: str
    file: str
    text: str
    shown: str = ""

    @property
    def commands(self) -> list[list[str]]:
        """The command lines of a bash block, as words."""
        lines = self.text.replace("\\\n", " ").splitlines() if self.language == "bash" else []
        return [words for words in (shlex.split(line, comments=True) for line in lines) if words]

    @property
    def runs(self) -> bool:
        """Whether all of it can be run as it stands, or is written to the file that it names."""
        if self.language == "bash":
            return bool(self.commands) and all(words[0] in ("wmel", "pip") for words in self.commands)
        return self.language == "python" or (self.language in ("text", "toml") and bool(self.file))


def blocks_of(page: Path) -> list[Block]:
    """The fenced blocks of a page; a block of text after one that runs is what that one prints."""
    found: list[Block] = []
    for language, file, text in FENCE.findall(page.read_text()):
        named = re.match(r"# ([\w.-]+\.(?:py|toml))\n", text)
        if language == "text" and not file and found and found[-1].language in ("bash", "python"):
            found[-1] = replace(found[-1], shown=text)
        else:
            found.append(Block(language, named[1] if named else file, text))
    return found


@dataclass
class PageRun:
    """One folder and one namespace, shared by all blocks of a page in their order."""

    folder: Path
    wmel: Callable[..., Any]  # runs a command: `.returncode`, `.stdout`, `.stderr`
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})

    def __post_init__(self):
        (self.folder / "models").mkdir()
        for shipped in ROOT.glob("models/*-td[15]*"):
            (self.folder / "models" / shipped.name).symlink_to(shipped)
        for name in ("studies", "results"):
            (self.folder / name).symlink_to(ROOT / name)

    def run(self, block: Block) -> None:
        """Write the block's file, run it, and compare what it prints with what the page shows."""
        assert block.runs, f"this block cannot be run:\n{block.text}"
        if block.file:
            (self.folder / block.file).write_text(block.text)
        if block.language == "python":
            printed = StringIO()
            with chdir(self.folder), redirect_stdout(printed):
                exec(compile(block.text, block.file or "a page", "exec"), self.names)
            output = printed.getvalue()
        else:
            output = "".join(self._command(words) for words in block.commands)
        missing = lines_missing(block.shown, output)
        assert not missing, f"{block.text}\nprints\n{output}\nwithout\n{missing}"

    def _command(self, words: list[str]) -> str:
        if words[0] == "pip":
            return install_dry(words)
        done = self.wmel(*words[1:], cwd=self.folder)
        assert done.returncode == 0, f"{shlex.join(words)}: {done.stderr}"
        return done.stdout


def install_dry(words: list[str]) -> str:
    """`pip install ...` from the repository, up to what it would install; the dependencies are left out."""
    assert words[:2] == ["pip", "install"], words
    done = subprocess.run([sys.executable, *PIP, *words[2:]], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "does not provide the extra" not in done.stderr, f"{shlex.join(words)}: {done}"
    return done.stdout


def lines_missing(shown: str, printed: str) -> str:
    """The first line shown that is not printed after the lines before it; `...` stands for any words or lines."""
    rest = iter(printed.splitlines())
    for line in shown.splitlines():
        if line.strip() not in ("", "...") and not any(_alike(line, other) for other in rest):
            return line
    return ""


def _alike(shown: str, printed: str) -> bool:
    line, other = (" ".join(text.split()) for text in (shown, printed))
    if any(mark in line for mark in MEASURED):
        line, other = FRACTION.sub("#", line), FRACTION.sub("#", other)
    pattern = ".*".join(re.escape(part) for part in line.split("..."))
    return re.fullmatch(pattern, other) is not None


def anchors_of(page: Path) -> set[str]:
    """What links to the headings of a page end with, as GitHub writes it."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def commands_in_prose(page: Path) -> Iterator[list[str]]:
    """`wmel` commands between backticks: often a fragment, which names a verb and some of its options."""
    for line in re.findall(r"`(wmel [^`\n]+)`", FENCE.sub("", page.read_text())):
        words = shlex.split(line, comments=True)
        if not any(re.fullmatch(r"[A-Z]+|\.\.\.", word) for word in words[1:3]):  # `wmel explain WORD` names no word
            yield words


def files_in(text: str) -> list[str]:
    """The Python files that a text names with their folder."""
    return re.findall(r"(?<![\w./-])(?:[\w.-]+/)+\w+\.py\b", text)


def modules_in(text: str) -> list[str]:
    """The dotted names of wmel in a text, such as wmel.planners.cem:CEM; groups of entry points are none."""
    found = re.findall(r"(?<![\w./-])wmel(?:\.[A-Za-z_]\w*)+(?::\w+)?", text)
    return [name for name in found if name not in ENTRY_POINTS]


def is_importable(name: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    words = name.replace(":", ".").split(".")
    for count in range(len(words), 0, -1):
        try:
            thing = import_module(".".join(words[:count]))
        except ModuleNotFoundError:
            continue
        try:
            attrgetter(".".join(words[count:]))(thing) if words[count:] else None
        except AttributeError:
            return False
        return True
    return False
