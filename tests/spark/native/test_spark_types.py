"""Columns and files that differ from one another: types, names and places; the scan is native."""

from __future__ import annotations

import datetime as dt
import json
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as T

import lakebed
from lakebed.spec.columns.column_metadata import CURRENT_DEFAULT, EXISTS_DEFAULT
from lakebed.spec.schema import (
    BYTE,
    DATE,
    DOUBLE,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VARIANT,
    VOID,
    ArrayType,
    DecimalType,
    MapType,
    StructType,
)
from testkit.readers.other_readers import read_elsewhere
from testkit.readers.scan_facts import assert_native, load, num_files, rows
from testkit.schemas import column
from testkit.tables.arbitrary_tables import add_file, make_table

UTC = dt.timezone.utc
WIDENED = [
    (pa.int8(), [1, -1], LONG, [1, -1]),
    (pa.int32(), [-5], DOUBLE, [-5.0]),
    (pa.float32(), [1.5], DOUBLE, [1.5]),
    (pa.int32(), [7], DecimalType(12, 2), [Decimal("7.00")]),
    (pa.int64(), [7], DecimalType(22, 2), [Decimal("7.00")]),
    (pa.decimal128(5, 2), [Decimal("1.25")], DecimalType(8, 3), [Decimal("1.250")]),
    (pa.date32(), [dt.date(2024, 1, 1)], TIMESTAMP_NTZ, [dt.datetime(2024, 1, 1)]),
    (pa.list_(pa.int16()), [[1]], ArrayType(INTEGER), [[1]]),
    (pa.struct([("x", pa.int16())]), [{"x": 1}], StructType((column("x"),)), [{"x": 1}]),
    (pa.map_(pa.int8(), pa.float32()), [[(1, 1.5)]], MapType(LONG, DOUBLE), [[(1, 1.5)]]),
]


@pytest.mark.parametrize(("stored", "values", "kind", "expected"), WIDENED, ids=str)
def test_older_files_have_narrower_types(
    spark: SparkSession,
    tmp_path: Path,
    stored: pa.DataType,
    values: list[Any],
    kind: Any,
    expected: list[Any],
) -> None:
    make_table(tmp_path, column("c", kind), properties={"delta.enableTypeWidening": "true"})
    add_file(tmp_path, pa.table({"c": pa.array(values, stored)}))
    assert load(spark, tmp_path).toArrow()["c"].to_pylist() == expected


def test_columns_that_a_file_lacks_are_null_at_every_depth(
    spark: SparkSession, tmp_path: Path
) -> None:
    inner = StructType((column("x"), column("new", STRING), column("void", VOID)))
    fields = (column("a"), column("b"), column("s", inner), column("l", ArrayType(inner)))
    make_table(tmp_path, *fields, column("v", VOID))
    add_file(tmp_path, pa.table({"a": [1], "s": [{"x": 2}], "l": [[{"x": 3}]]}), "one.parquet")
    add_file(tmp_path, pa.table({"unknown": [9, 9]}), "two.parquet")
    frame = load(spark, tmp_path)
    assert rows(frame) == rows(lakebed.open(tmp_path).to_arrow())
    assert frame.select("b").count() == 3
    assert frame.where("b IS NULL AND v IS NULL").count() == 3
    assert frame.schema["v"].dataType == T.NullType()


def test_names_may_differ_in_case_in_files_queries_and_partitions(
    spark: SparkSession, tmp_path: Path
) -> None:
    inner = StructType((column("Inner"),))
    make_table(tmp_path, column("Id"), column("S", inner), column("Part"), partition_by=("Part",))
    data = pa.table({"iD": [1, 2], "s": [{"INNER": 3}, {"INNER": 4}]})
    add_file(tmp_path, data, partition_values={"Part": "7"})
    frame = load(spark, tmp_path)
    assert frame.columns == ["Id", "S", "Part"]
    assert_native(frame)
    found = frame.where("ID = 2 AND s.iNNER = 4 AND pART = 7").collect()
    assert found == [(2, (4,), 7)]


def test_special_characters_in_paths_columns_and_partition_values(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "a b%20c+d=e#f?g ü,{h}[i]:j"
    values = ["", " ", "a/b", "%2F", "x=y", "ü€", "#?", "..", "a'b\"c", "{}[]", "+", ":", "\\"]
    names = ["p q", "dot.ted", "tick`ed", "ü", "per%cent"]
    data = pa.table(
        {
            names[0]: [value or None for value in values],
            **{name: list(range(len(values))) for name in names[1:]},
        }
    )
    properties = {"delta.columnMapping.mode": "name"}
    lakebed.write(path, data, partition_by="p q", properties=properties)
    frame = load(spark, path)
    assert rows(frame) == rows(data)
    for place, value in enumerate(values[1:], start=1):
        (found,) = frame.where(frame["`p q`"] == value).collect()
        assert found["dot.ted"] == place
    assert frame.where("`tick``ed` = 3 AND `dot.ted` = 3 AND `ü` = 3").count() == 1


def test_files_of_other_tables_are_read_by_their_absolute_path(
    spark: SparkSession, tmp_path: Path
) -> None:
    outside = tmp_path / "out side ü"
    make_table(tmp_path / "t", column("n"))
    for number, name in enumerate(["a.parquet", "b%20.parquet"]):
        logged = (outside / name).as_uri()
        add_file(tmp_path / "t", pa.table({"n": [number]}), name, logged_as=logged)
    outside.mkdir()
    for file in (tmp_path / "t").glob("*.parquet"):
        shutil.move(file, outside / file.name)
    assert sorted(row.n for row in load(spark, tmp_path / "t").collect()) == [0, 1]


def test_partition_values_of_the_log_win_over_the_file(spark: SparkSession, tmp_path: Path) -> None:
    make_table(tmp_path, column("p", STRING), column("n"), partition_by=("p",))
    data = pa.table({"p": ["wrong"], "n": [1]})
    add_file(tmp_path, data, partition_values={"p": "right"})
    assert load(spark, tmp_path).collect() == [("right", 1)]


PARTITIONS = [
    (STRING, "ü x", "ü x"),
    (LONG, "-9223372036854775808", -(2**63)),
    (BYTE, "-1", -1),
    (DOUBLE, "NaN", "nan"),
    (DOUBLE, "-0.0", -0.0),
    (DecimalType(10, 3), "1.500", Decimal("1.500")),
    (DATE, "1500-02-28", dt.date(1500, 2, 28)),
    (TIMESTAMP, "2024-01-01 05:00:00", dt.datetime(2024, 1, 1, 5)),
    (TIMESTAMP, "2024-01-01T05:00:00.123456Z", dt.datetime(2024, 1, 1, 5, 0, 0, 123456)),
    (TIMESTAMP_NTZ, "2024-01-01 05:00:00", dt.datetime(2024, 1, 1, 5)),
]


@pytest.mark.parametrize(("kind", "text", "value"), PARTITIONS, ids=str)
def test_partition_values_of_every_type(
    spark: SparkSession, tmp_path: Path, kind: Any, text: str, value: Any
) -> None:
    make_table(tmp_path, column("p", kind), column("n"), partition_by=("p",))
    add_file(tmp_path, pa.table({"n": [1]}), "one.parquet", partition_values={"p": text})
    add_file(tmp_path, pa.table({"n": [2]}), "two.parquet", partition_values={"p": None})
    frame = load(spark, tmp_path)
    (found,) = frame.where("p IS NOT NULL").toArrow()["p"].to_pylist()
    if isinstance(value, str) and kind == DOUBLE:
        assert str(found) == value
        assert frame.where("p = double('NaN')").count() == 1
    else:
        plain = found.replace(tzinfo=None) if isinstance(found, dt.datetime) else found
        assert plain == value
    assert frame.where("p IS NULL").collect()[0].n == 2
    assert frame.where("p <=> NULL").count() == 1


def test_char_varchar_and_defaults_are_plain_columns_to_a_reader(
    spark: SparkSession, tmp_path: Path
) -> None:
    make_table(
        tmp_path,
        column("c", STRING, {"__CHAR_VARCHAR_TYPE_STRING": "char(4)"}),
        column("v", STRING, {"__CHAR_VARCHAR_TYPE_STRING": "varchar(3)"}),
        column("d", LONG, {CURRENT_DEFAULT: "7", EXISTS_DEFAULT: "7"}),
        properties={"delta.feature.allowColumnDefaults": "supported"},
    )
    add_file(tmp_path, pa.table({"c": ["ab  "], "v": ["abc"]}))
    frame = load(spark, tmp_path)
    found = frame.collect()[0]
    assert (found.v, found.d) == ("abc", None)
    assert found.c.rstrip() == "ab"
    assert frame.where("v = 'abc'").count() == 1
    assert frame.where("c = 'ab'").count() == 1


def test_timestamps_with_and_without_zone_are_told_apart(
    spark: SparkSession, tmp_path: Path
) -> None:
    moment = dt.datetime(2024, 7, 1, 12)
    data = pa.table({"z": [moment.replace(tzinfo=UTC)], "n": [moment]})
    lakebed.write(tmp_path / "t", data)
    frame = load(spark, tmp_path / "t")
    assert [field.dataType for field in frame.schema] == [T.TimestampType(), T.TimestampNTZType()]
    assert rows(frame) == rows(data)
    assert num_files(frame.where("n > TIMESTAMP_NTZ'2024-07-02 00:00:00'")) == 0
    assert rows(read_elsewhere(tmp_path / "t")) == rows(data)


def test_int96_timestamps_are_read_to_the_microsecond(spark: SparkSession, tmp_path: Path) -> None:
    moments = [dt.datetime(1900, 1, 1), dt.datetime(2024, 1, 1, 12, 0, 0, 123456)]
    make_table(tmp_path, column("t", TIMESTAMP))
    data = pa.table({"t": pa.array(moments, pa.timestamp("us"))})
    add_file(tmp_path, data, parquet={"use_deprecated_int96_timestamps": True})
    found = load(spark, tmp_path).toArrow()["t"].to_pylist()
    assert found == [moment.replace(tzinfo=UTC) for moment in moments]


def test_variants_are_read_natively(spark: SparkSession, tmp_path: Path) -> None:
    make_table(tmp_path, column("n"), column("v", VARIANT))
    text = json.dumps({"a": [1, {"b": "x"}], "c": None})
    source = spark.sql(f"SELECT 1L AS n, parse_json('{text}') AS v UNION ALL SELECT 2L, NULL")
    source.coalesce(1).write.parquet(str(tmp_path / "made"))
    (file,) = (tmp_path / "made").glob("*.parquet")
    add_file(tmp_path, pa.table({"n": [1, 2]}), "x.parquet", copied=file)
    frame = load(spark, tmp_path).orderBy("n")
    found = frame.selectExpr("n", "to_json(v) AS j", "variant_get(v, '$.a[1].b', 'string') AS b")
    assert found.collect() == [(1, '{"a":[1,{"b":"x"}],"c":null}', "x"), (2, None, None)]
    assert frame.where("v IS NULL").count() == 1


def test_a_table_without_files_has_its_columns(spark: SparkSession, tmp_path: Path) -> None:
    make_table(tmp_path, column("n"), column("p", DATE), partition_by=("p",))
    frame = load(spark, tmp_path)
    assert frame.columns == ["n", "p"]
    assert frame.collect() == []
    assert frame.where("p > '2024-01-01' AND n = 1").groupBy("p").count().collect() == []


def test_files_with_nothing_but_partition_values_are_counted(
    spark: SparkSession, tmp_path: Path
) -> None:
    lakebed.write(tmp_path / "t", pa.table({"p": [1, 1, 2], "n": [1, 2, 3]}), partition_by="p")
    found = load(spark, tmp_path / "t").select("p").orderBy("p").collect()
    assert [row.p for row in found] == [1, 1, 2]
