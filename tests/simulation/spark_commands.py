"""What clients on Spark do: the commands of users, on the one session of a process.

Options that several commands have: "sql" is the statement instead of the method, "partition" is
about all rows of a partition, "job" are rows that Spark's own tasks write.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from model import IDS, MOVED, Changes, Command, Facts, Row
from pyspark.sql import DataFrame, SparkSession

import lakebed
from lakebed.errors import TableNotFoundError

SCHEMA = "p INT, id LONG, tag STRING"
OPTIONS = {
    "append": ("", "", "job"),
    "append once": ("1", "2", "3"),
    "vacuum": ("full", "full", "lite"),
    "overwrite": ("", "sql"),
    "replace where": ("", "partition", "sql", "job"),
    "replace partition": ("", "job"),
    "delete": ("", "", "sql", "partition", "sql partition"),
    "update": ("", "", "sql"),
    "merge": ("insert", "upsert", "delete", "upsert sql", "insert sql"),
    "optimize": ("", "", "spark", "partition", "z-order", "purge", "sql"),
    "read": ("", "sql", "twice", "count"),
}
WEIGHTS = {
    "append": 10,
    "insert": 6,
    "append once": 4,
    "copy": 6,
    "overwrite": 3,
    "replace where": 7,
    "replace partition": 3,
    "delete": 10,
    "update": 10,
    "merge": 10,
    "optimize": 7,
    "set property": 3,
    "add constraint": 2,
    "restore": 4,
    "vacuum": 4,
    "read": 8,
    "read old": 3,
    "read changes": 3,
}


@dataclass(frozen=True)
class Place:
    spark: SparkSession
    path: str
    wait: Callable[[], None]
    """Others may do much before it comes back."""

    @property
    def name(self) -> str:
        return f"delta.`{self.path}`"

    def table(self) -> lakebed.DeltaTable:
        return lakebed.DeltaTable.forPath(self.spark, self.path)

    def frame(self, rows: list[Row]) -> DataFrame:
        return self.spark.createDataFrame(rows, SCHEMA)

    def load(self, **options: object) -> DataFrame:
        reader = self.spark.read.format("delta")
        for name, value in options.items():
            reader = reader.option(name, str(value))
        return reader.load(self.path)

    def newest(self) -> int:
        found = self.table().history(1).collect()
        return int(found[0]["version"])


def rows_of(frame: DataFrame) -> Counter[Row]:
    return Counter(tuple(row) for row in frame.select("p", "id", "tag").collect())  # type: ignore[misc]


# --- writes ---------------------------------------------------------------------------------------


def create(command: Command, facts: Facts) -> None:
    writer = facts.place.frame(command.rows(facts)).write.format("delta").partitionBy("p")
    for name, value in facts.properties.items():
        writer = writer.option(name, value)
    writer.mode(command.option or "error").save(facts.place.path)


def append(command: Command, facts: Facts) -> None:
    _write(command, facts, "append")


def _write(command: Command, facts: Facts, mode: str, **options: str) -> None:
    frame = facts.place.frame(command.rows(facts))
    # A shuffle, so that the rows are not in the plan itself.
    rows = frame.repartition(2, "id") if "job" in command.option else frame
    rows.write.format("delta").mode(mode).options(**options).save(facts.place.path)


def append_once(command: Command, facts: Facts) -> None:
    _write(command, facts, "append", txnAppId=f"app{command.option}", txnVersion="1")


def insert(command: Command, facts: Facts) -> None:
    values = ", ".join(f"({p}, {each}, '{tag}')" for p, each, tag in command.rows(facts))
    facts.place.spark.sql(f"INSERT INTO {facts.place.name} VALUES {values}")


def copy(command: Command, facts: Facts) -> None:
    """Appends what a query finds in the table itself."""
    found = facts.place.load().where(command.predicate)
    copied = found.selectExpr("p", "id", f"'c{facts.number}' AS tag")
    copied.write.format("delta").mode("append").save(facts.place.path)


def overwrite(command: Command, facts: Facts) -> None:
    if "sql" not in command.option:
        _write(command, facts, "overwrite")
        return
    facts.place.spark.sql(f"INSERT OVERWRITE {facts.place.name} {_select(command, facts)}")


def _select(command: Command, facts: Facts) -> str:
    values = ", ".join(f"({p}, {each}, '{tag}')" for p, each, tag in command.rows(facts))
    return f"SELECT * FROM VALUES {values} AS s(p, id, tag)"


def replace_where(command: Command, facts: Facts) -> None:
    if "sql" not in command.option:
        _write(command, facts, "overwrite", replaceWhere=command.predicate)
        return
    where = f"REPLACE WHERE {command.predicate}"
    facts.place.spark.sql(f"INSERT INTO {facts.place.name} {where} {_select(command, facts)}")


def replace_partition(command: Command, facts: Facts) -> None:
    _write(command, facts, "overwrite", partitionOverwriteMode="dynamic")


# --- changes of rows ------------------------------------------------------------------------------


def delete(command: Command, facts: Facts) -> None:
    if "sql" in command.option:
        facts.place.spark.sql(f"DELETE FROM {facts.place.name} WHERE {command.predicate}")
    else:
        facts.place.table().delete(command.predicate)


def update(command: Command, facts: Facts) -> None:
    value = f"(id + {MOVED}) % {IDS}"
    if "sql" in command.option:
        statement = f"UPDATE {facts.place.name} SET id = {value} WHERE {command.predicate}"
        facts.place.spark.sql(statement)
    else:
        facts.place.table().update(command.predicate, {"id": value})


def merge(command: Command, facts: Facts) -> None:
    source = facts.place.frame(command.source(facts))
    if "sql" in command.option:
        clauses = "WHEN NOT MATCHED THEN INSERT *"
        if "upsert" in command.option:
            clauses = f"WHEN MATCHED THEN UPDATE SET tag = s.tag {clauses}"
        view = f"source_{facts.number}"
        source.createOrReplaceTempView(view)
        merge_sql = f"MERGE INTO {facts.place.name} t USING {view} s ON t.p = s.p AND t.id = s.id"
        try:
            facts.place.spark.sql(f"{merge_sql} {clauses}")
        finally:
            facts.place.spark.catalog.dropTempView(view)
        return
    table = facts.place.table().alias("t")
    builder = table.merge(source.alias("s"), "t.p = s.p AND t.id = s.id")
    if "delete" in command.option:
        builder.whenMatchedDelete().execute()
        return
    if "upsert" in command.option:
        builder = builder.whenMatchedUpdate(set={"tag": "s.tag"})
    builder.whenNotMatchedInsertAll().execute()


# --- services -------------------------------------------------------------------------------------


def optimize(command: Command, facts: Facts) -> None:
    if "sql" in command.option:
        facts.place.spark.sql(f"OPTIMIZE {facts.place.name}")
        return
    builder = facts.place.table().optimize()
    if "partition" in command.option:
        builder = builder.where(f"p = {command.p}")
    if "z-order" in command.option:
        builder.executeZOrderBy("id")
    elif "purge" in command.option:
        builder.executePurge()
    else:
        builder.executeCompaction()


def vacuum(command: Command, facts: Facts) -> None:
    facts.place.table().vacuum(mode=command.option)


def restore(command: Command, facts: Facts) -> None:
    facts.chosen = _wanted(command, facts)
    facts.place.table().restoreToVersion(facts.chosen)


def _wanted(command: Command, facts: Facts) -> int:
    """A version some steps back, and inside of the retention."""
    newest = facts.place.newest()
    return max(newest - command.low - 1, min(facts.oldest_wanted(), newest))


def set_property(command: Command, facts: Facts) -> None:
    name, value = f"sim.p{command.p}", str(facts.number)
    facts.place.spark.sql(
        f"ALTER TABLE {facts.place.name} SET TBLPROPERTIES ('{name}' = '{value}')"
    )


def add_constraint(command: Command, facts: Facts) -> None:
    facts.place.spark.sql(
        f"ALTER TABLE {facts.place.name} ADD CONSTRAINT c{facts.number} CHECK ({command.condition})"
    )


# --- reads ----------------------------------------------------------------------------------------


def read(command: Command, facts: Facts) -> None:
    since = facts.newest()
    if command.option == "sql":
        frame = facts.place.spark.sql(f"SELECT * FROM {facts.place.name}")
    else:
        frame = facts.place.load()
    if command.option == "count":
        facts.seen.append((since, frame.count()))
        return
    facts.seen.append((since, rows_of(frame)))
    if command.option == "twice":
        # The second query follows the table to its newest version.
        facts.place.wait()
        since = facts.newest()
        facts.seen.append((since, rows_of(frame)))


def read_old(command: Command, facts: Facts) -> None:
    version = _wanted(command, facts)
    facts.read.append((version, rows_of(facts.place.load(versionAsOf=version))))


def read_changes(command: Command, facts: Facts) -> None:
    newest = facts.place.newest()
    start = max(newest - command.low, 0)
    frame = facts.place.load(readChangeFeed="true", startingVersion=start, endingVersion=newest)
    changes = Changes(range(start, newest + 1))
    names = ("p", "id", "tag", "_change_type", "_commit_version")
    for *row, kind, version in frame.select(*names).collect():
        is_new = kind in ("insert", "update_postimage")
        into = changes.came if is_new else changes.went
        into.setdefault(version, Counter())[tuple(row)] += 1  # type: ignore[index]
    facts.changes.append(changes)


def _of_table(run: Callable[[Command, Facts], None]) -> Callable[[Command, Facts], None]:
    """What finds no table would create one, or ask Spark for one."""

    def checked(command: Command, facts: Facts) -> None:
        if not facts.is_there():
            raise TableNotFoundError("nobody has created the table yet")
        run(command, facts)

    return checked


_RUNS: dict[str, Callable[[Command, Facts], None]] = {
    "append": append,
    "append once": append_once,
    "insert": insert,
    "copy": copy,
    "overwrite": overwrite,
    "replace where": replace_where,
    "replace partition": replace_partition,
    "delete": delete,
    "update": update,
    "merge": merge,
    "optimize": optimize,
    "vacuum": vacuum,
    "restore": restore,
    "set property": set_property,
    "add constraint": add_constraint,
    "read": read,
    "read old": read_old,
    "read changes": read_changes,
}
RUNS: dict[str, Callable[[Command, Facts], Any]] = {
    "create": create,
    **{name: _of_table(run) for name, run in _RUNS.items()},
}
