"""wmel.esnr: how much signal policy gradients through a model carry, before any policy exists."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from wmel.api import options as o
from wmel.api.episodes import check_outputs, folder_of, run_and_load, runner_options, store_for
from wmel.api.given import Given, seeds_of
from wmel.api.progress import note
from wmel.api.verbs import verb
from wmel.contract.cell import ORACLE
from wmel.diagnostics.esnr.readings import slope_steps
from wmel.errors import BadInput
from wmel.experiments.expand import Study
from wmel.experiments.load import LoadedStudy
from wmel.experiments.store import Store
from wmel.files import write_atomically
from wmel.reports.any_record import FILES
from wmel.reports.esnr_envelope import EsnrRecord
from wmel.reports.esnr_page import esnr_page, to_markdown_esnr
from wmel.reports.esnr_record import joined_esnr_record
from wmel.reports.records import write_record
from wmel.reports.terminal import esnr_lines
from wmel.results import Result

MANY_STEPS = 3_000_000  # of a simulator: worth a warning before they are taken
ON_CUDA = 1 << 18  # rows imagined at a time there
SHARED = frozenset(o.ReadingOptions.__annotations__)  # options that are no settings of the diagnostic


@verb
def esnr(
    environment: o.Environment,
    models: o.Models = None,
    *old: Any,
    output: o.Output = None,
    **options: Annotated[Any, o.ReadingOptions, o.SettingsOf("diagnostic", "esnr")],
) -> Any:
    """Read models by the signal-to-noise ratio of policy gradients through them, and by where those point.

    other keywords are settings of the diagnostic `esnr`: methods, states, samples, plan_horizon, sigma and the rest.
    """
    if old or not _is_environment(environment):
        return _as_before(environment, models, *old, objective=options["objective"], **diagnostic_settings(options))
    given = Given.of_options(options)
    folder = None if output is None else Path(output)
    names = {"json": FILES["esnr"], "md": "esnr.md", "html": "esnr.html"}
    files = {} if folder is None else {kind: folder / name for kind, name in names.items()}
    check_outputs(*files.values())
    listed = [] if models is None else models if isinstance(models, dict | list | tuple) else [models]
    read = (
        {k: v for k, v in listed.items() if v != ORACLE}
        if isinstance(listed, dict)
        else [m for m in listed if m != ORACLE]
    )
    with_oracle = len(read) < len(listed)
    entries = given.models(read or None)
    if not entries and not with_oracle:
        raise BadInput("wmel esnr needs at least one model")
    if not entries and given.settings["model"].get("rollout"):
        raise BadInput("rollout is for checkpoints; the oracle imagines in its own way")
    wanted = given.beside("diagnostic", "esnr", diagnostic_settings(options))
    if with_oracle and wanted.get("oracle") is False:
        raise BadInput("--model oracle and --no-oracle contradict each other")
    if given.settings["model"].get("device") not in (None, "cpu"):
        wanted.setdefault("rows", ON_CUDA)
    study = reading_study(given, environment, entries, wanted, options, {"name": "esnr"})
    _warn_slow(study, given, quiet=options["quiet"])
    result = read_models(given, study, folder, options, stored_esnr)
    if files:
        write_record(files["json"], result.record)
        write_atomically(files["md"], to_markdown_esnr(result.record))
        write_atomically(files["html"], esnr_page(result.record))
        result.files = {"report": files["html"]}
    return result


def diagnostic_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the options that are settings of the diagnostic."""
    return {name: one for name, one in options.items() if name not in SHARED and one is not None}


def reading_study(
    given: Given,
    environment: Any,
    entries: list[dict[str, Any]],
    wanted: Mapping[str, Any],
    options: Mapping[str, Any],
    verb: Mapping[str, Any],
) -> Study:
    """The study that reads the ESNR of models; `wanted` are settings of the diagnostic."""
    world = given.part("environment", environment)
    data = {
        "name": verb["name"],
        "seeds": seeds_of(options["seeds"]),
        "floor": False,
        "oracle": not entries,
        "environments": [world],
        "objectives": given.objectives(options["objective"], world),
        "models": entries,
        "diagnostics": [{"name": "esnr", **collector_of(entries, wanted), **wanted}],
    }
    return replace(given.study(data), verb=verb)


def read_models(
    given: Given, study: Study, folder: Path | None, options: Mapping[str, Any], make: Callable[..., Result]
) -> Result:
    """Read what is missing, and make the result of a verb from what is stored."""
    how = runner_options(given, options)
    with store_for(folder) as store:
        loaded, summary = run_and_load(study, store, how, title="esnr", quiet=options["quiet"])
        if summary.failures and all(found is None for _, found in loaded.readings):
            raise BadInput(summary.failures[0])
        result = make(loaded, store)
    result.failures = summary.failures
    result.exit_code = 1 if summary.failures else 0
    return result


def stored_esnr(loaded: LoadedStudy, store: Store) -> Result:
    """The result from the stored readings."""
    read = [found for _, found in loaded.readings if found is not None]
    if not read:
        raise BadInput("nothing was read")
    return recorded_result(joined_esnr_record([one["data"] for one in read], read[0]["provenance"]["versions"]), store)


def recorded_result(record: EsnrRecord, store: Store | None = None) -> Result:
    """The result from the record of its readings."""
    rows = [
        {"model": one.model, "method": one.method, "esnr": one.esnr.value, "low": one.esnr.low, "high": one.esnr.high,
         "per_rollout": one.esnr_per_rollout.value,
         "alignment": None if one.alignment is None else one.alignment.cosine.value}
        for one in record.readings
    ]  # fmt: skip
    return Result(
        _answer(record),
        rows,
        record,
        esnr_lines(record),
        verb="esnr",
        folder=folder_of(store),
        store=store,
        draw=lambda: _figure(record),
        page=lambda: esnr_page(record),
        markdown=lambda: to_markdown_esnr(record),
        more={"readings": record.readings},
    )


def _answer(record: Any) -> str:
    """Which gradients carry a signal, in a sentence; an interval that holds 0 shows none."""
    shown = [one for one in record.readings if one.esnr.low is not None and one.esnr.low > 0]
    if not shown:
        return "No estimator is shown to carry any signal through these models: every interval holds 0."
    best = max(shown, key=lambda one: one.esnr_per_rollout.value or 0)
    value = f"ESNR {best.esnr_per_rollout.value or 0:.3g} per imagined rollout"
    return f"{best.method} through {best.model} carries the most signal shown ({value})."


def _is_environment(given: Any) -> bool:
    return isinstance(given, str | dict) or hasattr(given, "reset")


def _as_before(model: Any, observations: Any, *rest: Any, **settings: Any) -> Any:
    """The function that was called `esnr` until 0.2."""
    from wmel.diagnostics.esnr.measure import esnr as esnr_of

    warnings.warn("wmel.esnr(model, observations) is now wmel.esnr_of", DeprecationWarning, stacklevel=4)
    return esnr_of(model, observations, *rest, **settings)


def collector_of(entries: list[dict[str, Any]], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The policy the first card says collected its data; nothing where there is none, or another is given."""
    folders = [Path(entry["checkpoint"]) for entry in entries if "checkpoint" in entry]
    if "source" in wanted or not folders:
        return {}
    from wmel.training.checkpoints import read_card

    said = read_card(folders[0]).get("collect")
    if not isinstance(said, dict) or not isinstance(said.get("policy"), str | list | dict):
        return {}
    if said["policy"] in ("all", "stored"):
        return {}
    share, steps = said.get("epsilon"), said.get("episode_steps")
    found: dict[str, Any] = {"source": said["policy"]}
    if isinstance(share, int | float) and "epsilon" not in wanted:
        found["epsilon"] = float(share)
    if isinstance(steps, int) and steps > 0 and "episode_steps" not in wanted:
        found["episode_steps"] = steps
    return found


def _warn_slow(study: Any, given: Given, *, quiet: bool) -> None:
    """Say before they are taken how many steps of the simulator the oracle's slopes need."""
    from wmel.experiments.build import ModelPaths, build_diagnostic, build_environment

    cell = study.diagnostics[0]
    diagnostic = build_diagnostic(cell)
    world = build_environment(cell.environment, ModelPaths(Path(), Path(), objects=given.objects))
    slopes = slope_steps(world, diagnostic.states, diagnostic.samples, diagnostic.plan_horizon)
    if diagnostic.oracle and slopes >= MANY_STEPS and not quiet:
        told = f"the oracle's slopes take {slopes / 1e6:.0f} million steps of the simulator"
        note(f"{told}; oracle=False (--no-oracle) leaves them out")


def _figure(record: Any) -> Any:
    from wmel.reports.document import plotly_needed

    with plotly_needed():
        from wmel.reports.esnr_figures import ratios
    return ratios(record)
