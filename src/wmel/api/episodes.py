"""What verbs share: their arguments checked, a study built in memory, run, and loaded again."""

import functools
import inspect
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from numbers import Real
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from wmel import catalog
from wmel.analysis.scorecard import metric, metric_data, metric_texts
from wmel.api.given import Given, perturbation_entry, refuse_no_part, seeds_of
from wmel.api.options import Option
from wmel.api.progress import note, progress_listener
from wmel.arrays import keep_freed_memory
from wmel.catalog import METRICS
from wmel.closed_loop.run import EPISODES
from wmel.contract.trainer import ProgressListener
from wmel.errors import BadInput, is_number, nearest
from wmel.experiments.expand import Study
from wmel.experiments.folder_store import FolderStore
from wmel.experiments.load import LoadedStudy, load_study
from wmel.experiments.run import RunOptions, Summary, run_study
from wmel.experiments.store import MemoryStore, Store
from wmel.files import check_writable
from wmel.parts import name_and_settings
from wmel.schema import EpisodeTable

IN_MEMORY, STORED = 512, 50  # episodes of a block; stored ones are what a kill costs at most
UNFINISHED = ".unfinished"  # the rows of a run whose record is one file, until it is written


ACCEPTED: dict[str, tuple[str, Any]] = {  # kinds of options whose values are checked before a verb begins
    "path": ("a path", (str, Path)),
    "number": ("a number", Real),
    "text": ("text", str),
}
Verb = TypeVar("Verb", bound=Callable[..., Any])


def verb(function: Verb) -> Verb:
    """A decorator of verbs: arguments that it does not take, or lacks, are bad input with the nearest right name."""
    signature = inspect.signature(function)
    known = list(signature.parameters)

    @functools.wraps(function)
    def call(*values: Any, **given: Any) -> Any:
        try:
            bound = signature.bind(*values, **given)
        except TypeError as error:
            unknown = next((name for name in given if name not in known), None)
            raise BadInput(_refusal(function.__name__, known, unknown, given) or f"{error}") from None
        for name, value in bound.arguments.items():
            _check_type(signature.parameters[name], value)
        return function(*values, **given)

    return call  # pyright: ignore[reportReturnType]


def _check_type(parameter: inspect.Parameter, value: Any) -> None:
    """Refuse the value of an option that is no path, number or text; of one that takes anything the verb judges."""
    kind = getattr(parameter.annotation, "__origin__", Any)
    option = getattr(parameter.annotation, "__metadata__", (None,))[0]
    if kind is Any or not isinstance(option, Option) or (value is None and parameter.default is None):
        return
    word, types = ACCEPTED.get(option.kind, ("", object))
    if not isinstance(value, types) or (isinstance(value, bool) and option.kind == "number"):
        raise BadInput(f"{parameter.name} takes {word}, got {value!r}")


def _refusal(verb: str, known: list[str], unknown: str | None, given: Mapping[str, Any]) -> str:
    if unknown is None:
        return ""
    hint = f'; a setting of a part goes into settings={{"planner.{unknown}": {given[unknown]!r}}}'
    words = f"wmel.{verb} has no parameter '{unknown}'{hint if 'settings' in known else ''}"
    return f"{words};{nearest(unknown, known)}"


def task_data(
    given: Given,
    environment: Any,
    *,
    episodes: int | None,
    seeds: Any,
    horizon: int | None,
    criterion: str | None,
    stop: str | None,
    perturbation: Any,
    perturb_prob: float | None,
    perturb_step: int | None,
) -> dict[str, Any]:
    """What is attempted, as entries of a study."""
    if perturb_prob is not None and (not is_number(perturb_prob) or not 0 <= perturb_prob <= 1):
        raise BadInput(f"the probability of a perturbation must lie in [0, 1], got {perturb_prob!r}")
    judged = {"criterion": criterion, "stop": stop}
    return {
        "episodes": EPISODES if episodes is None else episodes,
        "seeds": seeds_of(seeds),
        **({} if horizon is None else {"horizon": horizon}),
        "environments": [given.part("environment", environment)],
        "perturbations": [perturbation_entry(given, perturbation, perturb_prob, perturb_step)],
        "criteria": [{key: value for key, value in judged.items() if value is not None}],
    }


def metric_names(given: Given, metrics: Any, deadline_ms: float | None) -> list[str]:
    """The metrics to add, the deadline among them; settings given beside go to the one metric that has them."""
    if not isinstance(metrics, str | Sequence | Mapping | None):
        raise BadInput(f"metrics are a list of names, got {metrics!r}")
    listed: list[Any] = [metrics] if isinstance(metrics, str | Mapping) else list(metrics or ())
    beside = given.settings["metric"]
    if beside:
        fitting = [one for one in listed if beside.keys() <= METRICS.settings_of(metric_data(one)["name"]).keys()]
        if len(fitting) != 1:
            known = f"{len(fitting)} of the metrics named have it"
            raise BadInput(f"metric.{next(iter(beside))} is set, and {known}: name one that does")
        name, own = name_and_settings(metric_data(fitting[0]), "metric")
        listed[listed.index(fitting[0])] = {"name": name, **given.beside("metric", name, own)}
    wanted = [*metric_texts(listed), *([] if deadline_ms is None else [f"deadline@{deadline_ms:.12g}"])]
    for name in wanted:
        metric(name)
    return wanted


def build_executor(given: Given, executor: Any, workers: int | None = None) -> Any:
    """An executor by name, as {name, **settings} or as an object."""
    if not isinstance(executor, str | Mapping):
        refuse_no_part("executor", executor)
        named = [*given.settings["executor"], *([] if workers is None else ["workers"])]
        if named:
            raise BadInput(f"the executor is an object, which has its settings: leave out {named[0]}")
        return executor
    name = name_and_settings(executor, "executor")[0]
    if workers is not None and "workers" not in catalog.EXECUTORS.settings_of(name):
        if workers != 1:
            raise BadInput(f"one process has one worker: add --executor processes, or leave out --workers {workers}")
    elif workers is not None:
        if "workers" in given.settings["executor"]:
            raise BadInput(
                f"executor.workers is given twice: {given.settings['executor']['workers']!r} and {workers!r}"
            )
        given.settings["executor"]["workers"] = workers
    part = given.part("executor", executor)
    return catalog.EXECUTORS.build(part.pop("name"), **part)


@contextmanager
def store_for(output: Path | None) -> Iterator[Store]:
    """Where rows go: a folder, nowhere, or beside a record that is one file until that is written."""
    keep_freed_memory()
    if output is None:
        with TemporaryDirectory(prefix="wmel-models-") as models:
            yield MemoryStore(Path(models))
        return
    is_folder = output.suffix != ".json"
    store = FolderStore(output if is_folder else output.with_name(output.name + UNFINISHED))
    try:
        yield store
    except KeyboardInterrupt:
        if store.exists:
            note(f"what is done is kept in {store.folder}: the same command goes on from there")
        raise
    if not is_folder:
        shutil.rmtree(store.folder, ignore_errors=True)


def kept_store(store: Store) -> Store:
    """A store that outlives the verb: rows that are removed once their record is written are held in memory."""
    if not isinstance(store, FolderStore) or not store.folder.name.endswith(UNFINISHED):
        return store
    return MemoryStore.copy_of(store)


def folder_of(store: Store | None) -> Path | None:
    """Where rows are stored, where they are."""
    return store.folder if isinstance(store, FolderStore) else None


def listener_for(title: str, *, quiet: bool) -> AbstractContextManager[ProgressListener]:
    """Who is told of long work: a progress bar, or nobody."""
    return nullcontext(ProgressListener()) if quiet else progress_listener(title)


def run_and_load(
    study: Study, store: Store, options: RunOptions, *, title: str, quiet: bool, rewards: bool = False
) -> tuple[LoadedStudy, Summary]:
    """Run what is missing, then load everything."""
    with listener_for(title, quiet=quiet) as listener:
        summary = run_study(study, store, options, listener)
    return load_study(store, rewards=rewards), summary


def check_outputs(*paths: Path | str | None) -> None:
    """Refuse outputs that cannot be written, before anything is computed."""
    given = [Path(path) for path in paths if path is not None]
    if given:
        check_writable(*given)


def when_changed(rerun: str | None, keep: bool) -> str | None:
    """What to do with rows that were made with something else."""
    if rerun not in (None, "changed"):
        raise BadInput(f"--rerun takes 'changed', got {rerun!r}")
    if rerun and keep:
        raise BadInput("--rerun changed and --keep contradict each other: give one")
    return "rerun" if rerun else ("keep" if keep else None)


def common_failure(table: EpisodeTable) -> str | None:
    """Why every episode failed alike before its first step, where that is so."""
    reasons = set(table["error"])
    if len(reasons) == 1 and "" not in reasons and not table["steps"].any():
        return f"every episode failed at its first decision: {reasons.pop()}"
    return None


def whole_results(loaded: LoadedStudy, summary: Summary) -> None:
    """Refuse to go on without any rows: say why there are none."""
    if not any(one.run is not None for one in loaded.results):
        reasons = [*summary.failures, *(one.failure for one in loaded.results if one.failure)]
        raise BadInput(reasons[0] if reasons else "no episode was run")
