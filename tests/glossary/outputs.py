"""What wmel prints in situations that were chosen, for docs/when-to-trust.md."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

import wmel
from tests.analysis.tables import table
from tests.reports.study_records import study
from wmel import catalog
from wmel.analysis.pooling import Arms
from wmel.contract.criterion import Stop
from wmel.diagnostics.esnr.result import mean_over_states
from wmel.errors import BadInput
from wmel.models.oracle import Oracle
from wmel.reports.esnr_record import TrainingReadings
from wmel.reports.esnr_report import esnr_sentences
from wmel.reports.over_training_report import over_training_document
from wmel.reports.record_entries import estimate_entry
from wmel.reports.record_types import EstimateEntry
from wmel.reports.records import RECORD
from wmel.reports.study_record import cpg_record, study_of_gaps
from wmel.reports.study_report import study_document
from wmel.reports.terminal import render_terminal
from wmel.schema import Run

RESULTS = Path(__file__).parents[2] / "results"
PAIRS = (  # both succeed, only the oracle, only the model, neither, the model's episode broke
    (0, 0, 0, 60, 0),
    (20, 0, 30, 10, 0),
    (300, 0, 0, 0, 0),
    (150, 2, 2, 146, 0),
    (1, 3, 0, 6, 0),
    (8, 4, 0, 2, 2),
)
U_SHAPED, DEAD_AT_FIRST = (9.0, 8.0, 1.0, 0.9, 1.0, 8.0, 9.0), (0.0, 1.0, 2.0, 3.0, 4.0)


@cache
def printed() -> str:
    """What wmel prints in situations that were chosen, on one line."""
    return " ".join(" ".join([*gaps(), *studies(), *readings(), *refusals()]).split())


def gaps() -> Iterator[str]:
    """Reports of comparisons whose pairs turned out so; the last from one fixed start."""
    for counts in PAIRS:
        yield from render_terminal(study_document(study_of_gaps(cpg_record(arms(counts)))))
    yield from render_terminal(study_document(study_of_gaps(cpg_record(arms(PAIRS[0], init="fixed")))))


def arms(counts: tuple[int, ...], init: str = "task", weights: str | None = "c3a7") -> Arms:
    oracle, learned, broken = (np.repeat(kind, counts) for kind in ([1, 1, 0, 0, 1], [1, 0, 1, 0, 0], [0, 0, 0, 0, 1]))
    learned_arm = run(learned, broken, init)
    learned_arm = replace(learned_arm, policy_settings={**learned_arm.policy_settings, "weights": weights})
    return Arms(run(oracle, 0 * broken, init), {"mine": learned_arm}, run(0 * oracle, 0 * broken, init))


def run(success: np.ndarray, broken: np.ndarray, init: str) -> Run:
    rows = table(
        success=success.astype(bool),
        judged=[True] * len(success),
        steps=[5] * len(success),
        planning_latencies_ms=[(1.0, 2.0)] * len(success),
        first_success_step=np.where(success, 5, -1),
        error=["broke" if one else "" for one in broken],
    )
    return Run(
        "dmc_cartpole", "cem", "observation", {"planner": {"name": "cem"}}, (0,), 500, 0.0, None, None, init,
        "reward>=0.6", Stop.SUCCESS, 1, {}, rows,
    )  # fmt: skip


def studies() -> Iterator[str]:
    """Reports of studies, each gap in words: judged anew, of models that were retrained or act by themselves."""
    made = study(rescored="reward>=0.8")
    acting = [one.model_copy(update={"arm_labels": {"large-mlp": {"policy": "native"}}}) for one in made.comparisons]
    for record in (made, made.model_copy(update={"comparisons": acting})):
        document = study_document(record)
        sections = [replace(one, is_detail=False) for one in document.sections]
        yield from render_terminal(replace(document, sections=[*sections, *within(sections)]))


def within(sections) -> list:
    """Sections of sections, those that a terminal leaves out among them."""
    inner = [block for one in sections for block in one.blocks if hasattr(block, "blocks")]
    return [replace(one, is_detail=False) for one in inner]


def readings() -> Iterator[str]:
    """Reports of readings of ESNR, with numbers changed so that a warning is due."""
    record = RECORD.validate_json((RESULTS / "esnr-cartpole" / "esnr.json").read_text())
    models = [one for one in record.readings if one.model != "oracle"]
    esnr, aligned = models[0].esnr, models[0].alignment
    pointing_against = aligned.cosine.model_copy(update={"low": -0.9, "high": -0.1})
    for changed in (
        {},
        {"settings": {**models[0].settings, "samples": 8}},
        {"esnr_per_rollout": esnr.model_copy(update={"low": -1.0})},
        {"esnr_per_rollout": esnr.model_copy(update={"low": None, "high": None})},
        {"esnr": esnr.model_copy(update={"value": None, "reason": without_noise()})},
        {"alignment": aligned.model_copy(update={"cosine": pointing_against, "unresolved_share": 0.5})},
        {"infinite_share": 0.2},
        *({"esnr": one, "esnr_per_rollout": one} for one in (without_interval(4, 32), without_interval(16, 8))),
    ):
        rows = [one.model_copy(update=changed) for one in models]
        yield from esnr_sentences(record.model_copy(update={"readings": rows}))
    levels = [one.model_copy(update={"alignment": None}) for one in record.readings]
    yield from esnr_sentences(record.model_copy(update={"readings": levels}))
    for ratios in (U_SHAPED, DEAD_AT_FIRST):
        yield from render_terminal(over_training_document([training(record, ratios)]))


def without_interval(states: int, samples: int) -> EstimateEntry:
    """The ESNR of too few states or samples."""
    return estimate_entry(mean_over_states(np.arange(states), np.arange(states), samples))


def without_noise() -> str:
    """Why a linear return has no ESNR."""
    found = wmel.esnr_of(
        (lambda z, a: z, lambda z, a: a.sum(-1)), np.zeros((4, 1)), "fog", mean=np.zeros((2, 1)), actions="gaussian"
    )
    return found.esnr.reason


def training(record, ratios) -> TrainingReadings:
    """Checkpoints of these ESNR; of 0 every gradient is dead."""
    model = next(one for one in record.readings if one.model != "oracle")
    checkpoints = {}
    for updates, value in enumerate(ratios, 1):
        esnr = model.esnr.model_copy(update={"value": value, "low": 0.99 * value, "high": 1.01 * value})
        read = model.model_copy(update={"esnr": esnr, "dead_share": float(value == 0)})
        checkpoints[updates] = record.model_copy(update={"readings": [read]})
    return TrainingReadings("seed0", checkpoints, {})


def refusals() -> Iterator[str]:
    """What is said where there is no truth to step."""
    maze = catalog.environment("maze_toy")

    class Hardware:
        spec = replace(maze.spec, branchable=False)

    try:
        Oracle(Hardware())
    except BadInput as error:
        yield str(error)
