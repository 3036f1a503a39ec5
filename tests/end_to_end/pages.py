"""Pages of the documentation as data: blocks that run, files they need, what they print, and links."""

import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
FENCE = re.compile(r"^```(\w*)[ ]*([\w.-]*)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
MEASURED = ("latency", "_ms")  # a line with one of these holds a time: only its first word is compared


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the file it stands for, its text, and the output shown after it."""

    language: str
    file: str
    text: str
    shown: str = ""

    @property
    def commands(self) -> list[list[str]]:
        """The `wmel` commands of the block, as words."""
        lines = self.text.replace("\\\n", " ").splitlines()
        return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("wmel ")]


def blocks_of(page: Path) -> list[Block]:
    """The fenced blocks of a page; a block of text after one that runs is what that one prints."""
    found: list[Block] = []
    for language, file, text in FENCE.findall(page.read_text()):
        named = re.match(r"# ([\w.-]+\.(?:py|toml))\n", text)
        if language == "text" and not file and found and found[-1].language in ("bash", "python"):
            found[-1] = Block(found[-1].language, found[-1].file, found[-1].text, text)
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
        if block.file:
            (self.folder / block.file).write_text(block.text)
        if block.language == "python":
            printed = StringIO()
            with chdir(self.folder), redirect_stdout(printed):
                exec(compile(block.text, block.file or "a page", "exec"), self.names)
            output = printed.getvalue()
        elif block.language == "bash" and block.commands:
            output = "".join(self._command(words) for words in block.commands)
        else:
            return
        missing = lines_missing(block.shown, output)
        assert not missing, f"{block.text}\nprints\n{output}\nwithout\n{missing}"

    def _command(self, words: list[str]) -> str:
        done = self.wmel(*words, cwd=self.folder)
        assert done.returncode == 0, f"wmel {shlex.join(words)}: {done.stderr}"
        return done.stdout


def lines_missing(shown: str, printed: str) -> str:
    """The first line shown that is not printed after the lines before it; `...` stands for any words or lines."""
    rest = iter(printed.splitlines())
    for line in shown.splitlines():
        if line.strip() not in ("", "...") and not any(_alike(line, other) for other in rest):
            return line
    return ""


def _alike(shown: str, printed: str) -> bool:
    words, others = shown.split(), printed.split()
    if words and any(mark in shown for mark in MEASURED):
        return words[:1] == others[:1]
    pattern = ".*".join(re.escape(part) for part in " ".join(words).split("..."))
    return re.fullmatch(pattern, " ".join(others)) is not None


def anchors_of(page: Path) -> set[str]:
    """What links to the headings of a page end with, as GitHub writes it."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def commands_not_run(page: Path) -> Iterator[list[str]]:
    """`wmel` commands in the prose of a page and in blocks without a language: too long for tests, or fragments."""
    text = page.read_text()
    fragments = re.findall(r"`(wmel [^`\n]+)`", FENCE.sub("", text))
    lines = [line for language, _, body in FENCE.findall(text) if not language for line in body.splitlines()]
    for line in [*fragments, *(line for line in lines if line.startswith("wmel "))]:
        words = shlex.split(line, comments=True)[1:]
        if not any(re.fullmatch(r"[A-Z]+|\.\.\.", word) for word in words[:2]):  # `wmel explain WORD` names no word
            yield words
