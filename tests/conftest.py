"""What several test files need: worlds, percepts and the command line as a user calls it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

import wmel
from wmel import catalog
from wmel.cli.main import main
from wmel.contract.policy import Percept

ROOT = Path(__file__).parents[1]
IS_FULL = bool(os.environ.get("WMEL_FULL"))  # set by `make test-full`: more examples, more kills
settings.register_profile("wmel", deadline=None)  # no test is timed: the machine may be busy
settings.register_profile("full", deadline=None, max_examples=1000)
settings.load_profile("full" if IS_FULL else "wmel")


def examples(count: int) -> settings:
    """As many examples of a property, and ten times as many in `make test-full`."""
    return settings(max_examples=10 * count if IS_FULL else count)


@pytest.fixture(scope="session")
def maze():
    return catalog.environment("maze_toy")


@pytest.fixture(scope="session")
def two_rooms():
    return catalog.environment("two_room_toy")


@pytest.fixture(scope="session")
def percept_of():
    """States of an environment as a policy that reads them would see them."""

    def percept(environment, states, steps_left=60) -> Percept:
        count, width = len(states), environment.spec.actions.width
        return Percept(
            environment.observe(states),
            environment.goals(states),
            states,
            np.zeros((count, width)),
            np.full(count, steps_left),
        )

    return percept


def says(text: str, pieces: str) -> bool:
    """Whether a message has all pieces, which ` ... ` separates, in their order: what is wrong, and its value."""
    place = 0
    for piece in pieces.split(" ... "):
        place = text.find(piece, place)
        if place < 0:
            return False
        place += len(piece)
    return True


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture(scope="session")
def wmel_command():
    """`wmel ...` in this process; in one of its own with the variables of another installation, `env`."""
    return lambda *arguments, **options: (_in_a_process if "env" in options else _in_here)(*arguments, **options)


@pytest.fixture(scope="session")
def wmel_process():
    """`wmel ...` in a process of its own: for signals, start-up and disks."""
    return _in_a_process


def process_environment(**variables: str) -> dict[str, str]:
    """The environment variables of a process that imports this wmel and these tests."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(Path(wmel.__file__).parents[1]))), **variables}


def _in_a_process(
    *arguments: str, cwd: Path | None = None, env: dict[str, str] | None = None, **variables: str
) -> Done:
    command = [sys.executable, "-m", "wmel", *arguments]
    environment = process_environment(**variables) if env is None else env
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=cwd, env=environment)
    return Done(done.returncode, done.stdout, done.stderr)


def _in_here(*arguments: str, cwd: Path | None = None) -> Done:
    """What is imported from the folder is forgotten: the next test may write other code by the same name."""
    folder = Path.cwd() if cwd is None else Path(cwd)
    before, typed, out, err = list(sys.path), sys.argv, StringIO(), StringIO()
    try:
        with chdir(folder), redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
            sys.argv = ["wmel", *arguments]
            main()
    finally:
        sys.path[:], sys.argv = before, typed
        if cwd is not None:
            for name, module in list(sys.modules.items()):
                if str(getattr(module, "__file__", None)).startswith(str(folder.resolve())):
                    del sys.modules[name]
    code = ended.value.code
    return Done(code if isinstance(code, int) else 0 if code is None else 1, out.getvalue(), err.getvalue())


@pytest.fixture(scope="session")
def maze_training(tmp_path_factory):
    """The result of training a small MLP of the maze; its folder is not written to."""
    return wmel.train("mlp", "maze_toy", output=tmp_path_factory.mktemp("maze") / "net", epochs=2, quiet=True)


@pytest.fixture(scope="session")
def swingup_mlp(tmp_path_factory):
    """The checkpoint of a small MLP of cartpole swing-up; it is not written to."""
    how = {"transitions": 60, "episode_steps": 20, "epochs": 1, "quiet": True}
    return wmel.train("mlp", "dmc:cartpole-swingup", output=tmp_path_factory.mktemp("swingup") / "mlp", **how).folder


@pytest.fixture(scope="session")
def swingup_tdmpc2(tmp_path_factory):
    """The checkpoint of an untrained TD-MPC2 of cartpole swing-up; it is not written to."""
    from tests.models.tdmpc2.untrained import untrained_checkpoint

    return untrained_checkpoint(tmp_path_factory.mktemp("swingup") / "td", catalog.environment("dmc:cartpole-swingup"))


@pytest.fixture(scope="session")
def quick_toy():
    """Within it, the ceiling bounce is measured from few launches per angle, in place of thousands."""

    @contextmanager
    def quick() -> Iterator[None]:
        from wmel.diagnostics.ceiling_bounce.panel import Estimator

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Estimator, "samples", 64)
            yield

    return quick


@pytest.fixture(scope="session")
def browser():
    """A real browser, where there is one: `make browser` installs it."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        sync_playwright = None
    if found is None or sync_playwright is None:
        pytest.skip("no browser to open the page in: make browser, as root on Debian, and pip install playwright")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def opened(browser, tmp_path):
    """A page in the browser, with all that it complained of and asked for."""

    def open_page(text: str, **options):
        file, noticed = tmp_path / "study.html", {"complaints": [], "requests": []}
        file.write_text(text, encoding="utf-8")
        tab = browser.new_page(**options)
        tab.on("console", lambda message: noticed["complaints"].append(message.text))
        tab.on("pageerror", lambda error: noticed["complaints"].append(str(error)))
        tab.on("dialog", lambda dialog: (noticed["complaints"].append("an alert"), dialog.dismiss()))
        tab.on("request", lambda request: noticed["requests"].append(request.url))
        tab.goto(file.as_uri())
        return tab, noticed, file.as_uri()

    return open_page
