"""Partition values and statistics of files as columns, from texts and structs."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lakebed.errors import PartitionValueError
from lakebed.formats.file_actions import DELETION_VECTOR
from lakebed.formats.statistics import file_statistics
from lakebed.formats.statistics.file_statistics import FileColumns
from lakebed.formats.statistics.stats_from_json import parse_stats
from lakebed.spec.schema import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    StructField,
    StructType,
    parse_schema,
)
from lakebed.spec.stats import leaves, stats_schema
from testkit.schemas import struct
from testkit.tables.golden_tables import GOLDEN, needs_golden

MAP = pa.map_(pa.string(), pa.string())


def files(stats=None, *, partitions=None, parsed=None, deleted=None) -> pa.Table:
    """A table of files; `deleted` has the cardinality of each file's deletion vector, or None."""
    count = len(next(each for each in (stats, partitions, parsed, deleted) if each is not None))
    texts = [None if s is None or isinstance(s, str) else json.dumps(s) for s in stats or []]
    texts = [s if isinstance(s, str) else t for s, t in zip(stats or [], texts, strict=True)]
    columns = {
        "path": pa.array([f"{i}.parquet" for i in range(count)]),
        "partitionValues": pa.array(partitions or [[]] * count, MAP),
        "stats": pa.array(texts or [None] * count, pa.string()),
    }
    if parsed is not None:
        columns["stats_parsed"] = parsed
    if deleted is not None:
        vectors = [None if n is None else {"storageType": "u", "cardinality": n} for n in deleted]
        columns["deletionVector"] = pa.array(vectors, DELETION_VECTOR)
    return pa.table(columns)


SCHEMA = struct(
    p=DATE, Id=LONG, name=STRING, at=TIMESTAMP, s=struct(x=INTEGER, ok=BOOLEAN), l=ArrayType(LONG)
)


def test_partition_values_are_typed_and_found_in_any_case():
    table = files(partitions=[[("p", "2020-01-31")], [("p", None)], [("p", "")], []])
    columns = FileColumns(table, SCHEMA, ["p"])
    assert columns.num_files == 4
    assert columns.partition("P").to_pylist() == [date(2020, 1, 31), None, None, None]
    assert columns.partition("p") is columns.partition("P")


def test_partition_value_of_another_type_is_an_error():
    columns = FileColumns(files(partitions=[[("p", "soon")]]), SCHEMA, ["p"])
    with pytest.raises(PartitionValueError, match="soon"):
        columns.partition("p")


def test_bounds_and_counts_come_from_the_texts():
    table = files(
        [
            {
                "numRecords": 3,
                "minValues": {"Id": 1, "name": "a", "s": {"x": 5, "ok": False}},
                "maxValues": {"Id": 9, "name": "b", "s": {"x": 6, "ok": True}},
                "nullCount": {"Id": 0, "s": {"x": 1}, "l": 2},
            },
            None,
            "not json",
        ]
    )
    columns = FileColumns(table, SCHEMA, ["p"])
    assert columns.minimum(("id",)).to_pylist() == [1, None, None]
    assert columns.maximum(("ID",)).to_pylist() == [9, None, None]
    assert columns.minimum(("S", "X")).to_pylist() == [5, None, None]
    assert columns.minimum(("s", "x")).type == pa.int32()
    assert columns.maximum(("s", "ok")).to_pylist() == [True, None, None]
    assert columns.null_count(("s", "x")).to_pylist() == [1, None, None]
    assert columns.null_count(("l",)).to_pylist() == [2, None, None]
    assert columns.num_records().to_pylist() == [3, None, None]
    assert columns.tight().to_pylist() == [True, True, True]


@pytest.mark.parametrize("path", [("l",), ("l", "element"), ("s",), ("p",), ("gone",)])
def test_what_has_no_bounds_has_none(path):
    columns = FileColumns(files([{"minValues": {"p": "2020-01-01", "l": 1}}]), SCHEMA, ["p"])
    assert columns.minimum(path) is None
    assert columns.maximum(path) is None
    assert columns.exact(path).to_pylist() == [False]


def test_maximum_timestamp_covers_its_millisecond():
    text = "2020-01-01T00:00:00.123Z"
    table = files([{"minValues": {"at": text}, "maxValues": {"at": text}}])
    columns = FileColumns(table, SCHEMA)
    low, high = columns.minimum(("at",)), columns.maximum(("at",))
    assert pc.subtract(high.cast(pa.int64()), low.cast(pa.int64())).to_pylist() == [999]
    assert columns.exact(("at",)).to_pylist() == [False]


def test_physical_names_are_looked_up_and_logical_ones_asked_for():
    def mapped(name, kind, physical):
        metadata = {
            "delta.columnMapping.id": 1,
            "delta.columnMapping.physicalName": physical,
        }
        return StructField(name, kind, metadata=metadata)

    inner = StructType((mapped("x", LONG, "c3"),))
    schema = StructType((mapped("p", LONG, "c1"), mapped("s", inner, "c2")))
    table = files(
        [{"minValues": {"c2": {"c3": 4}, "s": {"x": 1}}}], partitions=[[("c1", "7"), ("p", "8")]]
    )
    columns = FileColumns(table, schema, ["p"], "name")
    assert columns.partition("p").to_pylist() == [7]
    assert columns.minimum(("s", "x")).to_pylist() == [4]
    unmapped = FileColumns(table, schema, ["p"], "none")
    assert unmapped.partition("p").to_pylist() == [8]
    assert unmapped.minimum(("s", "x")).to_pylist() == [1]


# --- deletion vectors and wide bounds -----------------------------------------------------------


@pytest.mark.parametrize(
    ("nulls", "tight", "deleted", "expected"),
    [
        (3, None, None, 3),
        (3, True, None, 3),
        (3, False, None, None),
        (0, False, None, 0),
        (10, False, None, 10),
        (3, True, 2, None),
        (3, None, 2, None),
        (0, None, 2, 0),
        (10, False, 2, 10),
        (11, None, None, None),
    ],
)
def test_null_count_says_something_only_when_it_must(nulls, tight, deleted, expected):
    stats = {"numRecords": 10, "nullCount": {"Id": nulls}}
    stats |= {} if tight is None else {"tightBounds": tight}
    columns = FileColumns(files([stats], deleted=[deleted]), SCHEMA)
    assert columns.null_count(("Id",)).to_pylist() == [expected]
    assert columns.tight().to_pylist() == [tight is not False]


def test_null_count_without_number_of_records_is_known_only_if_nothing_was_deleted():
    stats = {"nullCount": {"Id": 3}}
    columns = FileColumns(files([stats, stats], deleted=[None, 1]), SCHEMA)
    assert columns.null_count(("Id",)).to_pylist() == [3, None]


def test_rows_are_the_records_that_are_not_deleted():
    stats = {"numRecords": 10}
    columns = FileColumns(files([stats, stats, None], deleted=[None, 4, 1]), SCHEMA)
    assert columns.num_records().to_pylist() == [10, 10, None]
    assert columns.num_rows().to_pylist() == [10, 6, None]


@pytest.mark.parametrize(
    ("tight", "deleted", "expected"),
    [
        (None, None, True),
        (True, None, True),
        (False, None, False),
        (None, 1, False),
        (True, 1, True),
        (False, 1, False),
    ],
)
def test_bounds_are_exact_while_their_rows_are_there(tight, deleted, expected):
    stats = {"numRecords": 10, "minValues": {"Id": 1}, "maxValues": {"Id": 2}}
    stats |= {} if tight is None else {"tightBounds": tight}
    columns = FileColumns(files([stats], deleted=[deleted]), SCHEMA)
    assert columns.exact(("Id",)).to_pylist() == [expected]


def test_one_bound_alone_is_not_exact():
    columns = FileColumns(files([{"minValues": {"Id": 1}}]), SCHEMA)
    assert columns.exact(("Id",)).to_pylist() == [False]


# --- structs of checkpoints ---------------------------------------------------------------------


def parsed_stats(rows, columns=SCHEMA) -> pa.StructArray:
    texts = pa.array([None if row is None else json.dumps(row) for row in rows], pa.string())
    structs = parse_stats(texts, stats_schema(columns))
    # As a checkpoint has them: no struct where there is no text.
    return pc.if_else(texts.is_valid(), structs, pa.scalar(None, structs.type))


def row(low, records=1):
    return {
        "numRecords": records,
        "minValues": {"Id": low},
        "maxValues": {"Id": low + 1},
        "nullCount": {"Id": 0},
    }


def test_rows_with_structs_and_rows_with_texts_stand_in_one_column():
    structs = parsed_stats([None, row(1), None, None, row(4), None])
    table = files([row(0), None, row(2), None, row(99), "?"], parsed=structs)
    columns = FileColumns(table, SCHEMA)
    assert columns.minimum(("id",)).to_pylist() == [0, 1, 2, None, 4, None]
    assert columns.maximum(("id",)).to_pylist() == [1, 2, 3, None, 5, None]
    assert columns.num_records().to_pylist() == [1, 1, 1, None, 1, None]


def test_texts_are_not_parsed_where_structs_are(monkeypatch):
    calls = []

    def spy(texts, schema):
        calls.append(len(texts))
        return parse_stats(texts, schema)

    monkeypatch.setattr(file_statistics, "parse_stats", spy)
    table = files([row(0)] * 5, parsed=parsed_stats([row(1)] * 5))
    assert FileColumns(table, SCHEMA).minimum(("id",)).to_pylist() == [1] * 5
    assert calls == []
    table = files([row(0)] * 5, parsed=parsed_stats([row(1)] * 3 + [None] * 2))
    assert FileColumns(table, SCHEMA).minimum(("id",)).to_pylist() == [1, 1, 1, 0, 0]
    assert calls == [2]


def test_column_that_the_structs_lack_is_looked_for_in_the_texts():
    structs = parsed_stats([row(1), row(2)], struct(name=STRING))
    columns = FileColumns(files([row(7, records=9), None], parsed=structs), SCHEMA)
    assert columns.minimum(("id",)).to_pylist() == [7, None]
    assert columns.num_records().to_pylist() == [9, 1]


def test_structs_of_an_earlier_type_are_widened():
    structs = parsed_stats([row(1)], struct(Id=INTEGER))
    wide = struct(Id=DecimalType(20, 0))
    columns = FileColumns(files(parsed=structs), wide)
    assert columns.minimum(("id",)).to_pylist() == [Decimal(1)]


@pytest.mark.parametrize("kind", [pa.null(), pa.int64()])
def test_structs_that_are_none_do_not_matter(kind):
    columns = FileColumns(files([row(3)], parsed=pa.nulls(1, kind)), SCHEMA)
    assert columns.minimum(("id",)).to_pylist() == [3]


def test_no_files_at_all():
    empty = files([row(1)], deleted=[None])[:0]
    columns = FileColumns(empty, SCHEMA, ["p"])
    assert columns.num_files == 0
    for values in (columns.partition("p"), columns.minimum(("id",)), columns.num_records()):
        assert len(values) == 0
    none = FileColumns(pa.table({name: empty[name].slice(0, 0) for name in ("path",)}), SCHEMA)
    assert len(none.minimum(("id",))) == 0


# --- laziness ----------------------------------------------------------------------------------


def test_columns_are_parsed_once_and_together_when_asked_for_together(monkeypatch):
    schemas = []

    def spy(texts, schema):
        schemas.append([".".join(path) for path, _ in leaves(schema)])
        return parse_stats(texts, schema)

    monkeypatch.setattr(file_statistics, "parse_stats", spy)
    columns = FileColumns(files([row(1)]), SCHEMA)
    columns.prefetch([("id",), ("s", "x"), ("s",), ("gone",)])
    assert len(schemas) == 1
    assert "minValues.Id" in schemas[0]
    assert "minValues.name" not in schemas[0]
    columns.minimum(("id",))
    columns.maximum(("s", "x"))
    columns.num_records()
    assert len(schemas) == 1
    columns.minimum(("name",))
    assert len(schemas) == 2
    assert columns.minimum(("id",)) is columns.minimum(("Id",))


def test_number_of_records_alone_needs_no_column():
    columns = FileColumns(files([row(1, records=4)]), SCHEMA)
    assert columns.num_records().to_pylist() == [4]


# --- tables that other implementations wrote ----------------------------------------------------

TABLES = GOLDEN / "tables"


def golden_tables() -> list[Path]:
    return sorted(log.parent for log in TABLES.glob("*/*/_delta_log"))


def adds_and_metadata(table: Path) -> tuple[list[dict], dict]:
    """The first files of a table, until its metadata changed, and that metadata."""
    adds, metadata = [], {}
    for commit in sorted((table / "_delta_log").glob("0*[0-9].json")):
        for line in commit.read_bytes().splitlines():
            action = json.loads(line) if line.strip().startswith(b"{") else {}
            if (metadata and action.get("metaData")) or len(adds) >= 100:
                return adds, metadata
            metadata = metadata or action.get("metaData") or {}
            adds += [action["add"]] if action.get("add") else []
    return adds, metadata


@needs_golden
def test_statistics_of_the_golden_tables_are_read_as_they_stand():
    checked = 0
    for table in golden_tables():
        adds, metadata = adds_and_metadata(table)
        configuration = metadata.get("configuration") or {}
        if "schemaString" not in metadata or "delta.columnMapping.mode" in configuration:
            continue
        schema, partitions = parse_schema(metadata["schemaString"]), metadata["partitionColumns"]
        columns = FileColumns(files([add.get("stats") for add in adds] or [None]), schema)
        columns.prefetch(path for path, _ in leaves(schema))
        raw = [json.loads(add.get("stats") or "{}", parse_float=Decimal) for add in adds] or [{}]
        for path, field in leaves(schema):
            if path[0] not in partitions:
                checked += check_column(columns, path, field, raw)
    assert checked > 500


def check_column(columns, path, field, raw) -> int:
    """The bounds are those of the log, or just outside of them where the log may have cut."""
    found = 0
    lows, highs = columns.minimum(path), columns.maximum(path)
    if lows is None:
        return 0
    for part, values, sign in (("minValues", lows, -1), ("maxValues", highs, 1)):
        for stats, value in zip(raw, values.to_pylist(), strict=True):
            text = stats.get(part) or {}
            for step in path:
                text = text.get(step) if isinstance(text, dict) else None
            if text is None:
                assert value is None
            elif isinstance(field.data_type, DecimalType):
                assert 0 <= sign * (value - Decimal(text)) < 1
            elif field.data_type in (LONG, INTEGER, STRING, BOOLEAN):
                assert value == text
            elif field.data_type == DOUBLE:
                assert value == float(text)
            elif field.data_type == DATE:
                assert value.isoformat() == text
            else:
                assert value is not None
            found += 1
    return found
