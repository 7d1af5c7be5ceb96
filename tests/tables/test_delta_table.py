"""`lakebed.DeltaTable`: delta-spark's names and arguments, what they lead to, what comes back."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.functions import col, lit
from pyspark.sql.types import _parse_datatype_string

import lakebed
from lakebed import DeltaTable
from lakebed.commands.merge.merge_request import Clause, MergeRequest
from lakebed.errors import InvalidArgumentError, TableNotFoundError
from lakebed.spark.session.session_kind import is_enabled
from lakebed.tables import delta_table, merge_builder
from lakebed.tables.merge_builder import DeltaMergeBuilder
from testkit.readers.other_readers import values_by_id
from testkit.tables.spark_tables import job_count, settings

# As delta-spark's documentation gives them.
SIGNATURES = {
    DeltaTable: {
        "forPath": ["sparkSession", "path", "hadoopConf"],
        "forName": ["sparkSession", "tableOrViewName"],
        "isDeltaTable": ["sparkSession", "identifier"],
        "toDF": [],
        "alias": ["aliasName"],
        "delete": ["condition"],
        "update": ["condition", "set"],
        "merge": ["source", "condition"],
        "pin": ["name", "version"],
        "unpin": ["name"],
        "pins": [],
        "optimize": [],
        "history": ["limit", "readable"],
    },
    DeltaMergeBuilder: {
        "whenMatchedUpdate": ["condition", "set"],
        "whenMatchedUpdateAll": ["condition"],
        "whenMatchedDelete": ["condition"],
        "whenNotMatchedInsert": ["condition", "values"],
        "whenNotMatchedInsertAll": ["condition"],
        "whenNotMatchedBySourceUpdate": ["condition", "set"],
        "whenNotMatchedBySourceDelete": ["condition"],
        "withSchemaEvolution": [],
        "execute": [],
    },
}
HISTORY = (
    "version bigint, timestamp timestamp, userId string, userName string, operation string, "
    "operationParameters map<string,string>, "
    "job struct<jobId:string,jobName:string,jobRunId:string,runId:string,jobOwnerId:string,"
    "triggerType:string>, notebook struct<notebookId:string>, clusterId string, "
    "readVersion bigint, isolationLevel string, isBlindAppend boolean, "
    "operationMetrics map<string,string>, userMetadata string, engineInfo string"
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """ids 0 to 4, with x ten times as much, in two files."""
    folder = tmp_path / "table"
    lakebed.write(folder, pa.table({"id": [0, 1, 2], "x": [0, 10, 20]}))
    lakebed.write(folder, pa.table({"id": [3, 4], "x": [30, 40]}))
    return folder


@pytest.fixture
def table(spark: SparkSession, path: Path) -> DeltaTable:
    return DeltaTable.forPath(spark, str(path))


@pytest.fixture
def source(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(pa.table({"id": [1, 7], "x": [11, 77]}))


@dataclass
class Told:
    """Stands for the commands: keeps what it is told, and answers with some metrics."""

    metrics: dict[str, int] = field(default_factory=dict)
    calls: list[Any] = field(default_factory=list)

    def __call__(self, *arguments: Any) -> dict[str, int]:
        self.calls.append(arguments)
        return self.metrics


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    fake = Told()
    monkeypatch.setattr(delta_table, "delete_rows", fake)
    monkeypatch.setattr(delta_table, "update_rows", fake)
    monkeypatch.setattr(merge_builder, "merge_rows", fake)
    return fake


def counted(frame: DataFrame, spark: SparkSession) -> dict[str, int]:
    """The one row of counts; it takes no job."""
    with job_count(spark, "counts") as jobs:
        (row,) = frame.collect()
    assert jobs == []
    assert {each.dataType.simpleString() for each in frame.schema} == {"bigint"}
    return dict(row.asDict())


# --- names -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("owner", "name"), [(owner, name) for owner, names in SIGNATURES.items() for name in names]
)
def test_methods_have_the_arguments_of_delta_spark(owner: type, name: str) -> None:
    parameters = inspect.signature(getattr(owner, name)).parameters
    assert [each for each in parameters if each != "self"] == SIGNATURES[owner][name]
    assert getattr(owner, name).__doc__


def test_vacuum_has_the_arguments_of_delta_spark_and_more() -> None:
    parameters = list(inspect.signature(DeltaTable.vacuum).parameters)
    assert parameters[1:] == [
        "retentionHours",
        "dryRun",
        "mode",
        "inventory",
        "enforceRetention",
        "streams",
    ]
    forecast = list(inspect.signature(DeltaTable.vacuumForecast).parameters)
    assert forecast[1:] == ["retentionHours", "mode", "inventory", "streams"]


@pytest.mark.parametrize("owner", SIGNATURES)
def test_there_are_no_public_methods_but_those(owner: type) -> None:
    assert {name for name in vars(owner) if not name.startswith("_")} == set(SIGNATURES[owner])


# --- opening and reading -----------------------------------------------------------------------


def test_a_folder_without_a_table_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    assert DeltaTable.isDeltaTable(spark, str(tmp_path)) is False
    with pytest.raises(TableNotFoundError):
        DeltaTable.forPath(spark, str(tmp_path))


def test_a_folder_with_a_table_is_one(spark: SparkSession, path: Path) -> None:
    assert DeltaTable.isDeltaTable(spark, str(path)) is True


def test_rows_are_those_of_the_newest_version_at_each_call(table: DeltaTable, path: Path) -> None:
    before = table.toDF()
    assert before.count() == 5
    lakebed.write(path, pa.table({"id": [5], "x": [50]}))
    assert table.toDF().count() == 6
    assert before.count() == 6


def test_an_alias_names_the_table_in_expressions(table: DeltaTable) -> None:
    aliased = table.alias("t")
    assert aliased.toDF().where("t.id = 3").select("t.x").collect() == [Row(x=30)]
    assert aliased.alias("u").toDF().where(col("u.id") == 4).count() == 1
    with pytest.raises(InvalidArgumentError, match="name for a table"):
        table.alias("")


def test_a_session_without_lakebed_can_use_the_class(spark: SparkSession, path: Path) -> None:
    plain = spark.newSession()
    assert not is_enabled(plain)
    assert DeltaTable.forPath(plain, str(path)).toDF().count() == 5


def test_the_setting_for_the_plane_counts_when_a_method_is_called(
    spark: SparkSession, table: DeltaTable, told: Told
) -> None:
    table.delete()
    with settings(spark, {"spark.lakebed.dataPlane": "workers"}):
        table.delete()
    planes = [type(target.plane).__name__ for target, *_ in told.calls]
    assert planes == ["NativePlane", "WorkersPlane"]


def test_a_table_shows_its_path_and_version(table: DeltaTable, path: Path) -> None:
    assert repr(table) == f"Delta table {path.as_uri()}, version 1"
    assert repr(table.alias("t")) == f"Delta table {path.as_uri()} AS t, version 1"
    assert path.as_uri() in table._repr_html_()
    assert "version 1" in table._repr_html_()


def test_a_table_that_is_gone_can_still_be_shown(table: DeltaTable, path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    assert "cannot be read" in repr(table)


# --- history -----------------------------------------------------------------------------------


def test_history_has_the_columns_of_delta_spark_newest_first(
    spark: SparkSession, table: DeltaTable
) -> None:
    with job_count(spark, "history") as jobs:
        frame = table.history()
        rows = frame.collect()
    assert jobs == []
    assert frame.schema == _parse_datatype_string(HISTORY)
    assert [row.version for row in rows] == [1, 0]
    assert [row.version for row in table.history(1).collect()] == [1]
    assert {row.operation for row in rows} == {"WRITE"}
    assert rows[0].operationParameters["mode"] == "Append"
    assert rows[0].operationMetrics["numOutputRows"] == "2"


def test_history_says_when_a_version_was_made_in_any_zone(
    spark: SparkSession, table: DeltaTable, path: Path
) -> None:
    for version, second in enumerate([1_700_000_000, 1_700_086_400]):
        os.utime(path / "_delta_log" / f"{version:020}.json", (second, second))
    with settings(spark, {"spark.sql.session.timeZone": "Asia/Tokyo"}):
        rows = table.history().selectExpr("unix_seconds(timestamp) AS at").collect()
    assert [row.at for row in rows] == [1_700_086_400, 1_700_000_000]


def test_history_shows_the_job_and_notebook_of_other_engines(
    spark: SparkSession, path: Path
) -> None:
    info = {
        "operation": "OPTIMIZE",
        "job": {"jobId": "7", "jobName": "nightly", "else": "?"},
        "notebook": {"notebookId": "12"},
    }
    commit = path / "_delta_log" / f"{2:020}.json"
    commit.write_text(json.dumps({"commitInfo": info}))
    frame = DeltaTable.forPath(spark, str(path)).history()
    rows = frame.select("job.jobName", "job.runId", "notebook.notebookId", "job").collect()
    assert rows[0][:3] == ("nightly", None, "12")
    assert rows[1].job is None


@pytest.mark.parametrize("limit", [-1, "1", True, 1.5])
def test_a_limit_that_is_no_number_is_refused(table: DeltaTable, limit: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="number of commits"):
        table.history(limit)


# --- arguments ---------------------------------------------------------------------------------

WRONG: dict[str, Callable[[DeltaTable, DataFrame], Any]] = {
    "condition of delete": lambda t, _: t.delete(3),
    "condition of update": lambda t, _: t.update(True, {"x": "1"}),
    "set of update cannot be None": lambda t, _: t.update({"x": "1"}),
    "set of update must be a dict, not list": lambda t, _: t.update(set=[("x", "1")]),
    "Keys of dict in set of update": lambda t, _: t.update(set={1: "1"}),
    "that of 'x' is of type int": lambda t, _: t.update(set={"x": 1}),
    "that of 'x' is of type None": lambda t, _: t.update(set={"x": None}),
    "source of merge must be DataFrame, not None": lambda t, _: t.merge(None, "true"),
    "source of merge must be DataFrame, not str": lambda t, _: t.merge("s", "true"),
    "condition of merge cannot be None": lambda t, s: t.merge(s, None),
    "condition of merge": lambda t, s: t.merge(s, 1),
    "condition of whenMatchedDelete": lambda t, s: t.merge(s, "true").whenMatchedDelete(1),
    "set of whenMatchedUpdate cannot be None": lambda t, s: t.merge(s, "true").whenMatchedUpdate(
        "true"
    ),
    "values of whenNotMatchedInsert cannot be None": lambda t, s: t.merge(
        s, "true"
    ).whenNotMatchedInsert("true"),
    "of whenNotMatchedBySourceUpdate must be a dict, not str": lambda t, s: t.merge(
        s, "true"
    ).whenNotMatchedBySourceUpdate(set="x = 1"),
    "without a WHEN": lambda t, s: t.merge(s, "true").execute(),
    "only the last one may omit": lambda t, s: (
        t.merge(s, "true").whenMatchedDelete().whenMatchedUpdateAll().execute()
    ),
}


@pytest.mark.parametrize("message", WRONG)
def test_arguments_of_wrong_types_are_refused_with_advice(
    table: DeltaTable, source: DataFrame, path: Path, message: str
) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        WRONG[message](table, source)
    assert message in caught.value.message
    assert caught.value.hint
    assert lakebed.open(path).version == 1


@pytest.mark.parametrize("path_given", [None, 3, ""])
def test_what_is_no_path_is_refused(spark: SparkSession, path_given: Any) -> None:
    for call in (DeltaTable.forPath, DeltaTable.isDeltaTable):
        with pytest.raises(InvalidArgumentError, match="path of a table"):
            call(spark, path_given)


def test_the_session_comes_first(path: Path) -> None:
    swapped: Any = str(path)
    with pytest.raises(InvalidArgumentError, match="str is not a Spark session"):
        DeltaTable.forPath(swapped, swapped)


def test_settings_of_the_store_are_taken_and_others_refused(
    spark: SparkSession, path: Path
) -> None:
    taken = {"fs.s3a.access.key": "a", "aws_region": "eu-west-1"}
    assert DeltaTable.forPath(spark, str(path), taken).toDF().count() == 5
    wrong: list[Any] = [{"where": "id = 1"}, {"fs.s3a.access.key": 3}, ["fs.x"]]
    for each in wrong:
        with pytest.raises(InvalidArgumentError) as caught:
            DeltaTable.forPath(spark, str(path), hadoopConf=each)
        assert "id = 1" not in str(caught.value)


# --- what commands are told, and what they tell -------------------------------------------------


def test_commands_get_the_alias_and_what_the_user_wrote(table: DeltaTable, told: Told) -> None:
    condition = col("t.id") == 1
    table.alias("t").delete(condition)
    table.update(set={"a.b": "1", "`x`": condition})
    (target, deleted, _), (plain, none, values) = told.calls
    assert target.alias == "t"
    assert deleted is condition
    assert (plain.alias, none, list(values)) == (None, None, ["a.b", "`x`"])
    assert values["`x`"] is condition


def test_merge_gets_its_clauses_in_order(table: DeltaTable, source: DataFrame, told: Told) -> None:
    (
        table.alias("t")
        .merge(source, "t.id = 1")
        .whenNotMatchedBySourceUpdate(set={"x": "1"})
        .whenMatchedDelete("x > 1")
        .whenNotMatchedInsert("x > 2", {"id": "id"})
        .whenMatchedUpdate("x > 3", {"x": "2"})
        .whenNotMatchedInsertAll()
        .whenMatchedUpdateAll()
        .withSchemaEvolution()
        .execute()
    )
    ((target, request),) = told.calls
    assert request == MergeRequest(
        source,
        "t.id = 1",
        (
            Clause("not_matched_by_source", "update", None, {"x": "1"}),
            Clause("matched", "delete", "x > 1"),
            Clause("not_matched", "insert", "x > 2", {"id": "id"}),
            Clause("matched", "update", "x > 3", {"x": "2"}),
            Clause("not_matched", "insert_all"),
            Clause("matched", "update_all"),
        ),
        target_alias="t",
        schema_evolution=True,
    )
    assert target.alias == "t"


def test_a_builder_is_not_changed_by_what_follows_it(
    table: DeltaTable, source: DataFrame, told: Told
) -> None:
    start = table.merge(source, "true")
    start.whenMatchedDelete()
    start.withSchemaEvolution()
    start.whenNotMatchedInsertAll().execute()
    ((_, request),) = told.calls
    assert request.clauses == (Clause("not_matched", "insert_all"),)
    assert request.schema_evolution is False


def test_values_are_those_of_the_moment_they_were_given(
    table: DeltaTable, source: DataFrame, told: Told
) -> None:
    values: dict[str, Any] = {"x": "-5"}
    builder = table.merge(source, "true").whenMatchedUpdate(set=values)
    values["x"] = "-6"
    builder.execute()
    ((_, request),) = told.calls
    assert request.clauses[0].values == {"x": "-5"}


def test_an_update_of_nothing_is_no_clause_unless_it_guards_rows(
    table: DeltaTable, source: DataFrame, told: Told
) -> None:
    merge = table.merge(source, "true")
    with pytest.raises(InvalidArgumentError, match="without a WHEN"):
        merge.whenMatchedUpdate(set={}).whenNotMatchedBySourceUpdate(set={}).execute()
    merge.whenMatchedUpdate("id = 1", {}).whenMatchedDelete().execute()
    ((_, request),) = told.calls
    assert request.clauses == (
        Clause("matched", "update", "id = 1"),
        Clause("matched", "delete"),
    )


def test_a_count_of_deleted_rows_that_is_not_known_is_minus_one(
    spark: SparkSession, table: DeltaTable, told: Told
) -> None:
    assert counted(table.delete(), spark) == {"num_affected_rows": -1}
    told.metrics = {"numDeletedRows": 0}
    assert counted(table.delete("false"), spark) == {"num_affected_rows": 0}


def test_counts_of_a_merge_come_from_its_metrics(
    spark: SparkSession, table: DeltaTable, source: DataFrame, told: Told
) -> None:
    told.metrics = {
        "numTargetRowsUpdated": 2**40,
        "numTargetRowsDeleted": 3,
        "numTargetRowsInserted": 5,
        "numTargetRowsCopied": 100,
    }
    frame = table.merge(source, "true").whenMatchedDelete().execute()
    assert frame.columns == [
        "num_affected_rows",
        "num_updated_rows",
        "num_deleted_rows",
        "num_inserted_rows",
    ]
    assert list(counted(frame, spark).values()) == [2**40 + 8, 2**40, 3, 5]


# --- changes -----------------------------------------------------------------------------------


def test_delete_by_sql_by_column_and_of_all(
    spark: SparkSession, table: DeltaTable, path: Path
) -> None:
    assert counted(table.delete("id = 1"), spark) == {"num_affected_rows": 1}
    assert counted(table.alias("t").delete(col("t.x") > 20), spark) == {"num_affected_rows": 2}
    assert values_by_id(path) == {0: 0, 2: 20}
    assert counted(table.delete(), spark) == {"num_affected_rows": 2}
    assert values_by_id(path) == {}


def test_update_by_sql_and_columns(spark: SparkSession, table: DeltaTable, path: Path) -> None:
    assert counted(table.update("id < 2", {"x": "x + 1"}), spark) == {"num_affected_rows": 2}
    table.alias("t").update(col("t.id") == 2, {"t.x": lit(-1)})
    assert values_by_id(path) == {0: 1, 1: 11, 2: -1, 3: 30, 4: 40}
    assert counted(table.update(set={"`x`": "id"}), spark) == {"num_affected_rows": 5}
    assert values_by_id(path) == {0: 0, 1: 1, 2: 2, 3: 3, 4: 4}


def test_merge_with_clauses_of_all_kinds(
    spark: SparkSession, table: DeltaTable, source: DataFrame, path: Path
) -> None:
    builder = (
        table.alias("t")
        .merge(source.alias("s"), "t.id = s.id")
        .whenMatchedUpdate(set={"x": "t.x + s.x"})
        .whenNotMatchedInsert(values={"id": col("s.id"), "x": lit(0)})
        .whenNotMatchedBySourceUpdate("t.id = 0", {"x": "-1"})
        .whenNotMatchedBySourceDelete(condition=col("t.id") > 2)
    )
    assert lakebed.open(path).version == 1
    assert counted(builder.execute(), spark) == {
        "num_affected_rows": 5,
        "num_updated_rows": 2,
        "num_deleted_rows": 2,
        "num_inserted_rows": 1,
    }
    assert values_by_id(path) == {0: -1, 1: 21, 2: 20, 7: 0}
    assert table.history(1).collect()[0].operation == "MERGE"


def test_merge_of_whole_rows(
    spark: SparkSession, table: DeltaTable, source: DataFrame, path: Path
) -> None:
    merge = table.alias("t").merge(source.alias("s"), col("t.id") == col("s.id"))
    done = merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert counted(done, spark)["num_affected_rows"] == 2
    assert values_by_id(path) == {0: 0, 1: 11, 2: 20, 3: 30, 4: 40, 7: 77}


def test_schema_evolution_adds_the_columns_of_the_source(
    spark: SparkSession, table: DeltaTable, path: Path
) -> None:
    wider = spark.createDataFrame(pa.table({"id": [9], "x": [90], "y": ["new"]}))
    merge = table.alias("t").merge(wider.alias("s"), "t.id = s.id").whenNotMatchedInsertAll()
    merge.withSchemaEvolution().execute()
    assert lakebed.open(path).schema.names == ("id", "x", "y")
    assert values_by_id(path)[9] == 90


def test_a_merge_that_was_not_run_says_so(table: DeltaTable, source: DataFrame, path: Path) -> None:
    merge = table.alias("t").merge(source.alias("s"), "t.id = s.id").whenMatchedDelete("s.x > 1")
    assert repr(merge).splitlines() == [
        f"MERGE INTO {path.as_uri()} AS t ON t.id = s.id",
        "  WHEN MATCHED AND s.x > 1 THEN DELETE",
        "not run yet: call execute()",
    ]
