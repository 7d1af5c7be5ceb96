"""Table features and layouts, each as statements that either engine can run.

In statements `{t}` is the table, `{path}` its folder, and `{s}` and `{other}` are a second table and
its folder. Every table has the columns `id INT` and `v STRING`, which the changes are about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

FILL = (
    "INSERT INTO {t} (id, v) VALUES (1, 'a'), (2, 'b'), (3, 'c')",
    "INSERT INTO {t} (id, v) VALUES (4, 'd'), (5, NULL)",
)
CHANGES = (
    "INSERT INTO {t} (id, v) VALUES ({n}1, 'new'), ({n}2, 'x')",
    "UPDATE {t} SET v = concat(v, '{n}') WHERE id IN ({n}1, {n} + 1)",
    "DELETE FROM {t} WHERE id = {n}",
    "MERGE INTO {t} t USING (VALUES (4, 'm'), ({n}3, 'i'), ({n}2, 'gone') AS s(id, v)) s "
    "ON t.id = s.id WHEN MATCHED AND s.v = 'gone' THEN DELETE "
    "WHEN MATCHED THEN UPDATE SET v = concat(t.v, s.v) "
    "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)",
    "OPTIMIZE {t}",
)
"""`{n}` is 1 for the change by the second engine, and 2 for the one by the first."""


@dataclass(frozen=True)
class Feature:
    name: str
    create: tuple[str, ...]
    fill: tuple[str, ...] = FILL
    changes: tuple[str, ...] = CHANGES
    before: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """Statements before the changes of the second (1) or the first (2) engine."""
    conf: Mapping[str, str] = field(default_factory=dict)
    shown: str = "*"
    """What of a row is compared."""
    queries: tuple[str, ...] = ()
    """More that both engines must read alike."""
    neutral: str | None = None
    """Why the neutral reader cannot read the table, if it cannot."""


def table(
    name: str,
    columns: str = "",
    suffix: str = "",
    properties: Mapping[str, str] | None = None,
    first: Sequence[str] = (),
    **more: object,
) -> Feature:
    """With a CREATE TABLE of these columns besides `id` and `v`."""
    pairs = ", ".join(f"'{key}' = '{value}'" for key, value in (properties or {}).items())
    given = f" TBLPROPERTIES ({pairs})" if pairs else ""
    declared = "id INT, v STRING" + (f", {columns}" if columns else "")
    create = (*first, f"CREATE TABLE {{t}} ({declared}) USING delta {suffix}{given}")
    return Feature(name, create, **more)  # type: ignore[arg-type]


def with_values(first: str, second: str) -> tuple[str, ...]:
    """A fill that gives the column `p` values of its own."""
    return (
        f"INSERT INTO {{t}} (id, v, p) VALUES (1, 'a', {first}), (2, 'b', {second}), (3, 'c', NULL)",
        f"INSERT INTO {{t}} (id, v, p) VALUES (4, 'd', {second}), (5, NULL, {first})",
    )


_MAPPED = "the reader does not know column mapping"
_PARTITIONS = {
    "int": ("1", "-2"),
    "bigint": ("9223372036854775807", "0"),
    "string": ("'a b%=/ü'", "''"),
    "date": ("DATE'2024-02-29'", "DATE'1582-10-15'"),
    "timestamp": ("TIMESTAMP'2024-02-29 01:02:03.456789'", "TIMESTAMP'1970-01-01 00:00:00'"),
    "timestamp_ntz": (
        "TIMESTAMP_NTZ'2024-02-29 01:02:03.456789'",
        "TIMESTAMP_NTZ'1970-01-01 00:00:00'",
    ),
    "decimal(10,2)": ("12.30", "-0.01"),
    "boolean": ("true", "false"),
    "double": ("CAST(0.1 AS DOUBLE)", "CAST('-Infinity' AS DOUBLE)"),
    "smallint": ("CAST(1 AS SMALLINT)", "CAST(-32768 AS SMALLINT)"),
}
_VECTORS = {"delta.enableDeletionVectors": "true"}
_NAME_MAPPING = {"delta.columnMapping.mode": "name"}
_CHECKPOINTS = {"delta.checkpointInterval": "2"}
_COMPAT = {"delta.columnMapping.mode": "name", "delta.enableDeletionVectors": "false"}
_ROW_IDS = "SELECT id, _metadata.row_id, _metadata.row_commit_version FROM {t}"
_FEED = "SELECT id, v, _change_type, _commit_version FROM table_changes_by_path('{path}', 0)"
_APPENDS = ("INSERT INTO {t} (id, v) VALUES ({n}1, 'new'), ({n}2, 'x')", "OPTIMIZE {t}")

FEATURES: list[Feature] = [
    table("plain"),
    *(
        table(f"partitioned by {kind}", f"p {kind}", "PARTITIONED BY (p)", fill=with_values(*pair))
        for kind, pair in _PARTITIONS.items()
    ),
    table(
        "partitioned by two columns",
        "p INT, q STRING",
        "PARTITIONED BY (q, p)",
        fill=with_values("1", "2"),
    ),
    table("deletion vectors", properties=_VECTORS),
    table("no deletion vectors", properties={"delta.enableDeletionVectors": "false"}),
    table("column mapping by name", properties=_NAME_MAPPING, neutral=_MAPPED),
    table("column mapping by id", properties={"delta.columnMapping.mode": "id"}, neutral=_MAPPED),
    table(
        "column mapping with odd names and partitions",
        "`a b,;{}()=` STRING, p INT".replace("{", "{{").replace("}", "}}"),
        "PARTITIONED BY (p)",
        _NAME_MAPPING,
        fill=with_values("1", "2"),
        neutral=_MAPPED,
    ),
    table(
        "renamed and dropped columns",
        "n INT, w STRING",
        properties=_NAME_MAPPING,
        before={
            1: ("ALTER TABLE {t} RENAME COLUMN n TO m",),
            2: ("ALTER TABLE {t} DROP COLUMN w", "ALTER TABLE {t} ADD COLUMN (w INT)"),
        },
        neutral=_MAPPED,
    ),
    table("change data feed", properties={"delta.enableChangeDataFeed": "true"}, queries=(_FEED,)),
    table(
        "change data feed with deletion vectors",
        properties={"delta.enableChangeDataFeed": "true", **_VECTORS},
        queries=(_FEED,),
    ),
    table("row tracking", properties={"delta.enableRowTracking": "true"}, queries=(_ROW_IDS,)),
    table(
        "row tracking with deletion vectors",
        properties={"delta.enableRowTracking": "true", **_VECTORS},
        queries=(_ROW_IDS,),
    ),
    table(
        "type widening",
        "n SMALLINT, d DATE",
        properties={"delta.enableTypeWidening": "true"},
        fill=(
            "INSERT INTO {t} VALUES (1, 'a', 1, DATE'2020-01-01'), (2, 'b', 2, NULL), "
            "(3, 'c', 3, NULL), (4, 'd', NULL, NULL)",
        ),
        before={
            1: (
                "ALTER TABLE {t} ALTER COLUMN n TYPE INT",
                "INSERT INTO {t} VALUES (6, 'w', 2147483647, NULL)",
            ),
            2: (
                "ALTER TABLE {t} ALTER COLUMN n TYPE BIGINT",
                "INSERT INTO {t} VALUES (7, 'w', 9223372036854775807, NULL)",
            ),
        },
        neutral="the reader does not know type widening",
    ),
    table(
        "identity columns", "k BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 10 INCREMENT BY 5)"
    ),
    table(
        "identity columns by default",
        "k BIGINT GENERATED BY DEFAULT AS IDENTITY (START WITH -1 INCREMENT BY -2)",
        before={
            1: ("INSERT INTO {t} (id, v, k) VALUES (6, 'k', -1000)",),
            2: ("ALTER TABLE {t} ALTER COLUMN k SYNC IDENTITY",),
        },
    ),
    Feature(
        "generated columns",
        ("CREATE TABLE {t} (id INT, v STRING, g INT GENERATED ALWAYS AS (id * 2)) USING delta",),
    ),
    Feature(
        "generated partition columns",
        (
            "CREATE TABLE {t} (id INT, v STRING, g INT GENERATED ALWAYS AS (id % 2)) USING delta "
            "PARTITIONED BY (g)",
        ),
    ),
    table(
        "default values",
        "n INT DEFAULT 7, s STRING DEFAULT 'x y'",
        properties={"delta.feature.allowColumnDefaults": "supported"},
        before={1: ("ALTER TABLE {t} ALTER COLUMN n SET DEFAULT 8",)},
    ),
    table(
        "CHECK constraints",
        before={
            1: ("ALTER TABLE {t} ADD CONSTRAINT positive CHECK (id > 0)",),
            2: ("ALTER TABLE {t} ADD CONSTRAINT short CHECK (v IS NULL OR length(v) < 50)",),
        },
    ),
    Feature("NOT NULL", ("CREATE TABLE {t} (id INT NOT NULL, v STRING) USING delta",)),
    table(
        "char and varchar",
        "c CHAR(4), w VARCHAR(3)",
        fill=(
            "INSERT INTO {t} VALUES (1, 'a', 'x', 'y'), (2, 'b', 'ab  ', 'abc'), (3, 'c', '', '')",
        ),
    ),
    table("append only", properties={"delta.appendOnly": "true"}, changes=_APPENDS),
    table("in-commit timestamps", properties={"delta.enableInCommitTimestamps": "true"}),
    table(
        "in-commit timestamps later",
        before={
            1: ("ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableInCommitTimestamps'='true')",)
        },
    ),
    table("classic checkpoints", properties=_CHECKPOINTS),
    table("V2 checkpoints", properties={"delta.checkpointPolicy": "v2", **_CHECKPOINTS}),
    table(
        "V2 checkpoints in JSON",
        properties={"delta.checkpointPolicy": "v2", **_CHECKPOINTS},
        conf={"spark.databricks.delta.checkpointV2.topLevelFileFormat": "json"},
    ),
    table(
        "V2 checkpoints with many sidecars",
        properties={"delta.checkpointPolicy": "v2", **_CHECKPOINTS},
        conf={"spark.databricks.delta.checkpoint.partSize": "1"},
    ),
    table(
        "multi-part checkpoints",
        properties=_CHECKPOINTS,
        conf={"spark.databricks.delta.checkpoint.partSize": "1"},
    ),
    table(
        "checkpoints with statistics as structs",
        properties={
            "delta.checkpoint.writeStatsAsStruct": "true",
            "delta.checkpoint.writeStatsAsJson": "false",
            **_CHECKPOINTS,
        },
    ),
    table("clustering", "n INT", "CLUSTER BY (id, n)"),
    table(
        "clustering changed",
        "n INT",
        "CLUSTER BY (id)",
        before={1: ("ALTER TABLE {t} CLUSTER BY (n)",), 2: ("ALTER TABLE {t} CLUSTER BY NONE",)},
    ),
    table("Z-order", changes=(*CHANGES[:-1], "OPTIMIZE {t} ZORDER BY (id, v)")),
    table(
        "timestamps without a zone",
        "p TIMESTAMP_NTZ",
        fill=with_values(
            "TIMESTAMP_NTZ'2024-03-31 02:30:00'", "TIMESTAMP_NTZ'0001-01-01 00:00:00'"
        ),
    ),
    table(
        "variant",
        "n VARIANT",
        fill=(
            "INSERT INTO {t} SELECT 1, 'a', parse_json('[1, 2.5]')",
            "INSERT INTO {t} SELECT 3, 'c', NULL",
            "INSERT INTO {t} SELECT 4, 'd', parse_json('7')",
        ),
        shown="id, v, to_json(n)",
        neutral="the reader does not know variants",
    ),
    table(
        "nested columns",
        "s STRUCT<a: INT, b: STRUCT<c: STRING>>, l ARRAY<STRUCT<x: INT>>, m MAP<STRING, INT>",
        fill=(
            "INSERT INTO {t} SELECT 1, 'a', named_struct('a', 1, 'b', named_struct('c', 'x')), "
            "array(named_struct('x', 1), NULL), map('k', 1)",
            "INSERT INTO {t} (id, v) VALUES (2, 'b'), (3, 'c'), (4, 'd')",
        ),
        before={
            1: ("UPDATE {t} SET s.b.c = 'nested' WHERE id = 1",),
            2: ("ALTER TABLE {t} ADD COLUMNS (s.z INT)",),
        },
    ),
    table(
        "nested columns with mapping",
        "s STRUCT<a: INT, b: STRING>, l ARRAY<STRUCT<x: INT>>",
        properties=_NAME_MAPPING,
        fill=(
            "INSERT INTO {t} SELECT 1, 'a', named_struct('a', 1, 'b', 'x'), array(named_struct('x', 1))",
            "INSERT INTO {t} (id, v) VALUES (2, 'b'), (3, 'c'), (4, 'd')",
        ),
        before={1: ("ALTER TABLE {t} RENAME COLUMN s.a TO z",)},
        neutral=_MAPPED,
    ),
    table("domain metadata", properties={"delta.feature.domainMetadata": "supported"}),
    table(
        "checkpoint protection",
        properties={"delta.feature.checkpointProtection": "supported"},
    ),
    table(
        "IcebergCompatV1",
        properties={"delta.enableIcebergCompatV1": "true", **_COMPAT},
        neutral=_MAPPED,
    ),
    Feature(
        "shallow clone",
        (
            "CREATE TABLE {s} (id INT, v STRING) USING delta",
            "INSERT INTO {s} VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')",
            "DELETE FROM {s} WHERE id = 3",
            "CREATE TABLE {t} SHALLOW CLONE {s}",
        ),
        fill=("INSERT INTO {t} VALUES (5, 'e')",),
    ),
]
