"""Every internal of Spark that `lakebed.spark.internals.jvm` touches, one test each.

Spark promises none of this. Where a test fails on a new version of Spark, its docstring says what
Lakebed cannot do there until `jvm` has learnt the new way.
"""

from __future__ import annotations

import json
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import utils
from pyspark.errors.exceptions import captured
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import lakebed
from lakebed.spark.internals import classic_columns as calls
from lakebed.spark.internals import jvm as internals
from lakebed.spark.internals.call_sites import without_call_sites
from lakebed.spark.internals.classic_columns import BYTE_ARRAY_OFFSET
from lakebed.spark.internals.java_indexes import DeltaFiles, encode_groups
from lakebed.spark.internals.jvm import FILE_INDEX, ROW_INDEX, Jvm
from lakebed.spark.internals.plans import equal_keys, is_deterministic, is_stable
from lakebed.spark.internals.startup.rules import DELTA_FILES, compiled
from testkit.gauges import gateway_commands
from testkit.readers.scan_facts import load
from testkit.schemas import column
from testkit.tables.arbitrary_tables import add_file, make_table

LONG_COLUMN = (
    '{"type":"struct","fields":[{"name":"a","type":"long","nullable":true,"metadata":{}}]}'
)


@pytest.fixture
def jvm(spark: SparkSession) -> Jvm:
    return Jvm.of(spark)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    table = tmp_path_factory.mktemp("internals") / "table"
    lakebed.write(table, pa.table({"p": [1, 2], "n": [3, 4], "t": ["x", "y"]}), partition_by="p")
    return table


def static(jvm: Jvm, name: str) -> Any:
    return jvm._class(name)


# --- sessions ------------------------------------------------------------------------------------


def test_callback_server_is_started(jvm: Jvm) -> None:
    """Breaks: all reads; the file index could not ask Python for files."""
    jvm.start_callbacks()
    assert jvm._gateway._callback_server is not None
    assert jvm._gateway.python_parameters.propagate_java_exceptions
    assert jvm._gateway.gateway_parameters.propagate_java_exceptions


def test_default_data_source_is_known(jvm: Jvm, spark: SparkSession) -> None:
    """Breaks: `spark.read.load(path)` with spark.sql.sources.default=delta."""
    assert jvm.default_source() == spark.conf.get("spark.sql.sources.default")


def test_sessions_with_a_jvm_are_told_from_those_without(spark: SparkSession) -> None:
    """Breaks: the choice of the data plane."""
    assert internals.is_classic(spark)
    assert not internals.is_classic(object())


# --- types and relations -------------------------------------------------------------------------


def test_types_are_made_from_the_json_of_the_log(jvm: Jvm) -> None:
    """Breaks: all reads; schemas go to Spark as the log has them."""
    made = jvm.data_type('{"type":"struct","fields":[]}')
    assert made.json() == '{"type":"struct","fields":[]}'
    assert jvm.data_type('"variant"').typeName() == "variant"


def test_sequences_arrays_and_none_cross_over(jvm: Jvm) -> None:
    """Breaks: all reads; arguments of Scala's types could not be made."""
    assert jvm.seq(["a", "b"]).length() == 2
    assert list(jvm.strings(["a", "", "ü"])) == ["a", "", "ü"]
    assert list(jvm.strings([])) == []
    assert jvm.none().isEmpty()
    assert str(jvm.path("file:///a b%20").toString()) == "file:/a b%20"


def test_a_file_index_has_the_methods_that_spark_calls(jvm: Jvm) -> None:
    """Breaks: all reads; a method that Lakebed's index lacks fails in the middle of planning."""
    methods = jvm._named(FILE_INDEX).getMethods()
    abstract = {
        str(each.getName())
        for each in methods
        if not each.isDefault() and "$" not in each.getName()
    }
    assert {"listFiles", "rootPaths", "sizeInBytes", "partitionSchema"} <= abstract
    made = compiled(jvm.session, DELTA_FILES).getClass().getDeclaredMethods()
    assert abstract - {str(each.getName()) for each in made} == set()


def test_a_relation_reads_the_files_of_a_python_index(spark: SparkSession, path: Path) -> None:
    """Breaks: all reads; HadoopFsRelation or baseRelationToDataFrame takes other arguments."""
    frame = load(spark, path)
    relation = frame._jdf.queryExecution().analyzed().relation()
    assert relation.getClass().getSimpleName() == "HadoopFsRelation"
    assert relation.fileFormat().getClass().getSimpleName() == "ParquetFileFormat"
    assert relation.location().toString().startswith("Delta[")
    assert frame.count() == 2


def test_equal_versions_are_equal_relations(spark: SparkSession, path: Path) -> None:
    """Breaks: reuse of cached data and of exchanges, through equals and hashCode of the index."""
    one, other = (
        load(spark, path)._jdf.queryExecution().analyzed().relation().location() for _ in "ab"
    )
    assert one.equals(other)
    assert one.hashCode() == other.hashCode()
    assert not one.equals(jvm_string(spark, "other"))


def jvm_string(spark: SparkSession, text: str) -> Any:
    return spark.sparkContext._jvm.java.lang.StringBuilder(text)


def test_row_indexes_have_their_internal_name(spark: SparkSession, tmp_path: Path) -> None:
    """Breaks: deletion vectors; the Parquet reader would not fill this column with row indexes."""
    spark.range(5).coalesce(1).write.parquet(str(tmp_path / "x"))
    frame = spark.read.schema(f"id LONG, {ROW_INDEX} LONG").parquet(str(tmp_path / "x"))
    assert [row[1] for row in frame.where("id > 2").collect()] == [3, 4]


def test_spark_says_which_columns_it_reads_in_batches(jvm: Jvm, spark: SparkSession) -> None:
    """Breaks: the speed or the memory of tables with deletion vectors; see `NumberColumn`."""
    assert jvm.reads_batches(LONG_COLUMN)
    spark.conf.set("spark.sql.parquet.enableVectorizedReader", "false")
    try:
        assert not jvm.reads_batches(LONG_COLUMN)
    finally:
        spark.conf.unset("spark.sql.parquet.enableVectorizedReader")


def test_field_ids_decide_if_an_option_of_the_relation_says_so(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Breaks: column mapping by id; `spark.sql.parquet.fieldId.read.enabled` as an option."""
    properties = {"delta.columnMapping.mode": "id"}
    make_table(tmp_path, column("a"), properties=properties)
    schema = pa.schema([pa.field("stored", pa.int64(), metadata={"PARQUET:field_id": "1"})])
    add_file(tmp_path, pa.table([[5]], schema=schema))
    assert load(spark, tmp_path).collect()[0].a == 5


# --- listings ------------------------------------------------------------------------------------


def test_rows_are_made_from_arrow(jvm: Jvm) -> None:
    """Breaks: partition values; ArrowConverters.fromBatchIterator takes other arguments."""
    rows = jvm.rows(pa.table({"a": [1, None, 3]}), LONG_COLUMN)
    assert len(rows) == 3
    assert rows[0].getLong(0) == 1
    assert rows[1].isNullAt(0)
    assert len(jvm.empty_rows()) == 1
    assert jvm.empty_rows()[0].numFields() == 0


def test_file_statuses_are_read_from_bytes(jvm: Jvm) -> None:
    """Breaks: all reads; Hadoop would write FileStatus in other bytes."""
    names = ["file:///t/a b%20ü", "s3a://b/c", "file:///d"]
    encoded = encode_groups([2, 1], names, [5, 2**40, 0], [1_700_000_000_000, 0, 1])
    groups = DeltaFiles(jvm).statuses(encoded)
    assert [len(group) for group in groups] == [2, 1]
    first, second = groups[0]
    assert str(first.getPath().toString()) == "file:/t/a b%20ü"
    assert (first.getLen(), first.getModificationTime()) == (5, 1_700_000_000_000)
    assert first.isFile()
    assert second.getLen() == 2**40


def test_rows_and_statuses_are_paired_in_the_jvm(jvm: Jvm) -> None:
    """Breaks: all reads of partitioned tables; PartitionDirectory.apply takes other arguments."""
    rows = jvm.rows(pa.table({"a": [1, 2]}), LONG_COLUMN)
    encoded = encode_groups([1, 2], ["f:///a", "f:///b", "f:///c"], [1] * 3, [1] * 3)
    paired = DeltaFiles(jvm).directories(rows, encoded)
    assert paired.length() == 2
    assert paired.apply(1).values().getLong(0) == 2
    assert paired.apply(1).files().length() == 2


# --- expressions ---------------------------------------------------------------------------------


def nodes(jvm: Jvm, spark: SparkSession, path: Path, where: str) -> list[dict[str, Any]]:
    """The JSON of the last filter that a scan gets."""
    (scan,) = jvm.scans(load(spark, path).where(where))
    filters = [*scan.partition_filters, *scan.data_filters]
    return list(json.loads(jvm.to_json(filters[-1])))


def test_filters_are_trees_in_json(jvm: Jvm, spark: SparkSession, path: Path) -> None:
    """Breaks: file skipping; all filters would be opaque."""
    root, column, literal = nodes(jvm, spark, path, "n > 7")
    assert root["class"].endswith(".GreaterThan")
    assert root["num-children"] == 2
    assert column["class"].endswith(".AttributeReference")
    assert (column["name"], column["dataType"], column["metadata"]) == ("n", "long", {})
    assert (literal["value"], literal["dataType"]) == ("7", "long")


def test_prefixes_are_trees_in_json(jvm: Jvm, spark: SparkSession, path: Path) -> None:
    """Breaks: file skipping by LIKE 'x%'."""
    root = nodes(jvm, spark, path, "t LIKE 'x%'")[0]
    assert root["class"].endswith(".StartsWith")
    (scan,) = jvm.scans(load(spark, path).where("t LIKE 'x!_' ESCAPE '!'"))
    like = scan.data_filters[-1]
    if like.getClass().getSimpleName() == "Like":
        assert jvm.escape_character(like) == "!"
    (scan,) = jvm.scans(load(spark, path).where("t LIKE '_x_'"))
    assert jvm.escape_character(scan.data_filters[-1]) == "\\"


def test_fields_of_structs_have_their_place_in_json(
    jvm: Jvm, spark: SparkSession, tmp_path: Path
) -> None:
    """Breaks: file skipping on nested fields."""
    lakebed.write(tmp_path / "t", pa.table({"s": [{"x": 1, "y": 2}]}))
    tree = nodes(jvm, spark, tmp_path / "t", "s.y = 2 AND s.x IS NOT NULL")
    (field,) = [each for each in tree if each["class"].endswith(".GetStructField")][:1]
    assert field["ordinal"] in (0, 1)


def test_casts_of_times_name_their_zone_in_json(
    jvm: Jvm, spark: SparkSession, tmp_path: Path
) -> None:
    """Breaks: soundness of skipping by casts of timestamps in other zones than UTC."""
    table = pa.table({"ts": pa.array([0], pa.timestamp("us", "UTC"))})
    lakebed.write(tmp_path / "t", table)
    tree = nodes(jvm, spark, tmp_path / "t", "year(ts) % 2 = 1")
    (cast,) = [each for each in tree if each["class"].endswith(".Cast")]
    assert cast["timeZoneId"] == "UTC"


def test_values_that_json_lacks_are_read_from_the_nodes(
    jvm: Jvm, spark: SparkSession, path: Path
) -> None:
    """Breaks: file skipping by long IN lists, and by binary and timestamp literals."""
    (scan,) = jvm.scans(load(spark, path).where(f"n IN ({', '.join(map(str, range(20)))})"))
    node = scan.data_filters[-1]
    assert node.getClass().getSimpleName() == "InSet"
    assert sorted(map(int, jvm.set_values(node))) == list(range(20))
    (scan,) = jvm.scans(load(spark, path).where("CAST(t AS BINARY) = X'01FF'"))
    literal = jvm.descend(scan.data_filters[-1], [1])
    assert jvm.literal_value(literal) == b"\x01\xff"


def test_catalyst_evaluates_conditions_on_rows(jvm: Jvm, spark: SparkSession, path: Path) -> None:
    """Breaks: filters on partition columns, which Spark leaves to the file index."""
    (scan,) = jvm.scans(load(spark, path).where("p * 2 % 3 = 1"))
    filters = scan.partition_filters
    assert jvm.referenced_names(filters) == ["p"]
    schema = LONG_COLUMN
    rows = jvm.rows(pa.table({"a": [1, 2, 5, None]}), schema)
    assert jvm.matching(filters, rows, 4) == [1, 2]


def test_equal_filters_are_equal_and_others_are_not(
    jvm: Jvm, spark: SparkSession, path: Path
) -> None:
    """Breaks: wrong rows; an answer is used again if the filters are equal for Java."""
    frame = load(spark, path)
    lists = [list(range(20)), list(range(20)), list(range(1, 21))]
    first, same, other = (
        jvm.scans(frame.where(frame.n.isin(each)))[0]._node.dataFilters() for each in lists
    )
    assert first.equals(same)
    assert first.hashCode() == same.hashCode()
    assert not first.equals(other)


def test_plans_inside_of_filters_are_seen(jvm: Jvm, spark: SparkSession, path: Path) -> None:
    """Breaks: memory; an index that remembers a filter with a plan in it is never freed."""
    load(spark, path).createOrReplaceTempView("inner_plan")
    frame = load(spark, path).where("n > (SELECT min(n) FROM inner_plan)")
    condition = frame._jdf.queryExecution().optimizedPlan().condition()
    assert DeltaFiles(jvm).holds_plan(jvm.seq([condition]))
    (scan,) = jvm.scans(load(spark, path).where("n > 3"))
    assert not DeltaFiles(jvm).holds_plan(scan._node.dataFilters())
    spark.catalog.dropTempView("inner_plan")


def test_static_java_methods_are_columns(jvm: Jvm, spark: SparkSession) -> None:
    """Breaks: deletion vectors; StaticInvoke, KnownNotNull, Platform.getLong or BitSetMethods."""
    data = (5).to_bytes(8, "little") + b"\x02" + bytes(7)
    frame = spark.range(2).select(F.lit(data).alias("b"), F.col("id").alias("i"))
    b, i = calls.never_null(jvm, F.col("b")), F.col("i")
    found = frame.select(
        calls.get_long(jvm, b, calls.long(BYTE_ARRAY_OFFSET)),
        calls.is_bit_set(jvm, b, calls.long(BYTE_ARRAY_OFFSET + 8), calls.as_integer(jvm, i)),
        calls.smaller(jvm, i, calls.long(0)),
        calls.total(jvm, i, calls.long(2**40)),
    ).collect()
    assert [tuple(row) for row in found] == [(5, False, 0, 2**40), (5, True, 0, 2**40 + 1)]


def test_byte_arrays_begin_where_expected(jvm: Jvm) -> None:
    """Breaks: deletion vectors would read other memory; this must never be released broken."""
    assert static(jvm, "org.apache.spark.unsafe.Platform").BYTE_ARRAY_OFFSET == BYTE_ARRAY_OFFSET


# --- plans ---------------------------------------------------------------------------------------


def test_scans_are_found_in_plans(jvm: Jvm, spark: SparkSession, path: Path) -> None:
    """Breaks: `lakebed.explain_scan`."""
    frame = load(spark, path).where("p = 1 AND n > 2")
    (scan,) = jvm.scans(frame)
    assert scan.index_name.startswith("Delta[")
    assert len(scan.partition_filters) == 2
    assert len(scan.data_filters) == 2
    assert "GreaterThan(n,2)" in scan.pushed_filters
    load(spark, path).createOrReplaceTempView("in_subquery")
    nested = spark.sql(
        "SELECT * FROM range(3) WHERE id < (SELECT max(n) FROM in_subquery WHERE t > '')"
    )
    assert len(jvm.scans(nested)) == 1
    spark.catalog.dropTempView("in_subquery")
    cached = load(spark, path).cache()
    try:
        assert len(jvm.scans(cached.where("n = 1"))) == 1
    finally:
        cached.unpersist()


# --- errors --------------------------------------------------------------------------------------


def test_errors_of_the_jvm_are_converted_in_one_place(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Breaks: errors of Lakebed in callbacks would reach users as errors of Spark."""
    monkeypatch.setattr(captured, "convert_exception", captured.convert_exception)
    internals.convert_errors(lambda _: KeyError("ours"), lambda _: None)
    with pytest.raises(KeyError, match="ours"):
        spark.sql("SELECT no_such_column")


def test_errors_have_their_java_exception(spark: SparkSession, jvm: Jvm) -> None:
    """Breaks: errors of Spark inside of callbacks, such as overflows in filters on partitions."""
    with pytest.raises(Exception, match="no_such_column") as caught:
        spark.sql("SELECT no_such_column")
    origin = internals.origin(caught.value)
    assert origin is not None
    assert len(internals.causes(origin)) >= 1
    assert internals.origin(ValueError("no")) is None
    raised = jvm.java_exception(origin)
    assert internals.origin(raised) is origin


def test_the_error_of_an_unreadable_file_names_it(spark: SparkSession, tmp_path: Path) -> None:
    """Breaks: errors about files that are gone or damaged; `failures` looks for this text."""
    file = tmp_path / "a b.parquet"
    file.write_bytes(b"no parquet" * 100)
    with pytest.raises(Exception, match=r"\[FAILED_READ_FILE\.\w+\].* file file:\S+\.\s"):
        spark.read.schema("n LONG").parquet(str(file)).collect()


def test_plans_say_whether_they_give_the_same_rows_again(spark: SparkSession, path: Path) -> None:
    """Breaks: conditions with rand() are taken, or sources of MERGE are stored without need."""
    frame = load(spark, path)
    assert is_deterministic(frame.where("n > 1"))
    assert not is_deterministic(frame.where("rand() > 0.5"))
    assert is_stable(frame.where("n > 1"))
    assert is_stable(spark.range(5).selectExpr("id * 2"))
    assert not is_stable(spark.range(5).selectExpr("rand()"))
    assert not is_stable(spark.read.parquet(str(path)))


def test_joins_say_what_they_compare(spark: SparkSession, path: Path) -> None:
    """Breaks: MERGE reads all files; EqualTo or AttributeReference has another name."""
    target, source = load(spark, path).alias("t"), spark.range(5).alias("s")
    joined = target.join(source, F.expr("s.id + 1 = t.n AND t.t <> 'q'"))
    ((name, value),) = equal_keys(joined)
    assert name == "n"
    assert sorted(row[0] for row in source.select(value).collect()) == [1, 2, 3, 4, 5]
    assert equal_keys(target.join(source, F.expr("t.n < s.id"))) == []


def test_all_settings_come_as_one_text(spark: SparkSession, jvm: Jvm) -> None:
    """Breaks: every write and every service; Spark has no such map, or no Jackson."""
    spark.conf.set("spark.lakebed.test", 'quoted " and ünïcode \\')
    try:
        assert jvm.settings() == dict(spark.conf.getAll)
        with gateway_commands(spark._jvm._gateway_client) as sent:
            jvm.settings()
    finally:
        spark.conf.unset("spark.lakebed.test")
    assert len(sent) <= 3


def test_columns_are_made_without_notes_of_where(spark: SparkSession) -> None:
    """Breaks: MERGE and writes send thousands of commands more; PySpark asks something else."""

    def commands() -> int:
        with gateway_commands(spark._jvm._gateway_client) as sent:
            F.col("a") + F.col("b")
        return len(sent)

    commands()  # Classes of the JVM are looked up once.
    before = commands()
    with without_call_sites():
        quiet = commands()
        with without_call_sites():
            assert commands() == quiet
        assert commands() == quiet
    assert quiet < before / 3
    assert commands() == before


def test_only_one_thread_makes_columns_without_notes(spark: SparkSession) -> None:  # noqa: ARG001
    """Breaks: errors of users' other threads do not say where their columns were made."""
    seen: list[bool] = []
    with without_call_sites():
        seen.append(utils.is_debugging_enabled())
        thread = Thread(target=lambda: seen.append(utils.is_debugging_enabled()))
        thread.start()
        thread.join()
    assert seen == [False, True]
