"""wmel.diagnose: what any diagnostic reads of models, without planning with them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from wmel.api import options as o
from wmel.api.episodes import RECORD_SUFFIX, check_outputs, run_and_load, runner_options, store_for
from wmel.api.live_parts import is_oracle
from wmel.api.study import stored_study
from wmel.api.study_entries import EntryBuilder, has_its_settings, seeds_of
from wmel.api.sweep_keys import Swept, put_sweeps, read_sweeps
from wmel.api.verbs import given_twice, verb
from wmel.errors import BadInput
from wmel.experiments.expand import Study
from wmel.experiments.resume import with_stored_points
from wmel.parts import name_and_settings
from wmel.reports.records import FILES, write_record
from wmel.results import Result

SHARED = frozenset(o.ReadingOptions.__annotations__)  # options that are no settings of the diagnostic


@verb
def diagnose(
    diagnostic: o.Diagnostic,
    environment: o.Environment,
    models: o.Models = None,
    *,
    sweep: o.Sweep = None,
    output: o.Output = None,
    **options: Annotated[Any, o.ReadingOptions, o.SettingsOf("diagnostic")],
) -> Result:
    """Apply a diagnostic to models at states of an environment; other keywords are settings of the diagnostic.

    Without a model it is applied to the oracle.
    """
    builder = EntryBuilder.of_options(options)
    folder = None if output is None else Path(output)
    if folder is not None and folder.suffix == RECORD_SUFFIX:
        raise BadInput(f"readings are stored in a folder with their report: give a folder as output, got {folder}")
    names = (FILES["study"], "report.md", "report.html")
    files = {} if folder is None else {name: folder / name for name in names}
    check_outputs(*files.values())
    entries = builder.models(without_oracle(models))
    diagnostic_entry = _diagnostic_entry(builder, diagnostic, diagnostic_settings(options))
    swept = read_sweeps(sweep)
    study = reading_study(builder, environment, entries, diagnostic_entry, options, {"name": "diagnose"}, swept)
    result = read_models(builder, study, folder, options, stored_study)
    if folder is not None:
        write_record(files[FILES["study"]], result.record)
        for path in ("report.md", "report.html"):
            result.report(files[path])
        result.files = {"report": files["report.html"]}
    return result


def _diagnostic_entry(builder: EntryBuilder, diagnostic: Any, beside: Mapping[str, Any]) -> dict[str, Any]:
    """The diagnostic as an entry of a study; `beside` are settings that are keywords of the verb."""
    if not isinstance(diagnostic, str | Mapping):
        if beside:
            raise BadInput(has_its_settings("diagnostic", next(iter(beside))))
        return builder.part("diagnostic", diagnostic)
    name, own = name_and_settings(diagnostic, "diagnostic")
    twice = next((key for key in beside if key in own), None)
    if twice is not None:
        raise BadInput(given_twice("diagnostic", name, twice, own[twice], beside[twice]))
    return {"name": name, **builder.beside("diagnostic", name, {**own, **beside})}


def without_oracle(models: Any) -> Any:
    """Models by name or in a list, the oracle left out; None where nothing else is there."""
    if isinstance(models, Mapping):
        return {name: one for name, one in models.items() if not is_oracle(one)} or None
    listed = [] if models is None else models if isinstance(models, list | tuple) else [models]
    return [one for one in listed if not is_oracle(one)] or None


def refuse_several_seeds(seeds: Any) -> None:
    """Refuse several seeds where models are compared at the same states."""
    if len(seeds_of(seeds)) > 1:
        raise BadInput(f"ESNR is compared at the states of one seed, got {seeds}: wmel diagnose esnr takes several")


def diagnostic_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the options that are settings of the diagnostic."""
    return {name: one for name, one in options.items() if name not in SHARED and one is not None}


def reading_study(
    builder: EntryBuilder,
    environment: Any,
    entries: list[dict[str, Any]],
    diagnostic: Mapping[str, Any],
    options: Mapping[str, Any],
    verb: Mapping[str, Any],
    sweeps: Sequence[Swept] = (),
) -> Study:
    """The study that reads models, or the oracle where there are none, by a diagnostic."""
    world = builder.part("environment", environment)
    data = {
        "name": verb["name"],
        "seeds": seeds_of(options["seeds"]),
        "floor": False,
        "oracle": not entries,
        "environments": [world],
        "objectives": builder.objectives(
            options["objective"], world, is_swept=any(one.kind == "objective" for one in sweeps)
        ),
        "models": entries,
        "diagnostics": [dict(diagnostic)],
    }
    put_sweeps(data, sweeps, builder)
    return replace(builder.study(data), verb=verb)


def read_models(
    builder: EntryBuilder, study: Study, folder: Path | None, options: Mapping[str, Any], make: Callable[..., Result]
) -> Result:
    """Read what is missing, and make the result of a verb from what is stored."""
    how = runner_options(builder, options)
    with store_for(folder) as store:
        loaded, summary = run_and_load(
            with_stored_points(study, store),
            store,
            how,
            title=study.diagnostics[0].diagnostic["name"],
            quiet=options["quiet"],
        )
        if summary.failures and all(found is None for _, found in loaded.readings):
            raise BadInput(summary.failures[0])
        result = make(loaded, store)
    result.failures = summary.failures
    result.exit_code = 1 if summary.failures else 0
    return result
