"""Imports point down, only the command line prints, and only a few places write files."""

import ast
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "wmel"
FILES = sorted(SOURCE.rglob("*.py"))
MOST_LINES = 350
LAYERS = [
    {
        "arrays",
        "randomness",
        "kinds",
        "parts",
        "settings",
        "values",
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


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imports_of(path: Path) -> set[str]:
    """Every module a file imports, at the top or inside a function."""
    found = set()
    for node in ast.walk(tree_of(path)):
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
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                found.add(node.func.id)
            elif isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") != "os":
                found.add(node.func.attr)
    return found


def test_imports_point_down():
    """Upwards, between packages that do not know each other, or to one that runs episodes from one that does not."""
    offenders = []
    for path in FILES:
        here = package_of(path)
        modules = [] if here == "__init__" else [one.split(".")[1] for one in imports_of(path) if one[:5] == "wmel."]
        for there in (one for one in modules if one != here):
            are_apart = here in APART and there in APART
            if HEIGHT[there] > HEIGHT[here] or are_apart or (here in CANNOT_RUN and there in RUNNING):
                offenders.append(f"{name_of(path)} imports {there}")
    assert offenders == []


def test_every_package_has_a_layer():
    assert {package_of(path) for path in FILES} - {"__init__"} <= set(HEIGHT)


def test_guests_are_imported_only_by_the_files_that_need_them():
    offenders = [
        f"{name_of(path)} imports {guest}"
        for path in FILES
        for guest in {module.split(".")[0] for module in imports_of(path)} & GUESTS
        if not name_of(path).startswith(HOSTS.get(guest, ()))
    ]
    assert offenders == []


def test_only_the_command_line_prints():
    quiet = [path for path in FILES if package_of(path) != "cli" and name_of(path) not in PRINTERS]
    assert [name_of(path) for path in quiet if "print" in calls_of(path)] == []
    attributes = {name_of(path): {getattr(node, "attr", "") for node in ast.walk(tree_of(path))} for path in quiet}
    assert [name for name, found in attributes.items() if found & {"stdout", "stderr"}] == []


def test_only_a_few_places_write_files():
    others = [path for path in FILES if not name_of(path).startswith(WRITERS)]
    assert [name_of(path) for path in others if calls_of(path) & (WRITING | {"open"})] == []


def test_files_are_short_and_their_first_line_says_what_is_in_them():
    assert [name_of(path) for path in FILES if len(path.read_text().splitlines()) > MOST_LINES] == []
    assert [name_of(path) for path in FILES if not ast.get_docstring(tree_of(path))] == []


def test_no_file_is_a_drawer_for_anything():
    drawers = {"utils", "common", "base", "core", "helpers", "misc", "manager"}
    assert [name_of(path) for path in FILES if path.stem in drawers] == []


FOREIGN = [  # places that run foreign code
    "api/verbs.py",
    "closed_loop/steps.py",
    "errors.py",
    "experiments/check.py",
    "experiments/check.py",
    "experiments/check.py",
    "experiments/check.py",
    "experiments/check.py",
    "experiments/executors.py",
    "experiments/identity.py",
    "experiments/identity.py",
    "experiments/jobs.py",
    "kinds.py",
    "models/callable_model.py",
    "parts.py",
    "parts.py",
    "parts.py",
    "settings.py",
    "testing/findings.py",
    "testing/kits.py",
]


def test_only_the_loop_the_import_of_foreign_code_the_executors_and_the_kits_catch_everything():
    broad = []
    for path in FILES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ExceptHandler):
                kinds = [node.type] if not isinstance(node.type, ast.Tuple) else node.type.elts
                if any(kind is None or getattr(kind, "id", "") in ("Exception", "BaseException") for kind in kinds):
                    broad.append(name_of(path))
    assert broad == ["analysis/scorecard.py", "analysis/scorecard.py", *FOREIGN]


def test_no_two_classes_have_one_name():
    homes: dict[str, list[str]] = {}
    for path in FILES:
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(name_of(path))
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


ENTRY_POINTS = {  # modules that nothing in src imports
    "glossary.pages": "make glossary",
}


def named_modules(path: Path) -> set[str]:
    """The modules that a file imports, or names in text as `planners.cem:CEM`."""
    found = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom):
            found |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value.partition(":")[0])
    return {name.removeprefix("wmel.") for name in found}


def test_every_module_is_used_by_another():
    paths = [path for path in FILES if path.stem not in ("__init__", "__main__")]
    modules = {name_of(path).removesuffix(".py").replace("/", "."): path for path in paths}
    used = {path: named_modules(path) for path in FILES}
    unused = []
    for module, path in modules.items():
        names = {module, module.rpartition(".")[2]} if package_of(path) == "reports" else {module}  # `figures:outcomes`
        if not any(names & found for other, found in used.items() if other != path):
            unused.append(module)
    assert sorted(unused) == sorted(ENTRY_POINTS)


def test_success_is_judged_in_one_place_and_parts_are_never_stored_as_repr():
    """What the redesign took out stays out."""
    judges = [name_of(path) for path in FILES if "def is_met(" in path.read_text()]
    assert judges == ["contract/criterion.py"]
    for path in (path for path in FILES if package_of(path) in ("experiments", "contract", "schema")):
        calls = [node for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call)]
        names = {getattr(call.func, "id", "") for call in calls}
        texts = ("experiments/spec.py", "contract/criterion.py")  # of a message, and of a number
        assert "repr" not in names or name_of(path) in texts, f"{name_of(path)} calls repr"
