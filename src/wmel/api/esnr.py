"""wmel.esnr: how much signal policy gradients through a model carry, before any policy exists."""

import warnings
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from wmel.api import options as o
from wmel.api.diagnose import diagnostic_settings, read_models, reading_study, refuse_several_seeds, without_oracle
from wmel.api.episodes import check_outputs, folder_of, page_outputs, write_outputs
from wmel.api.progress import note
from wmel.api.study_entries import EntryBuilder
from wmel.api.verbs import verb
from wmel.diagnostics.esnr.measure import slope_steps
from wmel.errors import BadInput
from wmel.experiments.load import LoadedStudy
from wmel.experiments.store import Store
from wmel.reports.analysis_record_types import EsnrRecord
from wmel.reports.document import draw_figure
from wmel.reports.esnr_record import joined_esnr_record
from wmel.reports.esnr_report import esnr_answer, esnr_document
from wmel.reports.records import FILES
from wmel.results import Result

MANY_STEPS = 6_000_000  # of a simulator: worth a warning before they are taken
ON_CUDA = 1 << 18  # rows imagined at a time there


@verb
def esnr(
    environment: o.Environment = None,
    models: o.Models = None,
    *old: Any,
    output: o.Output = None,
    **options: Annotated[Any, o.ReadingOptions, o.SettingsOf("diagnostic", "esnr")],
) -> Any:
    """Measure the signal-to-noise ratio of policy gradients through models, and their direction.

    other keywords are settings of the diagnostic `esnr`: methods, states, samples, plan_horizon, sigma and the rest.
    """
    if _is_of_before(environment, old, options):
        return _as_before(environment, models, *old, objective=options["objective"], **diagnostic_settings(options))
    if environment is None:
        raise BadInput("wmel esnr needs an environment: give --env")
    if "model" in options:
        raise BadInput("wmel.esnr has no parameter 'model'; did you mean 'models'?")
    builder = EntryBuilder.of_options(options)
    refuse_several_seeds(options["seeds"])
    folder = None if output is None else Path(output)
    names = {"json": FILES["esnr"], "md": "esnr.md", "html": "esnr.html"}
    files = {} if folder is None else {kind: folder / name for kind, name in names.items()}
    check_outputs(*files.values())
    entries = builder.models(without_oracle(models))
    listed = models if isinstance(models, dict | list | tuple) else [] if models is None else [models]
    with_oracle = len(entries) < len(listed)
    if not entries and not with_oracle:
        raise BadInput("wmel esnr needs at least one model")
    if not entries and builder.settings["model"].get("rollout"):
        raise BadInput("rollout is a setting of checkpoints; the oracle has none")
    wanted = builder.beside("diagnostic", "esnr", diagnostic_settings(options))
    if with_oracle and wanted.get("oracle") is False:
        raise BadInput("--model=oracle and --no-oracle contradict each other")
    if builder.settings["model"].get("device") not in (None, "cpu"):
        wanted.setdefault("rows", ON_CUDA)
    diagnostic = {"name": "esnr", **collector_of(entries, wanted), **wanted}
    study = reading_study(builder, environment, entries, diagnostic, options, {"name": "esnr"})
    _warn_slow(study, builder, quiet=options["quiet"])
    result = read_models(builder, study, folder, options, stored_esnr)
    if files:
        written = write_outputs(result, page_outputs(result, *files.values()))
        result.files = {what: path for what, path in written.items() if what == "report"}
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
        esnr_answer(record),
        rows,
        record,
        verb="esnr",
        folder=folder_of(store),
        store=store,
        draw=partial(draw_figure, "esnr_figures:ratios", record),
        document=lambda: esnr_document(record),
        more={"readings": record.readings},
    )


def _is_of_before(environment: Any, old: tuple[Any, ...], options: Mapping[str, Any]) -> bool:
    """Whether `esnr` is called as until 0.2, with a model and observations."""
    is_environment = isinstance(environment, str | dict) or hasattr(environment, "reset")
    return bool(old) or "observations" in options or not (environment is None or is_environment)


def _as_before(model: Any, observations: Any, /, *rest: Any, **settings: Any) -> Any:
    """The function that was called `esnr` until 0.2."""
    from wmel.diagnostics.esnr.measure import esnr as esnr_of

    warnings.warn("wmel.esnr(model, observations) is now wmel.esnr_of", DeprecationWarning, stacklevel=5)
    positional = [one for one in (model, observations) if one is not None]
    return esnr_of(*positional, *rest, **settings)


def collector_of(entries: list[dict[str, Any]], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The policy the first card says collected its data; nothing where there is none, or another is given."""
    folders = [Path(entry["checkpoint"]) for entry in entries if "checkpoint" in entry]
    if "source" in wanted or not folders:
        return {}
    from wmel.training.checkpoints import read_card

    collected = read_card(folders[0]).get("collect")
    if not isinstance(collected, dict) or not isinstance(collected.get("policy"), str | list | dict):
        return {}
    if collected["policy"] in ("all", "stored"):
        return {}
    share, steps = collected.get("epsilon"), collected.get("episode_steps")
    found: dict[str, Any] = {"source": collected["policy"]}
    if isinstance(share, int | float) and "epsilon" not in wanted:
        found["epsilon"] = float(share)
    if isinstance(steps, int) and steps > 0 and "episode_steps" not in wanted:
        found["episode_steps"] = steps
    return found


def _warn_slow(study: Any, builder: EntryBuilder, *, quiet: bool) -> None:
    """Say before they are taken how many steps of the simulator the oracle's slopes need."""
    from wmel.experiments.build import ModelPaths, build_diagnostic, build_environment

    cell = study.diagnostics[0]
    paths = ModelPaths(Path(), Path(), objects=builder.objects)
    diagnostic, world = build_diagnostic(cell, paths), build_environment(cell.environment, paths)
    slopes = slope_steps(
        world, diagnostic.methods_in(world), diagnostic.states, diagnostic.samples, diagnostic.plan_horizon
    )
    if diagnostic.oracle and slopes >= MANY_STEPS and not quiet:
        cost = f"the oracle's slopes take {slopes / 1e6:.0f} million steps of the simulator"
        note(f"{cost}; oracle=False (--no-oracle) leaves them out")
