"""Expressions in the metadata of tables: what Spark runs of them, whoever wrote them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable as Independent
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import lakebed
from lakebed import DeltaTable
from lakebed.errors import ExpressionNotAllowedError, PredicateError, SchemaError, SqlError
from lakebed.settings.setting_table import ALLOWED_FUNCTIONS

pytestmark = pytest.mark.usefixtures("interpreted")
MARK = "lakebed.test.ran"
CALL = f"java_method('java.lang.System', 'setProperty', '{MARK}', 'yes')"
FEATURES = ["appendOnly", "invariants", "checkConstraints", "generatedColumns"]


@pytest.fixture
def did_run(spark: SparkSession) -> Callable[[], bool]:
    """Whether an expression has called a method of Java."""
    system = spark._jvm.java.lang.System
    system.clearProperty(MARK)
    return lambda: system.getProperty(MARK) is not None


def field(name: str, kind: str, **metadata: str) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def made(path: Path, fields: list[dict[str, Any]], **configuration: str) -> str:
    """A table as another writer has left it."""
    log = path / "_delta_log"
    log.mkdir(parents=True)
    schema = json.dumps({"type": "struct", "fields": fields})
    protocol = {
        "minReaderVersion": 1,
        "minWriterVersion": 7,
        "writerFeatures": [*FEATURES, "allowColumnDefaults"],
    }
    metadata = {
        "id": "4d6a7a4c-7d2f-4a7e-9d92-29a7dd2a0f3a",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": schema,
        "partitionColumns": [],
        "configuration": configuration,
    }
    actions = [{"protocol": protocol}, {"metaData": metadata}]
    (log / f"{0:020}.json").write_text("\n".join(map(json.dumps, actions)))
    return str(path)


ID, NAME = field("id", "long"), field("name", "string")
HOSTILE: dict[str, tuple[list[dict[str, Any]], dict[str, str]]] = {
    "CHECK": ([ID, NAME], {"delta.constraints.c": f"{CALL} IS NULL OR true"}),
    "generated": ([ID, NAME, field("g", "string", **{"delta.generationExpression": CALL})], {}),
    "default": ([ID, NAME, field("d", "string", CURRENT_DEFAULT=CALL)], {}),
    "invariant": (
        [
            ID,
            field(
                "name",
                "string",
                **{"delta.invariants": json.dumps({"expression": {"expression": f"{CALL} <> ''"}})},
            ),
        ],
        {},
    ),
}
ROWS = "(SELECT 1L AS id, 'a' AS name)"


def streamed(spark: SparkSession, path: str) -> None:
    source = f"{path}-source"
    spark.sql(f"SELECT * FROM {ROWS}").write.format("delta").save(source)
    stream = spark.readStream.format("delta").load(source).writeStream.format("delta")
    stream = stream.option("checkpointLocation", f"{path}-checkpoint").trigger(availableNow=True)
    stream.start(path).awaitTermination()


def copied(spark: SparkSession, path: str) -> None:
    spark.sql(f"SELECT * FROM {ROWS}").write.json(f"{path}-files")
    spark.sql(f"COPY INTO delta.`{path}` FROM '{path}-files' FILEFORMAT = JSON")


WRITES: dict[str, Callable[[SparkSession, str], Any]] = {
    "insert": lambda spark, path: spark.sql(
        f"INSERT INTO delta.`{path}` (id, name) SELECT * FROM {ROWS}"
    ),
    "save": lambda spark, path: (
        spark.sql(f"SELECT * FROM {ROWS}").write.format("delta").mode("append").save(path)
    ),
    "merge": lambda spark, path: spark.sql(
        f"MERGE INTO delta.`{path}` t USING {ROWS} u ON t.id = u.id "
        "WHEN NOT MATCHED THEN INSERT (id, name) VALUES (u.id, u.name)"
    ),
    "copy": copied,
    "stream": streamed,
}


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("write", ["insert", "merge"])
def test_writes_run_no_method_of_java(
    spark: SparkSession, tmp_path: Path, did_run: Callable[[], bool], kind: str, write: str
) -> None:
    fields, configuration = HOSTILE[kind]
    path = made(tmp_path / "t", fields, **configuration)
    with pytest.raises(Exception, match=r"(?s)EXPRESSION_NOT_ALLOWED.*java_method"):
        WRITES[write](spark, path)
    assert not did_run()
    assert lakebed.open(path).version == 0


@pytest.mark.parametrize("write", ["save", "copy", "stream"])
def test_no_way_to_write_runs_a_method_of_java(
    spark: SparkSession, tmp_path: Path, did_run: Callable[[], bool], write: str
) -> None:
    fields, configuration = HOSTILE["CHECK"]
    path = made(tmp_path / "t", fields, **configuration)
    with pytest.raises(Exception, match=r"(?s)EXPRESSION_NOT_ALLOWED.*java_method"):
        WRITES[write](spark, path)
    assert not did_run()


def test_updates_run_no_method_of_java(
    spark: SparkSession, tmp_path: Path, did_run: Callable[[], bool]
) -> None:
    path = str(tmp_path / "t")
    spark.sql(f"SELECT * FROM {ROWS}").write.format("delta").save(path)
    fields, configuration = HOSTILE["CHECK"]
    hostile = Path(made(tmp_path / "other", fields, **configuration))
    (hostile / "_delta_log" / f"{0:020}.json").rename(f"{path}/_delta_log/{1:020}.json")
    with pytest.raises(ExpressionNotAllowedError, match="java_method"):
        spark.sql(f"UPDATE delta.`{path}` SET name = 'b'")
    assert not did_run()


@pytest.mark.parametrize(
    "sql",
    [
        f"{CALL} IS NULL",
        "reflect('java.lang.System', 'lineSeparator') <> ''",
        "id IN (SELECT id FROM range(10))",
        "EXISTS (SELECT 1)",
        "IDENTIFIER('java_method')('java.lang.System', 'lineSeparator') <> ''",
        "max(id) > 0",
        "first(id) > 0",
        "rand() < 2",
        "input_file_name() = ''",
        "version() <> ''",
    ],
)
def test_such_constraints_cannot_be_set(spark: SparkSession, tmp_path: Path, sql: str) -> None:
    path = made(tmp_path / "t", [ID, NAME])
    with pytest.raises(ExpressionNotAllowedError, match="the CHECK constraint c "):
        spark.sql(f"ALTER TABLE delta.`{path}` ADD CONSTRAINT c CHECK ({sql})")
    assert lakebed.open(path).version == 0


def test_such_columns_cannot_be_made(spark: SparkSession, tmp_path: Path) -> None:
    builder = DeltaTable.create(spark).location(str(tmp_path / "t")).addColumn("id", "long")
    with pytest.raises(ExpressionNotAllowedError, match="the generated column g "):
        builder.addColumn("g", "string", generatedAlwaysAs=CALL).execute()
    with pytest.raises(ExpressionNotAllowedError, match="version"):
        spark.sql(
            f"CREATE TABLE delta.`{tmp_path}/u` (id LONG, CONSTRAINT c CHECK (version() <> ''))"
            " USING delta"
        )
    assert not list(tmp_path.iterdir())


def test_functions_of_the_session_do_not_take_the_place_of_built_in_ones(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = made(
        tmp_path / "t",
        [ID, NAME, field("g", "string", **{"delta.generationExpression": "soundex(name)"})],
    )
    session = lakebed.enable(spark.newSession())
    session.udf.register("soundex", lambda _: "REPLACED")
    with pytest.raises(ExpressionNotAllowedError, match="replaced"):
        WRITES["insert"](session, path)
    WRITES["insert"](spark, path)
    assert Independent(path).to_pyarrow_table().to_pylist() == [{"id": 1, "name": "a", "g": "A000"}]


def test_variables_of_the_session_stay_out_of_tables(spark: SparkSession, tmp_path: Path) -> None:
    path = made(tmp_path / "t", [ID, NAME, field("d", "string", CURRENT_DEFAULT="my_secret")])
    spark.sql("DECLARE OR REPLACE VARIABLE my_secret STRING DEFAULT 'secret'")
    try:
        with pytest.raises(SchemaError, match="my_secret"):
            WRITES["insert"](spark, path)
    finally:
        spark.sql("DROP TEMPORARY VARIABLE my_secret")


def test_a_setting_allows_more_functions(spark: SparkSession, tmp_path: Path) -> None:
    path = made(tmp_path / "t", [ID, NAME])
    session = lakebed.enable(spark.newSession())
    session.udf.register("is_short", lambda text: len(text) < 3, "boolean")
    add = f"ALTER TABLE delta.`{path}` ADD CONSTRAINT c CHECK (is_short(name))"
    with pytest.raises(ExpressionNotAllowedError, match=ALLOWED_FUNCTIONS.name):
        session.sql(add)
    session.conf.set(ALLOWED_FUNCTIONS.name, "other, is_short")
    session.sql(add)
    WRITES["insert"](session, path)
    with pytest.raises(ExpressionNotAllowedError, match="is_short"):
        WRITES["insert"](spark, path)
    assert Independent(path).to_pyarrow_table().num_rows == 1


def test_what_delta_spark_allows_in_generated_columns_is_allowed(
    spark: SparkSession, tmp_path: Path
) -> None:
    expressions = [
        "concat_ws('-', substring(name, 1, 2), CAST(id AS STRING), date_format(at, 'yyyy'))",
        "CASE WHEN id BETWEEN 1 AND 2 THEN upper(trim(BOTH ' ' FROM name)) ELSE md5(name) END",
        "CAST(extract(YEAR FROM at) AS STRING)",
        "to_json(named_struct('a', id, 'b', array(name)))",
        "array_join(transform(array(name), x -> x || 'y'), ',')",
        "get_json_object(name, '$.a')",
        "xpath_string('<a>b</a>', 'a')",
        "CAST(date_trunc('DAY', at) AS STRING)",
    ]
    generated = [
        field(f"g{n}", "string", **{"delta.generationExpression": sql})
        for n, sql in enumerate(expressions)
    ]
    moment = field("now", "timestamp", CURRENT_DEFAULT="current_timestamp()")
    user = field("who", "string", CURRENT_DEFAULT="current_user()")
    fields = [ID, NAME, field("at", "timestamp"), moment, user, *generated]
    path = made(tmp_path / "t", fields, **{"delta.constraints.c": "at <= now() AND id > 0"})
    rows = spark.range(1, 3).select(
        "id", F.lit("ab").alias("name"), F.current_timestamp().alias("at")
    )
    rows.write.format("delta").mode("append").save(path)
    found = spark.read.format("delta").load(path).orderBy("id").first()
    assert found is not None
    assert found["who"] == spark.sql("SELECT current_user()").head()[0]
    assert found["now"] is not None
    assert (found["g1"], found["g4"], found["g6"]) == ("AB", "aby", "b")


def test_thousands_of_parentheses_are_an_error_of_lakebed(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The parser of Spark would fill the stack of its thread."""
    path = str(tmp_path / "t")
    spark.range(3).write.format("delta").save(path)
    deep = "(" * 5000 + "id = 1" + ")" * 5000
    table = DeltaTable.forPath(spark, path)
    with pytest.raises(PredicateError, match="nested too deep"):
        table.delete(deep)
    with pytest.raises(SqlError, match="nested too deep"):
        spark.sql(f"DELETE FROM delta.`{path}` WHERE {deep}")
    assert len(Independent(path).to_pyarrow_table()) == 3
