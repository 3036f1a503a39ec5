"""Provenance: the versions, machine and code that rows were computed with, and what has changed since."""

import ast
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import wmel
from wmel import catalog
from wmel.contract.cell import Cell, Diagnostic
from wmel.experiments.own_code import UNCHECKED, code_of_part
from wmel.machine import thread_limit, versions_in_use
from wmel.parts import Registry
from wmel.schema import Run

ROOT = Path(wmel.__file__).parent
LOOP = ("arrays", "schema", "randomness", "contract", "closed_loop", "models", "policies")
SECONDS_FOR_GIT = 5
SAFE_GIT = {
    "GIT_OPTIONAL_LOCKS": "0",  # the index is not written, which would call a hook
    "GIT_ALLOW_PROTOCOL": "",  # nothing that a partial clone lacks is fetched
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
}
FILTER_OFF = {"clean": "", "process": "", "required": "false"}
COMPARED = {  # fields that are compared when a study is resumed, and their names in messages
    "versions": "versions",
    "code": "code",
    "weights": "weights",
    "weights_file": "weights",
    "card": "card",
    "device": "device",
}


def cell_provenance(cell: Cell | Diagnostic, run: Run | None, weights: str | None = None) -> dict[str, Any]:
    """The provenance of a run of a cell, or of a reading, which has no run."""
    return {
        "versions": versions_in_use() if run is None else dict(run.versions),
        "code": code_of(cell),
        "weights": weights if run is None else run.policy_settings.get("weights"),
        "machine": {"cpu": _cpu()[0], "flags": _cpu()[1], "system": platform.platform(), "threads": thread_limit()},
        "git": _git(),
    }


def code_of(cell: Cell | Diagnostic) -> dict[str, str]:
    """Hashes of the code that computes a cell: packages of wmel, and what parts from other packages consist of."""
    named, model = _parts_of(cell)
    packages = ["loop", "environments", "planners", "objectives", "perturbations"]
    packages += ["training"] if model is not None and "trainer" in model else []
    packages += ["diagnostics"] if isinstance(cell, Diagnostic) else []
    code = {package: _package_hash(package) for package in packages}
    for registry, name in named:
        code |= code_of_part(registry, name)
    return code


def unchecked_code(cells: Iterable[Cell | Diagnostic]) -> list[str]:
    """Lines about parts whose code may change without notice."""
    parts = {(registry.kind, name): registry for cell in cells for registry, name in _parts_of(cell)[0]}
    reasons = {
        (kind, name): code_of_part(registry, name).get(kind + UNCHECKED) for (kind, name), registry in parts.items()
    }
    return [
        f"a change of the code of {kind} '{name}' may not be noticed: {reason}"
        for (kind, name), reason in reasons.items()
        if reason is not None
    ]


def _parts_of(cell: Cell | Diagnostic) -> tuple[list[tuple[Registry, str]], Mapping[str, Any] | None]:
    """The parts that a cell names, and its model. Live objects are identified by what they hold."""
    if isinstance(cell, Diagnostic):
        named = [
            (catalog.ENVIRONMENTS, cell.environment),
            (catalog.OBJECTIVES, cell.objective),
            (catalog.DIAGNOSTICS, cell.diagnostic),
        ]
        model = cell.model
    else:
        task, arm = cell.task, cell.arm
        perturbations = (task.perturbation or {}).get("parts", [task.perturbation])
        named = [
            (catalog.ENVIRONMENTS, task.environment),
            *((catalog.PERTURBATIONS, one) for one in perturbations),
            (catalog.PLANNERS, arm.planner),
            (catalog.OBJECTIVES, arm.objective),
            (catalog.POLICIES, arm.policy),
        ]
        model = arm.model
    if model is not None and "trainer" in model:
        named.append((catalog.TRAINERS, model["trainer"]))
    if model is not None and "object" in model:
        named.append((catalog.MODELS, {"name": model["object"]}))
    return [(registry, part["name"]) for registry, part in named if part is not None and not part.get("given")], model


def differences(stored: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs between two provenances, in words; a package that only one of them has is not compared."""
    found = []
    for field, name in COMPARED.items():
        one, other = stored.get(field), now.get(field)
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
    """The hash of the definitions in a package of wmel; `loop` are the packages that run the others.

    Comments, docstrings and the place of a definition do not change it.
    """
    definitions = sorted(
        sha256(ast.unparse(one).encode()).hexdigest()
        for place in (LOOP if package == "loop" else (package,))
        for path in (sorted((ROOT / place).rglob("*.py")) or [ROOT / f"{place}.py"])
        for one in _definitions(ast.parse(path.read_bytes()))
    )
    return sha256("".join(definitions).encode()).hexdigest()


def _definitions(module: ast.Module) -> list[ast.stmt]:
    """The definitions of a module, without imports and docstrings."""
    for node in ast.walk(module):
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            first.value = ast.Constant("")
    imports = (ast.Import, ast.ImportFrom, ast.Expr)
    return [one for one in module.body if not isinstance(one, imports)]


@cache
def _cpu() -> tuple[str, list[str]]:
    """The name of the CPU and its vector instructions."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor(), []
    fields = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in reversed(lines))}
    flags = sorted(flag for flag in fields.get("flags", "").split() if flag.startswith(("avx", "fma")))
    return fields.get("model name", platform.processor()), flags


@cache
def _git() -> dict[str, Any] | None:
    """The commit of the current folder and whether files differ from it; None outside of a repository."""

    try:
        commit = _run_git("rev-parse", "--verify", "HEAD")
        filters = _filters_of_git()
        return {
            "commit": commit,
            "dirty": bool(_run_git("status", "--porcelain", "--ignore-submodules=all", **filters)),
        }
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def _run_git(*words: str, **settings: str) -> str:
    """What git prints, without any program that the configuration of the folder names; it writes nothing."""
    variables = {**os.environ, **SAFE_GIT, **settings}
    command = ["git", "--no-pager", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", *words]
    return subprocess.check_output(
        command, text=True, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=SECONDS_FOR_GIT, env=variables
    ).strip()


def _filters_of_git() -> dict[str, str]:
    """Environment variables that turn off each filter, a program that `git status` would run on changed files."""
    stored = _run_git("config", "--includes", "--null", "--name-only", "--list").split("\0")
    names = sorted({name.rpartition(".")[0] for name in stored if name.startswith("filter.")})
    first = int(os.environ.get("GIT_CONFIG_COUNT") or 0)
    keys = {f"{name}.{key}": value for name in names for key, value in FILTER_OFF.items()}
    numbered = {
        f"GIT_CONFIG_{what}_{place}": text
        for place, pair in enumerate(keys.items(), first)
        for what, text in zip(("KEY", "VALUE"), pair, strict=True)
    }
    return {**numbered, "GIT_CONFIG_COUNT": str(first + len(keys))}
