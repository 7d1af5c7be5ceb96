"""What holds for every change of rows without Spark: rules of the table, row ids, and errors."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import deltalake
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakebed
from lakebed.commands.delete_rows import delete_rows
from lakebed.commands.table_target import TableTarget
from lakebed.errors import (
    AppendOnlyError,
    ConstraintViolationError,
    DataFileError,
    EvaluationError,
    InvalidArgumentError,
    MultipleMatchesError,
    PredicateError,
    RowConflictError,
    SchemaError,
    SchemaMismatchError,
)
from lakebed.settings.setting_table import CHANGE_MEMORY
from lakebed.spec.schema import StructType, parse_schema
from lakebed.storage.local import LocalStore
from lakebed.tables.table import Table
from lakebed.tables.table_changes import TableMerger
from testkit.tables.spark_tables import create

VECTORS = {"delta.enableDeletionVectors": "true"}
COPIES = {"delta.enableDeletionVectors": "false"}
FEED = {"delta.enableChangeDataFeed": "true"}
WAYS = pytest.mark.parametrize("way", [VECTORS, COPIES], ids=["vectors", "copies"])


def make(path: Path, columns: dict[str, Any], **more: Any) -> Table:
    return lakebed.write(path, pa.table(columns), **more)


def rows(table: Table) -> list[tuple[Any, ...]]:
    found = table.refresh().to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=str)


def merging(table: Table, source: Any, predicate: str = "t.id = s.id") -> TableMerger[Table]:
    return table.merge(source, predicate, source_alias="s", target_alias="t")


def field(name: str, kind: Any, **metadata: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def schema(*fields: dict[str, Any]) -> StructType:
    return parse_schema(json.dumps({"type": "struct", "fields": list(fields)}))


def made(path: Path, *fields: dict[str, Any], **properties: str) -> Table:
    create(path, schema(*fields), properties=properties)
    return lakebed.open(path)


def data_files(path: Path) -> set[Path]:
    return {each for each in path.rglob("*") if each.is_file() and "_delta_log" not in each.parts}


# --- values --------------------------------------------------------------------------------------


@WAYS
def test_a_field_of_a_struct_is_set_alone(tmp_path: Path, way: dict[str, str]) -> None:
    values = [{"a": 0, "b": "x"}, {"a": 1, "b": "x"}, None]
    table = make(tmp_path / "t", {"id": [0, 1, 2], "s": values}, properties=way)
    table.update({"s.a": "s.a + 10"}, "id > 0")
    assert [row[1] for row in rows(table)] == [
        {"a": 0, "b": "x"},
        {"a": 11, "b": "x"},
        {"a": None, "b": None},
    ]


def test_values_are_converted_to_the_type_of_the_column(tmp_path: Path) -> None:
    table = make(tmp_path / "t", {"id": [0, 1], "name": ["a", "a"], "price": [1.5, 1.5]})
    table.update({"name": "7", "price": "3", "id": "'12'"}, "id = 0")
    assert rows(table) == [(1, "a", 1.5), (12, "7", 3.0)]


def test_python_values_are_set_as_they_are(tmp_path: Path) -> None:
    columns = {"id": [0, 1], "name": ["a", "b"], "tags": [["x"], None]}
    table = make(tmp_path / "t", columns)
    changed = table.update(
        new_values={"name": "it's", "tags": ["y", None]}, set={"id": "id + 5"}, where="id = 1"
    )
    assert changed.num_updated_rows == 1
    assert rows(table) == [(0, "a", ["x"]), (6, "it's", ["y", None])]
    with pytest.raises(InvalidArgumentError, match="no long"):
        table.update(new_values={"id": "many"})
    with pytest.raises(InvalidArgumentError, match="both have 'id'"):
        table.update({"id": "1"}, new_values={"id": 1})


@pytest.mark.parametrize(
    ("value", "match"),
    [
        ("2147483647 + n", "overflow"),
        ("CAST(id AS INT) * 3000000000", "cannot be cast"),
        ("'nope'", "cannot be cast to"),
        ("n / (n - n)", "division by zero"),
    ],
)
def test_a_value_without_a_result_changes_nothing(tmp_path: Path, value: str, match: str) -> None:
    table = make(tmp_path / "t", {"id": [1, 2], "n": pa.array([1, 2], pa.int32())})
    with pytest.raises((EvaluationError, PredicateError), match=match):
        table.update({"n": value})
    assert rows(table) == [(1, 1), (2, 2)]
    assert table.refresh().version == 0
    assert len(data_files(tmp_path / "t")) == 1


@pytest.mark.parametrize(
    "text", ["rand() > 0.5", "id IN (SELECT 1)", "uuid() = 'x'", "sum(id) > 1", "lead(id) = 1"]
)
def test_what_lakebed_cannot_evaluate_is_refused_by_name(tmp_path: Path, text: str) -> None:
    table = make(tmp_path / "t", {"id": [1, 2]})
    name = text.partition("(")[0].split()[-1]
    for change in (
        lambda: table.delete(text),
        lambda: table.update({"id": "0"}, text),
        lambda: merging(table, {"id": [1]}).when_matched_delete(text).execute(),
    ):
        with pytest.raises(PredicateError) as caught:
            change()
        assert name in str(caught.value) or "subqueries" in str(caught.value)
    assert table.refresh().version == 0


def test_structs_are_taken_as_they_are_or_made_but_not_computed_with(tmp_path: Path) -> None:
    values = [{"a": 1, "b": "x"}, None]
    table = make(tmp_path / "t", {"id": [0, 1], "s": values, "o": values[::-1]})
    table.update({"s": "o", "o": "named_struct('b', 'new', 'a', id)"})
    assert rows(table) == [
        (0, None, {"a": 0, "b": "new"}),
        (1, {"a": 1, "b": "x"}, {"a": 1, "b": "new"}),
    ]
    with pytest.raises(PredicateError, match="only Spark"):
        table.update({"s": "coalesce(s, o)"})
    with pytest.raises(SchemaMismatchError, match="does not have its field 'c'"):
        table.update({"s": "named_struct('a', 1, 'b', 'x', 'c', 1)"})
    with pytest.raises(SchemaMismatchError, match="does not have the field 'b'"):
        table.update({"s": "named_struct('a', 1)"})


@WAYS
def test_generated_columns_follow(tmp_path: Path, way: dict[str, str]) -> None:
    twice = field("twice", "long", **{"delta.generationExpression": "id * 2"})
    table = made(tmp_path / "t", field("id", "long"), field("n", "long"), twice, **way)
    table.write(pa.table({"id": [0, 1, 2], "n": [0, 1, 2]}), mode="append")
    table.update({"id": "10"}, "id = 1")
    assert rows(table) == [(0, 0, 0), (10, 1, 20), (2, 2, 4)]
    merge = merging(table, {"key": [2, 50]}, "t.id = key").when_matched_update({"id": "7"})
    merge.when_not_matched_insert({"id": "key", "n": "0"}).execute()
    assert rows(table) == [(0, 0, 0), (10, 1, 20), (50, 0, 100), (7, 2, 14)]
    with pytest.raises(ConstraintViolationError, match="twice"):
        table.update({"twice": "1"}, "id = 0")


@WAYS
def test_identity_columns_keep_and_draw_values(tmp_path: Path, way: dict[str, str]) -> None:
    marks = {
        "delta.identity.start": 1,
        "delta.identity.step": 1,
        "delta.identity.allowExplicitInsert": False,
    }
    table = made(tmp_path / "t", field("key", "long", **marks), field("n", "long"), **way, **FEED)
    table.write({"n": [0, 1, 2, 3]}, mode="append")
    table.update({"n": "-1"}, "n = 1")
    merge = merging(table, {"id": [3, 4, 5]}, "t.n = s.id").when_matched_update({"n": "-3"})
    merge.when_not_matched_insert({"n": "s.id"}).execute()
    assert rows(table) == [(1, 0), (2, -1), (3, 2), (4, -3), (5, 4), (6, 5)]
    feed = table.changes(1).to_arrow().to_pylist()
    assert {row["n"]: row["key"] for row in feed if row["_change_type"] == "insert"} == {
        **{0: 1, 1: 2, 2: 3, 3: 4},
        **{4: 5, 5: 6},
    }
    assert rows(table.refresh().write({"n": [9]}, mode="append"))[-1] == (7, 9)
    with pytest.raises(InvalidArgumentError, match="identity"):
        table.update({"key": "1"})


@WAYS
def test_rules_of_the_table_hold_and_a_bad_row_changes_nothing(
    tmp_path: Path, way: dict[str, str]
) -> None:
    columns = [field("id", "long"), {**field("n", "integer"), "nullable": False}]
    table = made(tmp_path / "t", *columns, **way, **{"delta.constraints.small": "id < 100"})
    table.write({"id": [0, 1, 2], "n": pa.array([1, 1, 1], pa.int32())}, mode="append")
    insert = merging(table, {"id": [500]}).when_not_matched_insert({"id": "s.id", "n": "1"})
    for change, match in (
        (lambda: table.update({"id": "100"}, "id = 1"), "small"),
        (lambda: table.update({"n": "NULL"}, "id = 1"), "NOT NULL"),
        (insert.execute, "small"),
    ):
        with pytest.raises(ConstraintViolationError, match=match):
            change()
    assert rows(table) == [(0, 1), (1, 1), (2, 1)]
    assert len(data_files(tmp_path / "t")) == 1


def test_merge_inserts_defaults(tmp_path: Path) -> None:
    default = field("n", "integer", CURRENT_DEFAULT="7")
    properties = {"delta.feature.allowColumnDefaults": "supported"}
    table = made(tmp_path / "t", field("id", "long"), default, **properties)
    merging(table, {"id": [0]}).when_not_matched_insert({"id": "s.id"}).execute()
    merge = merging(table, {"id": [1], "n": [3]})
    merge.when_not_matched_insert_all(except_cols=["N"]).execute()
    assert rows(table) == [(0, 7), (1, 7)]


# --- MERGE ---------------------------------------------------------------------------------------


def test_keys_are_equal_where_spark_says_so(tmp_path: Path) -> None:
    """NaN is NaN, 0.0 is -0.0, null is nothing, and decimals are numbers of any scale."""
    keys = [math.nan, 0.0, None, 2.5]
    table = make(tmp_path / "t", {"id": [0, 1, 2, 3], "x": keys})
    source = {"x": [math.nan, -0.0, None, 2.25], "n": [10, 11, 12, 13]}
    merge = merging(table, source, "t.x = s.x").when_matched_update({"id": "s.n"})
    assert merge.execute().num_updated_rows == 2
    assert {row[0] for row in rows(table)} == {10, 11, 2, 3}
    again = merging(table, source, "s.x <=> t.x").when_matched_update({"id": "s.n + 10"})
    assert again.execute().num_updated_rows == 3
    decimals = pa.array([Decimal("1.50"), Decimal("2.00")], pa.decimal128(9, 2))
    other = make(tmp_path / "d", {"d": decimals})
    merge = merging(other, {"d": pa.array([Decimal("1.5")], pa.decimal128(5, 1))}, "t.d = s.d")
    assert merge.when_matched_delete().execute().num_deleted_rows == 1


@pytest.mark.parametrize(
    ("predicate", "wanted"),
    [
        ("t.id = s.id AND t.p = s.p", [(1, "a", 10), (1, "b", 2), (2, "a", 30)]),
        ("t.id = s.id AND t.p = s.p AND s.n > 20", [(1, "a", 1), (1, "b", 2), (2, "a", 30)]),
        ("t.id + 0 = s.id - 0 AND upper(t.p) = 'B' AND s.p = 'a'",
         [(1, "a", 1), (1, "b", 10), (2, "a", 3)]),
        ("t.id > s.id AND s.n = 10", [(1, "a", 1), (1, "b", 2), (2, "a", 10)]),
        ("(t.id = s.id AND t.p = 'b' AND s.p = 'a') OR t.id = -s.id",
         [(1, "a", 1), (1, "b", 10), (2, "a", 3)]),
    ],
)  # fmt: skip
def test_any_condition_joins(tmp_path: Path, predicate: str, wanted: list[Any]) -> None:
    columns = {"id": [1, 1, 2], "p": ["a", "b", "a"], "n": [1, 2, 3]}
    table = make(tmp_path / "t", columns, partition_by=["p"])
    source = pa.table({"ID": pa.array([1, 2, None], pa.int32()), "p": ["a", "a", "b"],
                       "n": [10, 30, 50]})  # fmt: skip
    merging(table, source, predicate).when_matched_update({"n": "s.n"}).execute()
    assert rows(table) == wanted


def test_several_rows_for_one_are_an_error_that_shows_them(tmp_path: Path) -> None:
    table = make(tmp_path / "t", {"id": [1, 2], "n": [0, 0]})
    merge = merging(table, {"id": [2, 2], "n": [5, 6]})
    with pytest.raises(MultipleMatchesError, match=r"2 rows of the source.*'id': 2.*'n': 6"):
        merge.when_matched_update_all().execute()
    assert table.refresh().version == 0
    merge.when_matched_update_all("s.n = 5").execute()
    merge.when_matched_delete().execute()
    assert rows(table) == [(1, 0)]


@WAYS
def test_the_schema_evolves_where_that_is_wanted(tmp_path: Path, way: dict[str, str]) -> None:
    values = [{"a": 1}, {"a": 2}]
    table = make(tmp_path / "t", {"id": [1, 2], "s": values}, properties={**way, **FEED})
    source = pa.table({"id": [2, 3], "s": [{"a": 5, "b": "n"}] * 2, "more": ["x", "y"]})
    strict = merging(table, source).when_matched_update_all().when_not_matched_insert_all()
    with pytest.raises(SchemaMismatchError, match="field 'b'"):
        strict.execute()
    merge = table.merge(
        source, "t.id = s.id", source_alias="s", target_alias="t", merge_schema=True
    )
    merge.when_matched_update_all().when_not_matched_insert_all().execute()
    assert rows(table) == [
        (1, {"a": 1, "b": None}, None),
        (2, {"a": 5, "b": "n"}, "x"),
        (3, {"a": 5, "b": "n"}, "y"),
    ]
    kinds = [row["_change_type"] for row in table.changes(1).to_arrow().to_pylist()]
    assert sorted(kinds) == ["insert", "update_postimage", "update_preimage"]


def test_columns_may_be_left_out_of_all(tmp_path: Path) -> None:
    table = make(tmp_path / "t", {"id": [1], "n": [0], "m": [0]})
    merge = merging(table, {"id": [1], "n": [5], "m": [6]})
    merge.when_matched_update_all(except_cols=["n"]).execute()
    assert rows(table) == [(1, 0, 6)]
    with pytest.raises(InvalidArgumentError, match="not a list"):
        merge.when_matched_update_all(except_cols="n")


def test_names_that_may_be_of_either_side_are_refused(tmp_path: Path) -> None:
    table = make(tmp_path / "t", {"id": [1], "n": [0]})
    with pytest.raises(PredicateError, match="may be one of"):
        merging(table, {"id": [1]}, "id = s.id").when_matched_delete().execute()
    with pytest.raises(PredicateError, match="no column x"):
        merging(table, {"id": [1]}, "t.x = s.id").when_matched_delete().execute()
    insert = merging(table, {"id": [1]}).when_not_matched_insert({"n": "t.n"})
    with pytest.raises(PredicateError, match="there is no column"):
        insert.execute()
    with pytest.raises(InvalidArgumentError, match="more than one column"):
        merging(table, {"id": [1], "ID": [2]}).when_matched_delete().execute()
    with pytest.raises(SchemaError, match="no column 'x'"):
        merging(table, {"id": [1]}).when_matched_update({"x": "1"}).execute()


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars", "reader", "duckdb", "table", "scan"])
def test_rows_of_any_kind_are_a_source(tmp_path: Path, kind: str) -> None:
    import duckdb

    table = make(tmp_path / "t", {"id": [1, 2], "name": ["a", "b"]})
    given = pa.table({"id": [2, 3], "name": ["x", "y"]})
    other = lakebed.write(tmp_path / "s", given)
    sources: dict[str, Callable[[], Any]] = {
        "arrow": lambda: given,
        "pandas": given.to_pandas,
        "polars": lambda: polars.from_arrow(given),
        "reader": given.to_reader,
        "duckdb": lambda: duckdb.from_arrow(given),
        "table": lambda: other,
        "scan": lambda: other.scan(where="id > 0"),
    }
    merge = merging(table, sources[kind]())
    merge.when_matched_update_all().when_not_matched_insert_all().execute()
    assert rows(table) == [(1, "a"), (2, "x"), (3, "y")]


# --- row ids, conflicts, memory, faults ----------------------------------------------------------


@WAYS
def test_rows_keep_their_ids(tmp_path: Path, way: dict[str, str]) -> None:
    properties = {**way, "delta.enableRowTracking": "true"}
    table = make(tmp_path / "t", {"id": [1, 2, 3]}, properties=properties)
    table.update({"id": "20"}, "id = 2")
    table.update({"id": "21"}, "id = 20")
    files = table.refresh().snapshot.files().to_pylist()
    found = {}
    name = table.properties["delta.rowTracking.materializedRowIdColumnName"]
    for each in files:
        data = pq.read_table(tmp_path / "t" / each["path"]).to_pylist()
        for place, row in enumerate(data):
            number = row.get(name)
            found[row["id"]] = each["baseRowId"] + place if number is None else number
    assert {found[1], found[21], found[3]} == {0, 1, 2}
    assert found[21] == 1


def test_changes_of_other_rows_of_a_file_both_succeed(tmp_path: Path) -> None:
    table = make(tmp_path / "t", {"id": [1, 2, 3]}, properties=VECTORS)
    late = table.snapshot
    table.delete("id = 1")

    class Late(TableTarget):
        def change(self, attempt: Any) -> dict[str, int]:
            return dict(attempt(late))

    log = table._log
    assert delete_rows(Late(log, late), "id = 2")["numDeletedRows"] == 1
    with pytest.raises(RowConflictError):
        delete_rows(Late(log, late), "id = 1")
    assert rows(table) == [(3,)]


def test_append_only_tables(tmp_path: Path) -> None:
    table = make(tmp_path / "t", {"id": [1]}, properties={"delta.appendOnly": "true"})
    with pytest.raises(AppendOnlyError, match="append-only"):
        table.delete("id = 1")


@WAYS
def test_little_memory_is_enough(
    tmp_path: Path, way: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files are read piece by piece, and new ones are begun when rows take too much."""
    assert CHANGE_MEMORY.environment is not None
    monkeypatch.setenv(CHANGE_MEMORY.environment, "64kb")
    columns = {"id": list(range(20_000)), "name": [f"name {n % 7}" for n in range(20_000)]}
    table = make(tmp_path / "t", columns, properties=way, max_rows_per_file=5_000)
    table.update({"name": "concat(name, '!')"}, "id % 2 = 0")
    source = {"id": list(range(10_000, 30_000)), "name": ["s"] * 20_000}
    merge = merging(table, source).when_matched_update_all("t.id % 3 = 0")
    merge.when_not_matched_insert_all().when_not_matched_by_source_delete("id < 10").execute()
    table.delete("id % 5 = 4")
    wanted = []
    for n in range(10, 30_000):
        name = "s" if n >= 20_000 or (n >= 10_000 and n % 3 == 0) else f"name {n % 7}"
        name += "" if name == "s" or n % 2 else "!"
        wanted += [] if n % 5 == 4 else [(n, name)]
    assert sorted(rows(table)) == wanted
    found = deltalake.DeltaTable(str(tmp_path / "t"))
    assert found.version() == table.refresh().version


@WAYS
@pytest.mark.parametrize("failing", [0, 1, 2])
def test_a_store_that_fails_leaves_the_table_as_it_was(
    tmp_path: Path, way: dict[str, str], failing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files of rows that will not be committed are deleted; vectors are left for VACUUM."""
    table = make(tmp_path / "t", {"id": [1, 2, 3], "n": [1, 2, 3]}, properties={**way, **FEED})
    before, files = rows(table), data_files(tmp_path / "t")
    put, calls = LocalStore.put, []

    def broken(store: Any, path: str, *given: Any, **named: Any) -> Any:
        calls.append(path)
        if len(calls) == failing + 1:
            raise DataFileError("the disk is full", file=path)
        return put(store, path, *given, **named)

    merge = merging(table, {"id": [2, 9], "n": [0, 0]}).when_matched_update_all()
    merge = merge.when_not_matched_insert_all()
    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "put", broken)
        if way == COPIES and failing == 2:
            merge.execute()
            assert len(calls) == 2
            return
        with pytest.raises(DataFileError, match="the disk is full"):
            merge.execute()
    assert rows(table) == before
    assert table.refresh().version == 0
    is_vector = calls[-1].startswith("deletion_vector")
    assert is_vector == (failing == 2)
    assert is_vector or data_files(tmp_path / "t") == files
    merge.execute()
    assert rows(table) == [(1, 1), (2, 0), (3, 3), (9, 0)]


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    table = make(tmp_path / "t", {"id": [1, 2]})
    (path,) = data_files(tmp_path / "t")
    path.unlink()
    with pytest.raises(DataFileError, match=path.name):
        table.delete("id = 1")
