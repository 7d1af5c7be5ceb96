"""DELETE, UPDATE and MERGE on Spark Connect: columns of DataFrames, and the keys of a MERGE."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

import lakebed
from lakebed import DeltaTable
from lakebed.commands.merge import merge_rows as merge
from lakebed.commands.merge import merge_source
from lakebed.errors import InvalidArgumentError, SchemaMismatchError
from lakebed.spark.session.session_kind import functions_of
from lakebed.transaction import Transaction
from testkit.readers.other_readers import values_by_id

AMBIGUOUS = r"nobody can tell which"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """ids 0 to 4, with x ten times as much."""
    folder = tmp_path / "table"
    inner = [{"id": -1, "a": number} for number in range(5)]
    rows = {"id": list(range(5)), "x": list(range(0, 50, 10)), "st": inner}
    lakebed.write(folder, pa.table(rows))
    return folder


@pytest.fixture
def table(remote: Any, path: Path) -> DeltaTable:
    return DeltaTable.forPath(remote, str(path))


@pytest.fixture
def source(remote: Any) -> Any:
    return remote.createDataFrame(pa.table({"id": [1, 7], "x": [11, 77]}))


# --- columns of DataFrames -----------------------------------------------------------------------


def test_columns_of_the_table_in_delete_and_update(
    remote: Any, table: DeltaTable, source: Any, path: Path
) -> None:
    f = functions_of(remote)
    df = table.toDF()
    table.delete(df["id"].isin(3) | (df.st.a == 0))
    value = f.when(df.x > 0, df.x.cast("string")).otherwise("0")
    named = table.alias("t").toDF()
    table.alias("t").update(named["t.id"] == 1, {"x": value + df["st.a"] + f.col("t.id")})
    assert values_by_id(path) == {1: 12, 2: 20, 4: 40}
    for frame in (source, df.where("id > 0"), remote.read.format("delta").load(str(path))):
        with pytest.raises(InvalidArgumentError, match="another DataFrame"):
            table.delete(frame.id == 1)
    with pytest.raises(InvalidArgumentError, match=r"alias of a DataFrame"):
        table.delete(df["st.id"] == 1)


def test_a_merge_with_columns_of_both_sides(table: DeltaTable, source: Any, path: Path) -> None:
    df = table.toDF()
    (
        table.merge(source, df.id == source.id)
        .whenMatchedUpdate(source.x > df.x, {"x": df.x * 100 + source.x})
        .whenNotMatchedInsert(source.id > 0, {"id": source.id, "x": source.x - 1})
        .whenNotMatchedBySourceDelete(df.id == 4)
        .execute()
    )
    assert values_by_id(path) == {0: 0, 1: 1011, 2: 20, 3: 30, 7: 76}
    again = table.merge(source, df.id == source.id)
    again = again.whenNotMatchedInsert(values={"id": source.id, "x": df.x})
    with pytest.raises(InvalidArgumentError, match="'x' is of the table"):
        again.execute()


def test_a_merge_with_itself_never_takes_one_side_for_the_other(
    remote: Any, table: DeltaTable, path: Path
) -> None:
    f = functions_of(remote)
    df = table.toDF()
    shifted = df.selectExpr("id + 1 AS id", "x")
    for condition in (df.id == shifted.id, df.id == 1):
        with pytest.raises(InvalidArgumentError, match=AMBIGUOUS):
            table.merge(shifted, condition).whenMatchedDelete().execute()
    with pytest.raises(InvalidArgumentError, match=AMBIGUOUS):
        table.merge(df, df.id == 1).whenMatchedDelete().execute()
    named = table.alias("t").merge(shifted, f.col("t.id") == shifted.id)
    named.whenMatchedUpdate(set={"x": shifted.x}).execute()
    assert values_by_id(path) == {0: 0, 1: 0, 2: 10, 3: 20, 4: 30}
    other = table.toDF()
    again = table.merge(shifted, (other.id == shifted.id) & (other.id < 2))
    again.whenMatchedUpdate(set={"x": other.x - 7}).execute()
    assert values_by_id(path) == {0: 0, 1: -7, 2: 10, 3: 20, 4: 30}


# --- keys of a merge -----------------------------------------------------------------------------


def keys_of(table: DeltaTable, source: Any, condition: Any) -> list[str]:
    """The columns of which a MERGE knows the values that it looks for."""
    seen: list[str] = []

    def summarize(_: Any, keys: Any, __: Any) -> Any:
        seen.extend(key.field.name for key in keys)
        raise _Seen

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merge_source.MergeSource, "summarize", summarize)
        with pytest.raises(_Seen):
            table.merge(source, condition).whenMatchedDelete().execute()
    return seen


class _Seen(Exception):
    pass


def test_equal_names_of_both_sides_are_keys(remote: Any, table: DeltaTable, source: Any) -> None:
    f = functions_of(remote)
    df, t, s = table.toDF(), table.alias("t"), source.alias("s")
    assert keys_of(t, s, "t.id = s.id") == ["id"]
    assert keys_of(t, s, "(s.`id` == T.ID AND t.x < s.x) AND s.x = t.x") == ["id", "x"]
    assert keys_of(t, s, (f.col("t.id") == f.col("s.id")) & f.expr("t.x = s.x")) == ["id", "x"]
    assert keys_of(table, source, df.id == source.id) == ["id"]
    renamed = source.selectExpr("id AS key", "named_struct('x', x) AS n")
    assert keys_of(table, renamed, "id = key AND n.x = x") == ["id", "x"]
    assert keys_of(table, renamed, (df.id == renamed.key) & (df.x == renamed["n.x"])) == ["id"]


def test_what_is_not_certain_is_no_key(remote: Any, table: DeltaTable, source: Any) -> None:
    f = functions_of(remote)
    t, s = table.alias("t"), source.alias("s")
    narrow = source.selectExpr("CAST(id AS INT) AS key", "x AS y", "named_struct('id', 1L) AS t")
    assert keys_of(t, s, "t.id = s.id OR t.x = s.x") == []
    assert keys_of(t, s, "NOT t.id = s.id AND t.x <=> s.x") == []
    assert keys_of(t, s, ~(f.col("t.id") == f.col("s.id"))) == []
    assert keys_of(t, s, (f.col("t.id") == f.col("s.id")) | f.lit(False)) == []
    assert keys_of(t, s, f.col("t.id") + 0 == f.col("s.id")) == []
    assert keys_of(t, s, "t.id = t.x AND s.id = s.x AND t.id = 3") == []
    assert keys_of(table, narrow, "id = key") == []
    assert keys_of(t, narrow, "t.id = y") == []
    assert keys_of(table, narrow, "id = t.id AND x = y") == ["id", "x"]


@pytest.mark.parametrize("way", ["text", "columns"])
def test_a_merge_reads_only_files_that_the_source_can_meet(
    table: DeltaTable, source: Any, path: Path, way: str
) -> None:
    """The other file is gone: whoever reads it fails."""
    near = set(path.glob("*.parquet"))
    lakebed.write(path, pa.table({"id": [1000], "x": [0]}))
    (far,) = set(path.glob("*.parquet")) - near
    far.unlink()
    df = table.toDF()
    condition = "t.id = s.id" if way == "text" else df.id == source.id
    given = table.alias("t").merge(source.alias("s") if way == "text" else source, condition)
    given = given.whenMatchedUpdate(set={"x": "-1"})
    done = given.whenNotMatchedInsert(values={"id": source.id}).execute()
    assert done.collect()[0].num_affected_rows == 2


def test_rows_that_others_add_elsewhere_do_not_make_a_merge_start_over(
    table: DeltaTable, source: Any, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = []
    original = merge._Merge.run

    def run(self: Any) -> Any:
        attempts.append(self)
        return original(self)

    commit = Transaction.commit

    def late(self: Transaction) -> Any:
        monkeypatch.setattr(Transaction, "commit", commit)
        lakebed.write(path, pa.table({"id": [500], "x": [0]}))
        return commit(self)

    monkeypatch.setattr(merge._Merge, "run", run)
    monkeypatch.setattr(Transaction, "commit", late)
    given = table.alias("t").merge(source.alias("s"), "t.id = s.id")
    given = given.whenMatchedUpdate(set={"x": "s.x"})
    given.whenNotMatchedInsert(values={"id": "s.id", "x": "s.x"}).execute()
    assert values_by_id(path) == {0: 0, 1: 11, 2: 20, 3: 30, 4: 40, 7: 77, 500: 0}
    assert len(attempts) == 1


# --- nothing to read -----------------------------------------------------------------------------


def test_changes_that_meet_no_file_are_made(table: DeltaTable, path: Path, remote: Any) -> None:
    far = remote.createDataFrame(pa.table({"id": [70, 71], "x": [1, 2]}))
    table.alias("t").merge(far.alias("s"), "t.id = s.id").whenNotMatchedInsert(
        values={"id": "s.id", "x": "s.x"}
    ).execute()
    assert values_by_id(path) == {0: 0, 1: 10, 2: 20, 3: 30, 4: 40, 70: 1, 71: 2}
    version = table.history(1).head()["version"]
    table.delete("id > 1000")
    table.update("id > 1000", {"x": "1"})
    assert table.history(1).head()["version"] == version


def test_a_history_without_a_row_has_its_columns(table: DeltaTable) -> None:
    assert table.history(0).collect() == []
    assert table.history(0).columns == table.history(1).columns


# --- what is stored ------------------------------------------------------------------------------


def test_values_follow_the_store_assignment_policy(remote: Any, tmp_path: Path) -> None:
    path = tmp_path / "bytes"
    lakebed.write(path, pa.table({"k": pa.array([1], pa.int32()), "b": pa.array([1], pa.int8())}))
    table = DeltaTable.forPath(remote, str(path))
    source = remote.sql("SELECT 1 k, 300 b")
    merge = table.alias("t").merge(source.alias("s"), "t.k = s.k").whenMatchedUpdateAll()
    changes = [lambda: table.update(set={"b": "k + 299"}), merge.execute]
    remote.conf.set("spark.sql.ansi.enabled", "false")
    try:
        for change in changes:
            with pytest.raises(PySparkException, match="CAST_OVERFLOW"):
                change()
        remote.conf.set("spark.sql.storeAssignmentPolicy", "STRICT")
        for change in changes:
            with pytest.raises(SchemaMismatchError, match="STRICT"):
                change()
        assert lakebed.open(path).version == 0
        remote.conf.set("spark.sql.storeAssignmentPolicy", "LEGACY")
        remote.conf.set("spark.sql.ansi.enabled", "true")
        for version, change in enumerate(changes, start=1):
            change()
            found = lakebed.open(path)
            assert (found.version, found.to_arrow()["b"].to_pylist()) == (version, [44])
    finally:
        remote.conf.unset("spark.sql.ansi.enabled")
        remote.conf.unset("spark.sql.storeAssignmentPolicy")


def test_no_field_is_dropped_and_no_partition_made_up(remote: Any, tmp_path: Path) -> None:
    path = tmp_path / "structs"
    row = {"k": 1, "p": "x", "v": {"a": 1}}
    lakebed.write(path, pa.Table.from_pylist([row]), partition_by="p")
    table = DeltaTable.forPath(remote, str(path))
    value = "named_struct('a', 1L, 'c', 2L)"
    wider = remote.sql(f"SELECT 2L k, 'x' p, {value} v")
    for change in (
        lambda: wider.write.format("delta").mode("append").save(str(path)),
        lambda: table.update(set={"v": value}),
        table.alias("t").merge(wider.alias("s"), "t.k = s.k").whenNotMatchedInsertAll().execute,
    ):
        with pytest.raises(SchemaMismatchError):
            change()
    without = remote.sql("SELECT 2L k, named_struct('a', 1L) v")
    for mode in ("append", "overwrite"):
        with pytest.raises(SchemaMismatchError, match="partition column 'p'"):
            without.write.format("delta").mode(mode).save(str(path))
    assert lakebed.open(path).version == 0
    wider.write.format("delta").mode("append").option("mergeSchema", "true").save(str(path))
    found = lakebed.open(path).to_arrow().sort_by("k")["v"].to_pylist()
    assert found == [{"a": 1, "c": None}, {"a": 1, "c": 2}]
