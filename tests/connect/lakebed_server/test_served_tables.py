"""`DeltaTable` of clients of `lakebed server`: every method, done by the server."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from inspect import isfunction
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable as Independent
from pyspark.sql.connect import functions as F
from pyspark.sql.connect.session import SparkSession
from pyspark.sql.types import DateType, IntegerType, LongType, StructField, StructType

import lakebed
from lakebed import DeltaTable
from lakebed.errors import (
    ConstraintViolationError,
    InvalidArgumentError,
    SchemaError,
    TableExistsError,
    TableNotFoundError,
)
from lakebed.spark.internals.connect.connect_plans import send
from lakebed.tables.served_table import ServedTable
from lakebed.tables.table_builder import IdentityGenerator


def _rows(path: str) -> list[tuple[Any, ...]]:
    found = Independent(path).to_pyarrow_table().to_pylist()
    return sorted(tuple(row.values()) for row in found)


@pytest.fixture
def table(spark: Any, path: str) -> DeltaTable:
    """(0, "a"), (1, "b"), (2, "c"); the first version is empty."""
    made = (
        DeltaTable.create(spark)
        .location(path)
        .addColumn("id", "bigint")
        .addColumn("name", "string")
        .property("delta.enableDeletionVectors", "false")
        .execute()
    )
    rows = spark.createDataFrame([(0, "a"), (1, "b"), (2, "c")], "id bigint, name string")
    rows.coalesce(1).write.format("delta").mode("append").save(path)
    return made


def test_every_public_method_is_one_of_the_server() -> None:
    kinds = (DeltaTable, *DeltaTable.__bases__)
    names = {n for k in kinds for n, m in vars(k).items() if isfunction(m) and n[0] != "_"}
    assert len(names) > 30
    assert names <= set(vars(ServedTable))


def test_tables_are_found_by_path_and_by_name(spark: Any, table: DeltaTable, path: str) -> None:
    assert isinstance(table, ServedTable)
    assert isinstance(DeltaTable.forPath(spark, path), ServedTable)
    assert DeltaTable.isDeltaTable(spark, path)
    assert not DeltaTable.isDeltaTable(spark, f"{path}-else")
    spark.sql(f"CREATE TABLE named USING delta LOCATION '{path}'")
    assert sorted(DeltaTable.forName(spark, "named").toDF().toArrow()["id"].to_pylist()) == [
        0,
        1,
        2,
    ]
    assert path in repr(table)
    assert "version 1" in repr(table.alias("x"))
    assert "AS x" in repr(table.alias("x"))
    spark.sql("DROP TABLE named")


def test_rows_are_deleted_and_updated(table: DeltaTable, path: str) -> None:
    assert table.delete("id = 0").collect()[0].num_affected_rows == 1
    counted = table.update(F.col("id") == 1, {"name": F.lit("x"), "id": "id + 10"})
    assert counted.collect()[0].num_affected_rows == 1
    assert _rows(path) == [(2, "c"), (11, "x")]
    table.update(set={"name": "'all'"})
    assert _rows(path) == [(2, "all"), (11, "all")]
    assert table.delete().collect()[0].num_affected_rows == 2
    assert _rows(path) == []


def test_columns_of_the_tables_dataframe_stand_for_it(table: DeltaTable, path: str) -> None:
    frame = table.toDF()
    table.delete(frame.id == 0)
    table.update((frame["id"] == 1) & frame.name.isNotNull(), {"name": F.upper(frame.name)})
    assert _rows(path) == [(1, "B"), (2, "c")]


def test_columns_of_another_dataframe_are_refused(spark: Any, table: DeltaTable) -> None:
    with pytest.raises(InvalidArgumentError, match="another DataFrame"):
        table.delete(spark.range(3).id == 0)


def test_merge_with_all_clauses(spark: Any, table: DeltaTable, path: str) -> None:
    source = spark.createDataFrame(
        [(0, "z", 1), (1, "y", 2), (7, "n", 3)], "id long, name string, more int"
    )
    counted = (
        table.alias("t")
        .merge(source.alias("s"), "t.id = s.id")
        .whenMatchedDelete("s.id = 0")
        .whenMatchedUpdate(set={"name": F.concat(F.col("t.name"), F.col("s.name"))})
        .whenNotMatchedInsertAll()
        .whenNotMatchedBySourceUpdate("t.id = 2", {"name": "'kept'"})
        .whenNotMatchedBySourceDelete("t.id > 100")
        .withSchemaEvolution()
        .execute()
        .collect()[0]
    )
    assert counted.asDict() == {
        "num_affected_rows": 4,
        "num_updated_rows": 2,
        "num_deleted_rows": 1,
        "num_inserted_rows": 1,
    }
    assert [row[:2] for row in _rows(path)] == [(1, "by"), (2, "kept"), (7, "n")]
    assert Independent(path).to_pyarrow_table()["more"].to_pylist().count(3) == 1


def test_merge_by_columns_of_both_dataframes(spark: Any, table: DeltaTable, path: str) -> None:
    target = table.toDF()
    source = spark.createDataFrame([(1, "y"), (8, "n")], "id long, name string")
    (
        table.merge(source, target.id == source.id)
        .whenMatchedUpdate(set={"name": F.concat(target.name, source.name)})
        .whenNotMatchedInsert(values={"id": source.id, "name": source["name"]})
        .execute()
    )
    assert _rows(path) == [(0, "a"), (1, "by"), (2, "c"), (8, "n")]


def test_merge_shows_itself_before_it_runs(spark: Any, table: DeltaTable, path: str) -> None:
    builder = table.alias("t").merge(spark.range(1).alias("s"), "t.id = s.id").whenMatchedDelete()
    assert "MERGE INTO" in repr(builder)
    assert "not run yet" in repr(builder)
    assert Independent(path).version() == 1


def test_history_and_detail(table: DeltaTable) -> None:
    found = table.history().collect()
    assert [row.operation for row in found] == ["WRITE", "CREATE TABLE"]
    assert found[0].timestamp is not None
    assert table.history(1).count() == 1
    assert [row[-1] for row in table.history(readable=True).collect()] == [True, True]
    detail = table.detail().collect()[0]
    assert (detail.format, detail.numFiles) == ("delta", 1)


def test_optimize(spark: Any, table: DeltaTable, path: str) -> None:
    for number in range(3):
        spark.range(number, number + 1).selectExpr("id", "'x' AS name").write.format("delta").mode(
            "append"
        ).save(path)
    metrics = table.optimize().executeCompaction().collect()[0].metrics
    assert (metrics.numFilesAdded, metrics.numFilesRemoved) == (1, 4)
    assert len(Independent(path).file_uris()) == 1
    assert table.optimize().executeZOrderBy("id").collect()[0].metrics.numFilesAdded == 1
    with pytest.raises(InvalidArgumentError):
        table.optimize().executeZOrderBy()


def test_optimize_of_partitions_and_purge(spark: Any, path: str) -> None:
    rows = spark.createDataFrame([(1, "a"), (2, "b")], "id long, p string").repartition(2)
    for _ in range(2):
        rows.write.format("delta").partitionBy("p").mode("append").save(path)
    table = DeltaTable.forPath(spark, path)
    metrics = table.optimize().where("p = 'a'").executeCompaction().collect()[0].metrics
    assert metrics.partitionsOptimized == 1
    table.delete("id = 2")
    table.optimize().executePurge()
    assert [row[0] for row in _rows(path)] == [1, 1]


def test_vacuum_pins_and_health(table: DeltaTable, path: str) -> None:
    table.delete("id = 0")
    table.pin("before", 1)
    assert table.pins() == {"before": 1}
    table.unpin("before")
    forecast = table.vacuumForecast(0)
    assert forecast.num_files == 1
    assert forecast.lost_versions.column(0).to_pylist() == [1]
    assert table.vacuum(0, dryRun=True, enforceRetention=False).count() == 1
    assert table.vacuum(0, enforceRetention=False).count() == 0
    assert len(list(Path(path).glob("*.parquet"))) == 1
    health = table.health()
    assert health.version >= 2
    assert health["small files"].message


def test_versions_come_back(table: DeltaTable, path: str) -> None:
    table.delete()
    assert table.restoreToVersion(1).collect()[0].num_restored_files == 1
    assert len(_rows(path)) == 3
    table.restoreToTimestamp(str(table.history().collect()[-1].timestamp))
    assert _rows(path) == []


def test_clones(table: DeltaTable, path: str) -> None:
    table.delete("id = 0")
    deep = table.clone(f"{path}-deep", properties={"delta.appendOnly": "true"})
    assert isinstance(deep, ServedTable)
    assert len(_rows(f"{path}-deep")) == 2
    table.cloneAtVersion(1, f"{path}-old")
    assert len(_rows(f"{path}-old")) == 3
    shallow = table.cloneAtTimestamp(
        str(table.history(1).collect()[0].timestamp), f"{path}-shallow", isShallow=True
    )
    assert shallow.toDF().count() == 2


def test_manifests_are_generated(table: DeltaTable, path: str) -> None:
    table.generate("symlink_format_manifest")
    assert (Path(path) / "_symlink_format_manifest" / "manifest").exists()


def test_parquet_files_are_converted(spark: Any, tmp_path: Path) -> None:
    folder = tmp_path / "parquet" / "day=2026-01-31"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"id": [1, 2]}), folder / "part.parquet")
    made = DeltaTable.convertToDelta(
        spark, f"parquet.`{folder.parent}`", StructType([StructField("day", DateType())])
    )
    assert isinstance(made, ServedTable)
    assert len(_rows(str(folder.parent))) == 2


def test_builders(spark: Any, path: str) -> None:
    generator = IdentityGenerator(start=5, step=5)
    builder = (
        DeltaTable.createIfNotExists(spark)
        .tableName("built")
        .location(path)
        .comment("made by a client")
        .addColumn("id", LongType(), generatedAlwaysAs=generator)
        .addColumn("twice", "bigint", generatedAlwaysAs="v * 2")
        .addColumns(StructType([StructField("v", LongType())]))
    )
    builder.execute()
    builder.execute()
    spark.sql("INSERT INTO built (v) VALUES (21)")
    assert spark.table("built").collect()[0].asDict() == {"id": 5, "twice": 42, "v": 21}
    DeltaTable.replace(spark).tableName("built").addColumn("p", "int").addColumn(
        "q", "int"
    ).partitionedBy("p").execute()
    assert Independent(path).metadata().partition_columns == ["p"]
    DeltaTable.createOrReplace(spark).tableName("built").addColumn("z", "int").execute()
    assert spark.table("built").columns == ["z"]
    with pytest.raises(TableExistsError):
        DeltaTable.create(spark).tableName("built").addColumn("z", "int").execute()
    spark.sql("DROP TABLE built")


def test_what_a_table_is_changes(table: DeltaTable) -> None:
    table.upgradeTableProtocol(1, 4)
    table.addFeatureSupport("deletionVectors")
    table.dropFeatureSupport("deletionVectors")
    table.setProperties({"delta.columnMapping.mode": "name", "own": "1"})
    table.unsetProperties("own")
    table.setComment("orders")
    table.addColumns({"more": IntegerType(), "text": "string"}, after="id")
    table.addColumns(pa.schema([("arrow", pa.int32())]), first=True)
    table.addColumns([StructField("spark", IntegerType())])
    table.renameColumn("more", "less")
    table.renameColumn(["text"], "words")
    table.dropColumns("arrow", "spark")
    table.alterColumn("less", comment="fewer")
    table.clusterBy(["id"])
    assert table.toDF().columns == ["id", "less", "words", "name"]
    table.addConstraint("positive", "id >= 0")
    with pytest.raises(ConstraintViolationError):
        table.update(set={"id": "-1"})
    table.dropConstraint("positive")
    table.update(set={"id": "-1"})
    detail = table.detail().collect()[0]
    assert (detail.description, detail.clusteringColumns) == ("orders", ["id"])


def test_files_are_copied_into_it_and_entries_repaired(
    table: DeltaTable, path: str, tmp_path: Path
) -> None:
    source = tmp_path / "in"
    source.mkdir()
    pq.write_table(pa.table({"id": [9], "name": ["new"]}), source / "a.parquet")
    assert table.copyInto(str(source), "parquet").collect()[0].num_inserted_rows == 1
    assert table.copyInto(str(source), "parquet").collect()[0].num_inserted_rows == 0
    gone = next(Path(path).glob("*.parquet"))
    gone.unlink()
    assert table.repair(dryRun=True).count() == 1
    assert table.repair().count() == 1
    assert len(Independent(path).file_uris()) == 1


def test_errors_are_those_of_a_classic_session(spark: Any, table: DeltaTable, path: str) -> None:
    with pytest.raises(TableNotFoundError) as found:
        DeltaTable.forPath(spark, f"{path}-else")
    assert found.value.code
    assert found.value.hint
    with pytest.raises(SchemaError):
        table.update(set={"nothing": "1"})
    with pytest.raises(InvalidArgumentError, match="condition of merge cannot be None"):
        table.merge(spark.range(1), None)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="cannot be sent"):
        table.setProperties({"a": object()})  # type: ignore[dict-item]


def test_a_call_that_is_sent_twice_is_done_once(spark: Any, table: DeltaTable, path: str) -> None:
    call = {
        "id": "sent-twice",
        "table": {"path": path, "options": {}, "alias": None},
        "steps": [["update", [None, {"map": [["id", "id + 1"]]}], {"map": []}]],
        "binds_target": False,
        "binds_source": False,
    }
    text = orjson.dumps(call).decode()
    first, _ = send(spark, text, [], None)
    second, _ = send(spark, text, [], None)
    assert first.to_pylist() == second.to_pylist() == [{"num_affected_rows": 3}]
    assert [row[0] for row in _rows(path)] == [1, 2, 3]
    assert table.history(1).collect()[0].version == 2


@pytest.mark.parametrize("name", ["_alter", "__class__", "nothing"])
def test_only_public_methods_can_be_called(table: DeltaTable, name: str) -> None:
    assert isinstance(table, ServedTable)
    with pytest.raises(InvalidArgumentError, match="no method"):
        table._result((name, (), {}))


def test_eight_clients_merge_at_once(server: str, table: DeltaTable, path: str) -> None:
    def merge(number: int) -> None:
        client = lakebed.enable(SparkSession.builder.remote(server).create())
        source = client.createDataFrame([(100 + number, "new")], "id long, name string")
        target = DeltaTable.forPath(client, path).alias("t")
        builder = target.merge(source.alias("s"), "t.id = s.id")
        builder.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
        client.client.close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(merge, range(8)))
    assert [row[0] for row in _rows(path)] == [0, 1, 2, *range(100, 108)]
    assert table.toDF().count() == 11
