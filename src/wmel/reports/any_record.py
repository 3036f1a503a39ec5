"""Every kind of record there is."""

from typing import Annotated

from pydantic import Field, TypeAdapter

from wmel.reports.compare_envelope import ComparisonRecord
from wmel.reports.esnr_envelope import EsnrRecord
from wmel.reports.json_envelope import CPGRecord, RunRecord, SweepRecord
from wmel.reports.study_envelope import StudyRecord

AnyRecord = RunRecord | SweepRecord | CPGRecord | StudyRecord | ComparisonRecord | EsnrRecord
RECORD: TypeAdapter[AnyRecord] = TypeAdapter(Annotated[AnyRecord, Field(discriminator="kind")])
