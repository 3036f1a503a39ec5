"""Imports point down, only the command line prints, and only a few places write files."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "wmel"
FILES = sorted(SOURCE.rglob("*.py"))
LAYERS = [
    {
        "arrays",
        "randomness",
        "renamed",
        "kinds",
        "parts",
        "settings",
        "values",
        "perturbation_text",
        "errors",
        "stats",
        "machine",
        "control_suite",
        "files",
    },
    {"contract", "schema", "catalog"},
    {"environments", "models", "objectives", "planners", "perturbations"},
    {"policies", "closed_loop", "diagnostics", "analysis"},
    {"training", "testing"},
    {"experiments"},
    {"reports"},
    {"results", "glossary"},
    {"api"},
    {"cli", "__main__"},
]
HEIGHT = {package: height for height, layer in enumerate(LAYERS) for package in layer}
APART = LAYERS[2]  # these never import each other
RUNNING = {"environments", "models", "planners", "perturbations", "policies", "closed_loop", "training", "experiments"}
CANNOT_RUN = {"analysis", "reports"}
GUESTS = {"torch", "mujoco", "dm_control", "polars", "scipy", "pandas", "plotly", "numba", "llvmlite"}
HOSTS = {  # guest -> packages and files that may import it
    "scipy": ("stats/",),
    "mujoco": ("environments/",),
    "dm_control": ("environments/dmc/suite.py",),
    "polars": ("experiments/tables.py", "results.py"),
    "pandas": ("results.py",),
    "numba": ("models/compiled/",),
    "llvmlite": ("models/compiled/",),
    "plotly": ("reports/",),
    "torch": ("models/", "diagnostics/", "training/"),
}
PRINTERS = ("api/progress.py", "reports/terminal.py")  # progress on standard error; the width of the terminal
WRITERS = (
    "files.py",
    "reports/",
    "experiments/folder_store.py",
    "experiments/identity.py",  # pickles into a hash
    "api/episodes.py",  # removes what an unfinished run left behind
    "results.py",
    "training/checkpoints.py",
    "training/stored_episodes.py",
    "closed_loop/trajectories.py",
)
WRITING = {"write_text", "write_bytes", "mkdir", "touch", "unlink", "rename", "symlink_to", "tofile", "dump"}
WRITING |= {"save", "savez", "savez_compressed", "save_file", "NamedTemporaryFile", "mkstemp", "mkdtemp"}


def name_of(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def package_of(path: Path) -> str:
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def imports_of(path: Path) -> set[str]:
    """Every module a file imports, at the top or inside a function."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)} imports relatively"
            module = node.module or ""
            found |= {f"wmel.{alias.name}" for alias in node.names} if module == "wmel" else {module}
    return found


def calls_of(path: Path) -> set[str]:
    """The names of every function or method a file calls."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                found.add(node.func.id)
            elif isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") != "os":
                found.add(node.func.attr)
    return found


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_point_down(path):
    here = package_of(path)
    if here == "__init__":
        return
    for module in imports_of(path):
        if not module.startswith("wmel."):
            continue
        there = module.split(".")[1]
        if there == here:
            continue
        assert HEIGHT[there] <= HEIGHT[here], f"{here} must not import {there}"
        assert not (here in APART and there in APART), f"{here} and {there} must not know each other"
        assert not (here in CANNOT_RUN and there in RUNNING), f"{here} runs nothing, and {there} does"


def test_every_package_has_a_layer():
    assert {package_of(path) for path in FILES} - {"__init__"} <= set(HEIGHT)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_guests_are_imported_only_by_the_files_that_need_them(path):
    for module in imports_of(path):
        guest = module.split(".")[0]
        allowed = guest not in GUESTS or name_of(path).startswith(HOSTS.get(guest, ()))
        assert allowed, f"{name_of(path)} imports {guest}"


@pytest.mark.parametrize(
    "path", [path for path in FILES if package_of(path) != "cli" and name_of(path) not in PRINTERS], ids=name_of
)
def test_only_the_command_line_prints(path):
    assert "print" not in calls_of(path)
    names = {node.attr for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute)}
    assert not names & {"stdout", "stderr"}


@pytest.mark.parametrize("path", [path for path in FILES if not name_of(path).startswith(WRITERS)], ids=name_of)
def test_only_a_few_places_write_files(path):
    assert not calls_of(path) & (WRITING | {"open"})


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_files_are_short_and_say_what_lives_in_them(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 350
    assert ast.get_docstring(ast.parse(text)), "the first line says what lives here"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_no_file_is_a_drawer_for_anything(path):
    assert path.stem not in {"utils", "common", "base", "core", "helpers", "misc", "manager"}


FOREIGN = [  # places that run foreign code
    "closed_loop/steps.py",
    "experiments/check.py",
    "experiments/check.py",
    "experiments/check.py",
    "experiments/check.py",
    "experiments/check.py",
    "experiments/executors.py",
    "experiments/executors.py",
    "experiments/identity.py",
    "experiments/identity.py",
    "experiments/jobs.py",
    "models/callable_model.py",
    "parts.py",
    "parts.py",
    "settings.py",
    "testing/findings.py",
    "testing/kits.py",
]


def test_only_the_loop_the_import_of_foreign_code_the_executors_and_the_kits_catch_everything():
    broad = []
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ExceptHandler):
                kinds = [node.type] if not isinstance(node.type, ast.Tuple) else node.type.elts
                if any(kind is None or getattr(kind, "id", "") in ("Exception", "BaseException") for kind in kinds):
                    broad.append(name_of(path))
    assert broad == ["analysis/scorecard.py", "analysis/scorecard.py", *FOREIGN]


def test_no_two_classes_have_one_name():
    homes: dict[str, list[str]] = {}
    for path in FILES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(name_of(path))
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


def test_success_is_judged_in_one_place_and_parts_are_never_stored_as_repr():
    """What the redesign took out stays out."""
    judges = [name_of(path) for path in FILES if "def is_met(" in path.read_text()]
    assert judges == ["contract/criterion.py"]
    for path in (path for path in FILES if package_of(path) in ("experiments", "contract", "schema")):
        calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        names = {getattr(call.func, "id", "") for call in calls}
        texts = ("experiments/spec.py", "contract/criterion.py")  # of a message, and of a number
        assert "repr" not in names or name_of(path) in texts, f"{name_of(path)} calls repr"
