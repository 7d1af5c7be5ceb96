"""Arrow tables from whatever holds rows: tables, batches, readers, streams, data frames, dicts."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa

from lakebed.errors import InvalidArgumentError


def to_arrow_table(data: Any) -> pa.Table:
    """All rows of `data` in memory; InvalidArgumentError if it holds none that Arrow knows."""
    try:
        table = _converted(data)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InvalidArgumentError(f"the data cannot be turned into Arrow: {error}") from error
    if table is None:
        raise InvalidArgumentError(
            f"cannot write a {type(data).__name__}",
            hint="give a pyarrow Table, a data frame, anything with __arrow_c_stream__, a dict of "
            "columns or a list of dicts",
        )
    return table


def _converted(data: Any) -> pa.Table | None:
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if isinstance(data, pa.RecordBatchReader):
        return data.read_all()
    if hasattr(data, "iloc") and hasattr(data, "columns"):
        return _from_pandas(data)
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return pa.table(data)
    if isinstance(data, Mapping):
        return pa.table({name: _in_utc(values) for name, values in data.items()})
    if isinstance(data, Sequence) and data and all(isinstance(row, Mapping) for row in data):
        return _from_rows(data)
    return None


def _from_pandas(frame: Any) -> pa.Table:
    """An index with a name is a column; one without is only where the rows happened to stand."""
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    return pa.Table.from_pandas(frame, preserve_index=False)


def _from_rows(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """pyarrow takes the columns from the first row alone; here a later row may bring more."""
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: _in_utc([row.get(name) for row in rows]) for name in names})


def _zones_are_ignored() -> bool:
    """pandas on Spark sets this for the process: pyarrow then drops the zone of each `datetime`
    and keeps its clock, which in UTC is the right one."""
    return "PYARROW_IGNORE_TIMEZONE" in os.environ


def _in_utc(value: Any) -> Any:
    """The same timestamps, also inside of lists and dicts."""
    if not _zones_are_ignored():
        return value
    if isinstance(value, datetime):
        return value if value.tzinfo is None else value.astimezone(timezone.utc)
    if isinstance(value, Mapping):
        return {key: _in_utc(each) for key, each in value.items()}
    return [_in_utc(each) for each in value] if isinstance(value, list | tuple) else value
