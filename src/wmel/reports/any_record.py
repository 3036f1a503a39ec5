"""Every kind of record there is, and the file that holds it in the folder of a result."""

import json
from typing import Annotated

from pydantic import Field, TypeAdapter

from wmel.reports.envelopes import (
    CheckRecord,
    ComparisonRecord,
    EsnrRecord,
    OverTrainingRecord,
    PowerRecord,
    StudyRecord,
    ToyRecord,
)
from wmel.reports.json_envelope import CPGRecord, RunRecord, SweepRecord

Episodes = RunRecord | SweepRecord | CPGRecord | StudyRecord | ComparisonRecord
AnyRecord = Episodes | EsnrRecord | OverTrainingRecord | ToyRecord | PowerRecord | CheckRecord
RECORD: TypeAdapter[AnyRecord] = TypeAdapter(Annotated[AnyRecord, Field(discriminator="kind")])
FILES = {  # kind -> file; of a folder with several the first is loaded
    "run": "run.json",
    "sweep": "sweep.json",
    "esnr": "esnr.json",
    "cpg": "cpg.json",
    "over-training": "over-training.json",
    "toy": "toy.json",
    "study": "results.json",
    "comparison": "compare.json",
    "power": "power.json",
    "check": "check.json",
}


def schema_text() -> str:
    """The schema as a file holds it."""
    return json.dumps(RECORD.json_schema(by_alias=True), indent=1) + "\n"
