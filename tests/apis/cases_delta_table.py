"""`DeltaTable`, the API of delta-spark."""

from __future__ import annotations

from typing import Any

from api_case import BEFORE, BOTH, CH, C, Case, Place, R, Rows, W
from cases_delta_sql import without_retention_check

GROUP = "DeltaTable"
UPSERTED: Rows = [(1, "a"), (2, "B"), (3, "c")]


def api() -> Any:
    """The class. Plain clients of Spark Connect, which have no Lakebed, list the cases too."""
    from lakebed import DeltaTable

    return DeltaTable


def table(place: Place, name: str = "t") -> Any:
    return api().forName(place.spark, name)


def merged(place: Place, rows: Rows) -> Any:
    source = place.frame(rows).alias("s")
    return table(place).alias("o").merge(source, "o.id = s.id")


def upserted(place: Place) -> None:
    merging = merged(place, [(2, "B"), (3, "c")])
    merging.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()


def with_clauses(place: Place) -> None:
    merging = merged(place, [(2, "B"), (3, "c")])
    merging = merging.whenMatchedUpdate(set={"v": "s.v"})
    merging = merging.whenNotMatchedInsert(values={"id": "s.id", "v": "s.v"})
    merging.whenNotMatchedBySourceDelete("o.v = 'a'").execute()


def evolved(place: Place) -> None:
    source = place.frame([(3, "c", 7)], "id BIGINT, v STRING, n INT").alias("s")
    merging = table(place).alias("o").merge(source, "o.id = s.id").withSchemaEvolution()
    merging.whenNotMatchedInsertAll().execute()


def built(mode: str, name: str) -> Any:
    """A case that defines a table; what it then has, other than (3, 'c'), was there before."""

    def how(place: Place) -> None:
        builder = getattr(api(), mode)(place.spark).tableName(name)
        builder.addColumn("id", "BIGINT").addColumn("v", "STRING").execute()
        place.new.write.insertInto(name)

    return how


def converted(place: Place) -> None:
    place.new.write.parquet(f"{place.folder}/x")
    api().convertToDelta(place.spark, f"parquet.`{place.folder}/x`")


def vacuumed(place: Place) -> None:
    stray = place.folder / "t" / "stray.parquet"
    stray.touch()
    with without_retention_check(place.spark):
        table(place).vacuum(0)
    assert not stray.exists()


def featured(place: Place) -> None:
    table(place).addFeatureSupport("vacuumProtocolCheck")
    table(place).dropFeatureSupport("vacuumProtocolCheck")


def upgraded(place: Place) -> Rows:
    table(place).upgradeTableProtocol(1, 3)
    return [tuple(table(place).detail().select("minWriterVersion").first())]


CASES = [
    Case(GROUP, "forName, toDF", R, lambda p: table(p).toDF(), BEFORE),
    Case(GROUP, "forPath, toDF", R, lambda p: api().forPath(p.spark, p.path).toDF(), BEFORE),
    Case(GROUP, "isDeltaTable", R,
         lambda p: [(api().isDeltaTable(p.spark, p.path),
                     api().isDeltaTable(p.spark, f"{p.folder}/none"))],
         [(True, False)], stored=BEFORE),
    Case(GROUP, "history", R, lambda p: table(p).history().select("version"), [(0,), (1,)],
         stored=BEFORE),
    Case(GROUP, "detail", R, lambda p: table(p).detail().select("format", "numFiles"),
         [("delta", 2)], stored=BEFORE),
    Case(GROUP, "delete", CH, lambda p: table(p).delete("id = 1") and None, BEFORE[1:],
         operation="DELETE"),
    Case(GROUP, "update", CH, lambda p: table(p).update("id = 1", {"v": "'x'"}) and None,
         [(1, "x"), (2, "b")], operation="UPDATE"),
    Case(GROUP, "merge, all columns", CH, upserted, UPSERTED, operation="MERGE"),
    Case(GROUP, "merge, each kind of clause", CH, with_clauses, UPSERTED[1:], operation="MERGE"),
    Case(GROUP, "merge.withSchemaEvolution", CH, evolved,
         [(1, "a", None), (2, "b", None), (3, "c", 7)]),
    Case(GROUP, "create", W, built("create", "u"), C, "u"),
    Case(GROUP, "createIfNotExists", W, built("createIfNotExists", "t"), BOTH),
    Case(GROUP, "replace", W, built("replace", "t"), C),
    Case(GROUP, "createOrReplace", W, built("createOrReplace", "t"), C),
    Case(GROUP, "convertToDelta", W, converted, C, "x", operation="CONVERT"),
    Case(GROUP, "clone", W, lambda p: table(p).clone(f"{p.folder}/x") and None,
         BEFORE, "x", operation="CLONE"),
    Case(GROUP, "cloneAtVersion", W,
         lambda p: table(p).cloneAtVersion(0, f"{p.folder}/x") and None,
         BEFORE[:1], "x"),
    Case(GROUP, "optimize.executeCompaction", CH,
         lambda p: table(p).optimize().executeCompaction() and None, BEFORE, operation="OPTIMIZE"),
    Case(GROUP, "optimize.executeZOrderBy", CH,
         lambda p: table(p).optimize().executeZOrderBy("id") and None, BEFORE,
         operation="OPTIMIZE"),
    Case(GROUP, "vacuum", CH, vacuumed, BEFORE),
    Case(GROUP, "restoreToVersion", CH, lambda p: table(p).restoreToVersion(0) and None,
         BEFORE[:1], operation="RESTORE"),
    Case(GROUP, "restoreToTimestamp", CH,
         lambda p: table(p).restoreToTimestamp("2021-01-01") and None, BEFORE[:1],
         operation="RESTORE"),
    Case(GROUP, "upgradeTableProtocol", CH, upgraded, [(3,)], stored=BEFORE),
    Case(GROUP, "addFeatureSupport, dropFeatureSupport", CH, featured, BEFORE,
         operation="DROP FEATURE"),
]  # fmt: skip
