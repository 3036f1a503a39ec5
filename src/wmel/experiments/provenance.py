"""What rows were made with: versions, machine, code. It does not decide what they are, and says when it has changed."""

import ast
import inspect
import platform
import subprocess
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import wmel
from wmel import catalog
from wmel.contract.cell import Cell, Diagnostic
from wmel.errors import WmelError
from wmel.machine import thread_limit, versions_in_use
from wmel.parts import Registry
from wmel.schema import Run

ROOT = Path(wmel.__file__).parent
LOOP = ("arrays", "schema", "randomness", "contract", "closed_loop", "models", "policies")
SECONDS_FOR_GIT = 5
COMPARED = {  # of which a difference is named when a study goes on, and how
    "versions": "versions",
    "code": "code",
    "weights": "weights",
    "weights_file": "weights",
    "device": "device",
}


def provenance(cell: Cell | Diagnostic, run: Run | None, weights: str | None = None) -> dict[str, Any]:
    """Of a run of a cell, or of a reading, which has none."""
    return {
        "versions": versions_in_use() if run is None else dict(run.versions),
        "code": code_of(cell),
        "weights": weights if run is None else run.policy_settings.get("weights"),
        "machine": {"cpu": _cpu()[0], "flags": _cpu()[1], "system": platform.platform(), "threads": thread_limit()},
        "git": _git(),
    }


def code_of(cell: Cell | Diagnostic) -> dict[str, str]:
    """Hashes of the code that makes the result of a cell: packages of wmel, and the files of parts from elsewhere."""
    named, model = _parts_of(cell)
    packages = ["loop", "environments", "planners", "objectives", "perturbations"]
    packages += ["training"] if model is not None and "trainer" in model else []
    packages += ["diagnostics"] if isinstance(cell, Diagnostic) else []
    own = {package: _package_hash(package) for package in packages}
    foreign = {
        registry.kind: _source_hash(registry, name)
        for registry, name in named
        if name is not None and name not in registry.built_in
    }
    return own | {kind: digest for kind, digest in foreign.items() if digest is not None}


def _parts_of(cell: Cell | Diagnostic) -> tuple[list[tuple[Registry, str | None]], Mapping[str, Any] | None]:
    """The parts that a cell names, and its model."""
    if isinstance(cell, Diagnostic):
        named = [(catalog.ENVIRONMENTS, cell.environment), (catalog.OBJECTIVES, cell.objective)]
        model = cell.model
    else:
        task, arm = cell.task, cell.arm
        named = [
            (catalog.ENVIRONMENTS, task.environment),
            (catalog.PERTURBATIONS, task.perturbation),
            (catalog.PLANNERS, arm.planner),
            (catalog.OBJECTIVES, arm.objective),
            (catalog.POLICIES, arm.policy),
        ]
        model = arm.model
    names = [(registry, None if part is None else part["name"]) for registry, part in named]
    return [*names, (catalog.MODELS, None if model is None else model.get("object"))], model


def differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What has changed of what is compared, in words; a package that only one of them used does not count."""
    found = []
    for field, name in COMPARED.items():
        one, other = then.get(field), now.get(field)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            shared = [key for key in one if key in other and one[key] != other[key]]
            found += [f"{name} of {key} ({_short(one[key])}, now {_short(other[key])})" for key in shared]
        elif one is not None and other is not None and one != other:
            found.append(f"{name} ({_short(one)}, now {_short(other)})")
    return found


def _short(value: Any) -> str:
    return str(value)[:12]


@cache
def _package_hash(package: str) -> str:
    """Of the definitions in a package of wmel, wherever they stand in it; `loop` is all that runs the others.

    Moving a definition, or a comment, changes nothing; what decides rows does.
    """
    definitions = sorted(
        sha256(ast.unparse(one).encode()).hexdigest()
        for place in (LOOP if package == "loop" else (package,))
        for path in (sorted((ROOT / place).rglob("*.py")) or [ROOT / f"{place}.py"])
        for one in _definitions(ast.parse(path.read_bytes()))
    )
    return sha256("".join(definitions).encode()).hexdigest()


def _definitions(module: ast.Module) -> list[ast.stmt]:
    """What a module defines, without imports and docstrings."""
    for node in ast.walk(module):
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            first.value = ast.Constant("")
    imports = (ast.Import, ast.ImportFrom, ast.Expr)
    return [one for one in module.body if not isinstance(one, imports)]


def _source_hash(registry: Registry, name: str) -> str | None:
    """Of the file a part is written in; None where there is none to read."""
    try:
        found = registry.load(name)
        made = getattr(found, "func", found)  # a maker of several parts is told which
        file = inspect.getsourcefile(made if callable(made) else type(made))
    except (WmelError, TypeError, OSError):
        return None
    return None if file is None else sha256(Path(file).read_bytes()).hexdigest()


@cache
def _cpu() -> tuple[str, list[str]]:
    """Its name, and which vector instructions it has."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor(), []
    said = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in reversed(lines))}
    flags = sorted(flag for flag in said.get("flags", "").split() if flag.startswith(("avx", "fma")))
    return said.get("model name", platform.processor()), flags


@cache
def _git() -> dict[str, Any] | None:
    """Commit and whether anything differs from it, where the current folder is in a repository."""

    def said(*words: str) -> str:
        return subprocess.check_output(
            ["git", *words], text=True, stderr=subprocess.DEVNULL, timeout=SECONDS_FOR_GIT
        ).strip()

    try:
        return {"commit": said("rev-parse", "HEAD"), "dirty": bool(said("status", "--porcelain"))}
    except (OSError, subprocess.SubprocessError):
        return None
