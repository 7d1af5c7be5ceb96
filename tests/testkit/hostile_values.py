"""Values that would do harm as a part of SQL text, and statements that take them as parameters."""

from __future__ import annotations

import os
from typing import Any

from deltalake import DeltaTable as Independent

VALUE = (
    "${env:HOME} ${system:user.home} ${spark.app.name} '; DROP TABLE t; -- "
    '"a" `b` \\\' \\\\ \\u0041 :v ?'
)
"""Spark replaces the first three in the text of statements, the others are signs of SQL."""

SETUP = [
    "CREATE TABLE {t} (id BIGINT, s STRING, p STRING) USING delta PARTITIONED BY (p)",
    "INSERT INTO {t} VALUES (0, 'kept', 'kept')",
]
STATEMENTS: dict[str, tuple[str, set[tuple[int, bool, bool]]]] = {
    "insert values": ("INSERT INTO {t} VALUES (1, :v, :v)", {(1, True, True)}),
    "insert select": ("INSERT INTO {t} SELECT 1, :v, :v WHERE :v = :v", {(1, True, True)}),
    "insert into a partition": (
        "INSERT INTO {t} PARTITION (p = :v) SELECT 1, :v",
        {(1, True, True)},
    ),
    "insert overwrites a partition": (
        "INSERT OVERWRITE {t} PARTITION (p = :v) SELECT 1, :v",
        {(1, True, True)},
    ),
    "insert if the partition is new": (
        "INSERT OVERWRITE {t} PARTITION (p = :v) IF NOT EXISTS SELECT 1, :v",
        {(1, True, True)},
    ),
    "insert replaces where": (
        "INSERT INTO {t} REPLACE WHERE p = :v SELECT 1, :v, :v",
        {(1, True, True)},
    ),
    "insert replaces on": (
        "INSERT INTO {t} AS t REPLACE ON t.p = :v AND t.p = s.p (SELECT 1 AS id, :v AS s, :v AS p)"
        " AS s",
        {(1, True, True)},
    ),
    "insert with a default": (
        "INSERT INTO {t} (id, s, p) VALUES (1, :v, :v), (2, DEFAULT, :v)",
        {(1, True, True), (2, False, True)},
    ),
    "update": (
        "UPDATE {t} SET s = :v, p = concat(:v, '') WHERE s <> :v",
        {(0, True, True)},
    ),
    "merge": (
        "MERGE INTO {t} t USING (SELECT 0 AS id, :v AS s UNION ALL SELECT 1, :v) u ON t.id = u.id "
        "AND u.s = :v WHEN MATCHED AND u.s = :v THEN UPDATE SET s = :v, p = u.s "
        "WHEN NOT MATCHED THEN INSERT (id, s, p) VALUES (u.id, u.s, :v)",
        {(0, True, True), (1, True, True)},
    ),
    "a statement in a script": (
        "BEGIN INSERT INTO {t} VALUES (1, :v, :v); "
        "INSERT INTO {t} REPLACE WHERE p = :v SELECT 2, :v, :v; OPTIMIZE {t} WHERE p = :v; END",
        {(2, True, True)},
    ),
    "a variable of a script": (
        "BEGIN DECLARE x STRING; SET x = :v; INSERT INTO {t} VALUES (1, x, x); END",
        {(1, True, True)},
    ),
    "a statement by another": (
        "EXECUTE IMMEDIATE 'INSERT INTO {t} VALUES (1, :v, :v)' USING :v AS v",
        {(1, True, True)},
    ),
}
"""By name: the statement, and the rows that it makes: whether `s` and `p` are the value."""


def run(spark: Any, path: str, name: str, value: str = VALUE) -> None:
    """Runs a statement with the value, and compares what another reader finds in the files."""
    table = f"delta.`{path}`"
    for each in SETUP:
        spark.sql(each.format(t=table))
    text, expected = STATEMENTS[name]
    spark.sql(text.format(t=table), args={"v": value})
    rows = Independent(path).to_pyarrow_table().to_pylist()
    found = {(row["id"], row["s"] == value, row["p"] == value) for row in rows}
    kept = set() if any(row[0] == 0 for row in expected) else {(0, False, False)}
    assert found == expected | kept, rows
    shown = spark.sql(f"SELECT s FROM {table} WHERE s = ?", args=[value]).collect()
    assert {row[0] for row in shown} == {value}
    rows = spark.sql(f"DESCRIBE HISTORY {table}").collect()
    assert os.environ["HOME"] not in str([row.operationParameters for row in rows])
    spark.sql(f"DELETE FROM {table} WHERE s = :v OR p = :v", args={"v": value})
    assert value not in str(Independent(path).to_pyarrow_table().to_pylist())
