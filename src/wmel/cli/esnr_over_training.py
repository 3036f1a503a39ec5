"""`wmel esnr over-training`: ESNR at every checkpoint of a training, and whether it falls before it rises."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wmel.cli import esnr_options as asking
from wmel.cli import options

if TYPE_CHECKING:
    from wmel.reports.esnr_envelope import EsnrRecord
    from wmel.reports.over_training_curves import Training

EXAMPLES = """\b
Examples:
  wmel esnr over-training runs/seed0 --env dmc:cartpole-swingup --output runs/over-training
  wmel esnr over-training runs/seed0 runs/seed1 runs/seed2 --env dmc:cartpole-swingup --methods fog
    --beside returns.csv --output runs/over-training
"""


def over_training(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Folders with checkpoints/ in them, one per training seed.")
    ],
    env: Annotated[str, typer.Option("--env", help="Environment the models are of.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "--out", help="Folder of the readings and over-training.html; what is there is not read again."
        ),
    ],
    beside: Annotated[
        Path | None,
        typer.Option("--beside", help="CSV with run, updates and numbers (return, cpg) to draw and correlate."),
    ] = None,
    methods: asking.Methods = None,
    states: asking.States = 64,
    source: asking.Source = None,
    plan_horizon: asking.PlanHorizon = 15,
    samples: asking.Samples = 32,
    sigma: asking.Sigma = None,
    discount: asking.Discount = 1.0,
    actions: asking.Actions = None,
    credit: asking.Credit = None,
    baseline: asking.Baseline = None,
    population: asking.Population = 64,
    elites: asking.Elites = 8,
    temperature: asking.Temperature = None,
    paper: asking.Paper = False,
    oracle: asking.Oracle = True,
    objective: options.Objective = None,
    init: options.Init = None,
    action_repeat: options.ActionRepeat = None,
    seed: asking.Seed = 0,
    device: options.Device = None,
    rollout: options.Rollout = None,
    quiet: options.Quiet = False,
) -> None:
    """Read every checkpoint of one or more trainings, and say whether ESNR is U-shaped over them."""
    from wmel import catalog
    from wmel.cli import inputs
    from wmel.cli.esnr_sitting import estimator_settings, methods_of, seated
    from wmel.cli.kept_readings import Asked
    from wmel.cli.over_training_inputs import read_beside, runs_of
    from wmel.cli.progress import progress
    from wmel.cli.screen import say_where
    from wmel.reports.document import plotly_needed
    from wmel.reports.files import write_atomically
    from wmel.reports.over_training_curves import Training
    from wmel.reports.over_training_page import over_training_page, to_markdown_over_training
    from wmel.reports.records import write_record
    from wmel.training.restore import restored

    with plotly_needed():
        import wmel.reports.plotly_script  # noqa: F401

    found = runs_of(runs)
    numbers = read_beside(beside, found)
    page, markdown = output / "over-training.html", output / "over-training.md"
    inputs.check_outputs(page, markdown)
    world = catalog.environment(env, **inputs.given(init=init, action_repeat=action_repeat))
    settings = estimator_settings(
        plan_horizon=plan_horizon, samples=samples, sigma=sigma, discount=discount, actions=actions, credit=credit,
        baseline=baseline, population=population, elites=elites, temperature=temperature, paper=paper, seed=seed,
        device=device,
    )  # fmt: skip
    asked = [Asked(run, n, at, output, rollout, seed) for run, known in found.items() for n, at in known.items()]
    wanted, missing = methods_of(methods, world), [one for one in asked if not one.file.exists()]
    sitting = seated(
        world, wanted, settings, objective=objective, source=source, models=[str(asked[0].checkpoint)], states=states,
        seed=seed, init=init, paper=paper, oracle=oracle, quiet=quiet, times=len(missing),
    )  # fmt: skip
    inputs.tell_another_task(asked[0].checkpoint, world)
    records: dict[str, dict[int, EsnrRecord]] = {run: {} for run in found}
    with progress(", ".join(wanted), len(missing), quiet=quiet, unit="checkpoints") as advance:
        for one in asked:
            model = restored(one.checkpoint, world, device or "cpu", rollout)
            record = one.kept(sitting, model)
            if record is None:
                share = 1 / sitting.work(1)
                record = sitting.read(
                    {one.name: model}, lambda done, share=share: advance(done * share), noise_seed=one.noise_seed
                )
                write_record(one.file, record)
                if not quiet:
                    print(_words(one.name, record), file=sys.stderr, flush=True)
            records[one.run][one.updates] = record
    trainings = [Training(run, kept, numbers[run]) for run, kept in records.items()]
    write_atomically(page, over_training_page(trainings))
    write_atomically(markdown, to_markdown_over_training(trainings))
    if not quiet:
        _print(trainings)
        say_where(page=page, markdown=markdown, readings=output / "readings")


def _words(name: str, record: "EsnrRecord") -> str:
    """What a checkpoint came to, as soon as it is known."""
    from wmel.reports.words import short

    own = [one for one in record.readings if one.model == name]
    seconds = sum(one.seconds for one in record.readings)
    return f"{name}: {', '.join(f'{one.method} {short(one.esnr.value)}' for one in own)} ({seconds:.0f} s)"


def _print(trainings: Sequence["Training"]) -> None:
    """The tables, and what may be said."""
    from wmel.cli.screen import console, table
    from wmel.reports.over_training_words import correlation_table, setting_words, training_sentences, training_table

    print(setting_words(trainings))
    for shown in (training_table(trainings), correlation_table(trainings)):
        if not shown.rows:
            continue
        rows = table(*(column.title for column in shown.columns))
        for row in shown.rows:
            rows.add_row(*(cell.text.replace(" ", "\u00a0") for cell in row))
        console().print(rows)
        for note in shown.notes:
            print(note)
    for sentence in training_sentences(trainings):
        print(sentence)
