"""wmel.check and wmel.doctor: whether a part keeps its promises, and what is installed."""

import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from wmel import catalog
from wmel.analysis.scorecard import metric
from wmel.api import options as o
from wmel.api.train import CARD, card_of, restore_model
from wmel.api.verbs import verb
from wmel.contract.cell import part_label
from wmel.errors import with_article
from wmel.experiments.build import named_environment
from wmel.kinds import check_methods
from wmel.machine import requirements, wmel_version
from wmel.parts import name_and_settings
from wmel.reports.analysis_record_types import CheckRecord, FindingEntry
from wmel.reports.cells import listed_words
from wmel.reports.document import draw_figure
from wmel.reports.record_types import stamp
from wmel.reports.terminal import lines_of, table
from wmel.results import Result
from wmel.testing.findings import Finding


@verb
def check(
    name: o.PartName,
    *,
    environment: o.Environment = None,
) -> Result:
    """Run the conformance kit of a part; for every broken promise a sentence states how to correct it.

    A model or a perturbation is tried in ENVIRONMENT: by default maze_toy, and a checkpoint where it was trained.
    """
    from wmel.testing.kits import check_part

    if not isinstance(environment, str | Mapping | None):
        check_methods("environment", environment)
    folder = _checkpoint_folder(name)
    usual = "maze_toy" if folder is None else card_of(folder)["environment"]
    world = _environment(usual if environment is None else environment)
    kind, found = check_part(_part(name, folder, world), world)
    findings = [FindingEntry(**asdict(one)) for one in found]
    called = _part_name(name) if folder is None else folder.name
    return recorded_result(CheckRecord(**stamp(), kind="check", name=called, part=kind, findings=findings))


def _checkpoint_folder(name: Any) -> Path | None:
    """The checkpoint that is named, by its folder or its card."""
    if not isinstance(name, str | Path):
        return None
    folder = Path(name).parent if Path(name).name == CARD else Path(name)
    return folder if (folder / CARD).is_file() else None


def _environment(environment: Any) -> Any:
    if not isinstance(environment, str | Mapping):
        return environment
    own, settings = name_and_settings(environment, "environment")
    return named_environment({"name": own, **settings})


def _part(name: Any, folder: Path | None, world: Any) -> Any:
    """What is checked: a name of the catalogue, or an object."""
    if folder is not None:
        return restore_model(folder, world)
    if not isinstance(name, Mapping):
        return str(name) if isinstance(name, Path) else name
    own, settings = name_and_settings(name, "part")
    if catalog.ENVIRONMENTS.has(own):
        return _environment(name)
    if catalog.PLANNERS.has(own):
        return catalog.PLANNERS.build(own, **settings)
    return metric(name) if catalog.METRICS.has(own) else catalog.perturbation(name)


def _part_name(name: Any) -> str:
    if isinstance(name, Mapping):
        return part_label(name)
    return str(name) if isinstance(name, str | Path) else getattr(name, "__name__", None) or type(name).__name__


def recorded_result(record: CheckRecord) -> Result:
    """The result from what was found."""
    found = [Finding(**dict(one)) for one in record.findings]
    broken = sum(not finding.kept for finding in found)
    answer = check_answer(record.name, record.part, broken, len(found))
    rows = [{"promise": one.promise, "kept": one.kept, "problem": one.problem} for one in found]
    return Result(
        answer,
        rows,
        record,
        [answer, "", *map(_finding_line, sorted(found, key=lambda one: one.kept))],
        1 if broken else 0,
        "check",
        draw=partial(draw_figure, "figures:promises_figure", record),
        prints_rows=True,
    )


def check_answer(name: str, kind: str, broken: int, count: int) -> str:
    """Whether a part may be used, and what was checked, in a sentence."""
    if broken:
        return (
            f"{name} may not be used as {with_article(kind)}: it breaks {broken} of {count} promises of its contract."
        )
    return f"{name} may be used as {with_article(kind)}: it keeps all {count} promises of its contract."


def _finding_line(finding: Finding) -> str:
    mark, words = ("ok  ", finding.note) if finding.kept else ("FAIL", finding.problem)
    after = f" ({words})" if finding.kept and words else f": {words}" if words else ""
    return f"{mark} {finding.promise}{after}"


@verb
def doctor() -> Result:
    """Print versions, and for every extra what is installed or how to install it.

    `.entries` has the same as data.
    """
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    versions = {"wmel": wmel_version(), "python": platform.python_version(), "machine": machine}
    rows = requirements()
    packages = table("part", "package", "wanted", "installed")
    for row in rows:
        wrong = "" if row["fits"] or row["installed"] is None else " (wrong)"
        packages.add_row(row["part"], row["package"], row["wanted"], f"{row['installed'] or 'missing'}{wrong}")
    incomplete = list(dict.fromkeys(row["part"] for row in rows if not row["fits"]))
    state = f"{listed_words(incomplete)} not complete" if incomplete else "everything is installed"
    answer = f"wmel {versions['wmel']}, Python {versions['python']}, {machine}: {state}."
    incomplete = [one for one in incomplete if one != "core"]
    advice = [f"extra '{one}' is not complete: pip install 'wmel[{one}]'{_caveat(one)}" for one in incomplete]
    entries = {**versions, "packages": rows}
    return Result(
        answer,
        [dict(row) for row in rows],
        lines=[answer, lines_of(packages), *advice],
        verb="doctor",
        data=entries,
        more={"entries": entries},
    )


def _caveat(extra: str) -> str:
    if extra == "control" and sys.version_info >= (3, 13):
        return " (on Python 3.11 or 3.12: a dependency of dm-control has no 3.13 wheel)"
    return ""
