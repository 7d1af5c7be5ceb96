"""Every golden table gives through the workers' source what its catalogue expects.

The source is asked as Spark asks it, but without Spark in between: that Spark takes its batches as
they are is for the contract suite.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lakebed.formats.arrow_cast import cast_table
from lakebed.spark.errors.encoded_errors import EncodedError, find_encoded
from lakebed.spark.workers.batches import spark_schema
from lakebed.spark.workers.data_source import LakebedSource
from lakebed.spec.schema import parse_schema
from testkit.tables.golden_tables import golden_entries, judge, name_of, needs_golden

MOST_FILES = 1_000
MOST_ROWS = 10_000

ENTRIES = [
    entry
    for entry in golden_entries()
    if (entry.get("snapshot") or {}).get("active_files", 0) <= MOST_FILES
    and entry["expected"].get("rows", 0) <= MOST_ROWS
]
pytestmark = needs_golden


@pytest.mark.parametrize("entry", ENTRIES, ids=name_of)
def test_workers_read_or_refuse_the_newest_version(entry: dict[str, Any]) -> None:
    judge(entry, None, open_table)


def open_table(path: Path, version: int | None) -> Callable[[], pa.Table]:
    options = {"path": str(path)}
    if version is not None:
        options["versionAsOf"] = str(version)
    source = LakebedSource(options)
    schema = uncarried(source.schema)
    return lambda: uncarried(lambda: rows(source, schema))


def rows(source: LakebedSource, schema: Any) -> pa.Table:
    reader = source.reader(schema)
    shown = parse_schema(schema.json())
    batches = [batch for task in reader.partitions() for batch in reader.read(task)]
    # The catalogue has the parts of variants in the order of the files.
    return cast_table(pa.Table.from_batches(batches, schema=spark_schema(shown)), shown)


def uncarried(call: Callable[[], Any]) -> Any:
    """What the client makes of an error."""
    try:
        return call()
    except EncodedError as error:
        found = find_encoded(str(error))
        assert found is not None
        raise found from error
