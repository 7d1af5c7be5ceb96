"""What Spark offers and a Delta table does not have: each is an error with its condition."""

from __future__ import annotations

from api_case import BEFORE, NONE, Case, How, Place, statements

GROUP = "Refused"
V2 = "NOT_SUPPORTED_COMMAND_FOR_V2_TABLE"
CDC = "UNSUPPORTED_FEATURE.CHANGE_DATA_CAPTURE"
PARTITIONS = "INVALID_PARTITION_OPERATION"


def refused(name: str, condition: str, how: How, *, since: tuple[int, int] = (4, 0)) -> Case:
    def tried(place: Place) -> None:
        said = ""
        try:
            how(place)
        except Exception as error:  # noqa: BLE001 - its class differs between versions of Spark
            said = str(error)
        assert f"[{condition}" in said, said or "it was not refused"

    return Case(GROUP, f"{name}: {condition}", NONE, tried, BEFORE, since=since)


def bucketed(place: Place) -> None:
    place.new.write.format("delta").bucketBy(2, "id").saveAsTable("u")


CASES = [
    refused("ANALYZE TABLE", V2, statements("ANALYZE TABLE t COMPUTE STATISTICS")),
    refused("DESCRIBE TABLE ... AS JSON", V2, statements("DESCRIBE TABLE EXTENDED t AS JSON")),
    refused("MSCK REPAIR TABLE", V2, statements("MSCK REPAIR TABLE t")),
    refused("LOAD DATA", V2, statements("LOAD DATA INPATH '<folder>/x' INTO TABLE t")),
    refused("ALTER TABLE ADD PARTITION", PARTITIONS,
            statements("ALTER TABLE t ADD PARTITION (v = 'z')")),
    refused("ALTER TABLE DROP PARTITION", PARTITIONS,
            statements("ALTER TABLE t DROP PARTITION (v = 'a')")),
    refused("catalog.recoverPartitions", V2, lambda p: p.spark.catalog.recoverPartitions("t")),
    refused("write.bucketBy", "INVALID_ARGUMENT", bucketed),
    refused("SELECT ... FROM t CHANGES (see table_changes)", CDC,
            statements("SELECT * FROM t CHANGES FROM VERSION 1"), since=(4, 2)),
    refused("read.changes (see readChangeFeed)", CDC,
            lambda p: p.spark.read.option("startingVersion", 1).changes("t").collect(),
            since=(4, 2)),
    refused("readStream.changes", CDC,
            lambda p: p.spark.readStream.option("startingVersion", 1).changes("t"), since=(4, 2)),
]  # fmt: skip
