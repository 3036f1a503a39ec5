"""How many files of wmel a reader must open to follow a command: those in which a call happens after import.

A lambda or a comprehension is a call like any other. For two fixed commands, each in a process of its own: a run in
the maze, and a gap of a small MLP in the maze.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from side_by_side import verdict

COMMANDS = {
    "wmel run": (["run", "--env", "maze_toy", "--policy", "cem", "--episodes", "2", "--quiet"], 45),
    "wmel cpg": (["cpg", "--env", "maze_toy", "--model", "{model}", "--episodes", "2", "--quiet"], 60),
}
TRAIN = ["train", "mlp", "--env", "maze_toy", "--epochs", "2", "--output", "{model}", "--quiet"]
WATCH = """
import json, sys, threading
from pathlib import Path
import wmel
root, files = str(Path(wmel.__file__).parent), set()
def walked(frame, event, argument):
    code = frame.f_code
    if event == "call" and code.co_name != "<module>" and code.co_filename.startswith(root):
        caller = frame.f_back
        while caller is not None and "importlib" not in caller.f_code.co_filename:
            caller = caller.f_back
        if caller is None:  # not while a module is imported
            files.add(code.co_filename)
sys.argv = ["wmel", *json.loads(sys.argv[1])]
from wmel.cli.main import main
threading.setprofile(walked)
sys.setprofile(walked)
try:
    main()
except SystemExit:
    pass
sys.setprofile(None)
print(json.dumps(sorted(str(Path(file).relative_to(root)) for file in files)))
"""


def walk(arguments: list[str], model: Path) -> list[str]:
    """The files that a command calls into."""
    filled = [word.format(model=model) for word in arguments]
    found = subprocess.run(
        [sys.executable, "-c", WATCH, json.dumps(filled)], capture_output=True, text=True, check=True
    )
    return json.loads(found.stdout.splitlines()[-1])


def main() -> int:
    holds = True
    with tempfile.TemporaryDirectory() as folder:
        walk(TRAIN, model := Path(folder) / "mlp")
        for name, files in walk_all(model).items():
            if "--list" in sys.argv:
                print("\n".join(files))
            holds &= verdict(f"files walked by `{name}`", len(files), at_most=COMMANDS[name][1])
    return 0 if holds else 1


def walk_all(model: Path) -> dict[str, list[str]]:
    """The files of each command."""
    return {name: walk(arguments, model) for name, (arguments, _) in COMMANDS.items()}


if __name__ == "__main__":
    sys.exit(main())
