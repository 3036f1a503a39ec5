"""Every kind of record there is, and the file that holds it in the folder of a result."""

from typing import Annotated

from pydantic import Field, TypeAdapter

from wmel.reports.compare_envelope import ComparisonRecord
from wmel.reports.esnr_envelope import EsnrRecord, OverTrainingRecord, ToyRecord
from wmel.reports.json_envelope import CPGRecord, RunRecord, SweepRecord
from wmel.reports.study_envelope import StudyRecord
from wmel.reports.tool_envelopes import CheckRecord, PowerRecord

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
