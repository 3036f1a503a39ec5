"""The JSON Schema of the envelope, as published in docs/record.schema.json."""

import json

from wmel.reports.any_record import RECORD


def schema_text() -> str:
    """The schema as a file holds it."""
    return json.dumps(RECORD.json_schema(by_alias=True), indent=1) + "\n"
