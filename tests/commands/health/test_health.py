"""`health()`: each finding appears where it should, and not where it should not."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from rich.console import Console

import lakebed
from lakebed.commands.health.finding import Severity
from lakebed.commands.health.health_report import Health
from lakebed.commands.health.table_health import table_health
from lakebed.errors import InvalidArgumentError, SchemaError
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Add, Remove
from lakebed.spec.schema import STRING
from testkit.schemas import column
from testkit.tables.arbitrary_tables import commit, make_table
from testkit.tables.numbered_tables import VECTORS, delete, make, numbers, opened

MIB = 1024 * 1024
TOPICS = {
    "small files",
    "file skew",
    "partitions",
    "statistics",
    "dead rows",
    "removed files",
    "checkpoint",
    "log length",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table"


def made_up(path: Path, sizes: Iterable[int], days: list[str] | None = None, **add: Any) -> None:
    """A table whose log says that it has files of these sizes; no finding reads a file."""
    if not path.exists():
        by = ("day",) if days else ()
        make_table(path, column("id"), column("day", STRING), partition_by=by)
    adds = [
        Add(
            f"file-{number}-{size}",
            {"day": days[number % len(days)]} if days else {},
            size,
            1,
            True,
            **{"stats": _stats(), **add},
        )
        for number, size in enumerate(sizes)
    ]
    commit(path, *adds)


def _stats(rows: int = 10, **bounds: Any) -> str:
    low = {"id": 1, "day": "a", **bounds}
    counts = {"id": 0, "day": 0}
    return json.dumps({"numRecords": rows, "minValues": low, "maxValues": low, "nullCount": counts})


def health(path: Path, *columns: str, **options: Any) -> Health:
    return table_health(TableLog(opened(path)), columns or None, **options)


def grade(found: Health, topic: str) -> str:
    return found[topic].severity.value


def test_a_young_table_is_well(path: Path) -> None:
    make(path)
    found = lakebed.open(path).health()
    assert {each.topic for each in found} == TOPICS
    assert found.severity is Severity.OK
    assert [each.mend for each in found] == [None] * len(TOPICS)
    assert (found.version, found.num_files) == (1, 2)


def test_an_empty_table_is_well(path: Path) -> None:
    make_table(path, column("id"))
    assert lakebed.open(path).health().severity is Severity.OK


# --- files --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([MIB] * 9, "ok"),
        ([100 * MIB] * 500, "ok"),
        ([MIB] * 20 + [200 * MIB] * 50, "info"),
        ([MIB] * 20, "warning"),
        ([MIB] * 150 + [200 * MIB] * 400, "warning"),
        ([10] * 10_002, "problem"),
    ],
)
def test_small_files_count_by_what_compaction_would_save(
    path: Path, sizes: list[int], expected: str
) -> None:
    made_up(path, sizes)
    found = health(path)
    assert grade(found, "small files") == expected
    assert (found["small files"].mend is None) == (expected == "ok")


def test_small_files_of_different_partitions_cannot_be_compacted(path: Path) -> None:
    made_up(path, [MIB] * 30, [f"d{n}" for n in range(30)])
    assert grade(health(path), "small files") == "ok"
    assert health(path)["small files"].numbers["saved_files"] == 0


def test_the_target_size_of_the_table_counts(path: Path) -> None:
    make_table(
        path, column("id"), column("day", STRING), properties={"delta.targetFileSize": "4mb"}
    )
    made_up(path, [MIB + 1] * 50)
    assert grade(health(path), "small files") == "ok"


def test_one_giant_among_files_is_seen(path: Path) -> None:
    made_up(path, [128 * MIB] * 20)
    assert grade(health(path), "file skew") == "ok"
    made_up(path, [4096 * MIB])
    assert grade(health(path), "file skew") == "warning"
    found = health(path)["file skew"]
    assert found.numbers["largest_bytes"] == 4096 * MIB
    assert found.mend == (
        "table.set_properties({'delta.targetFileSize': '128mb'}), then "
        "DeltaTable.forPath(spark, path).optimize().executeZOrderBy('id')"
    )


def test_uneven_and_finely_cut_partitions(path: Path, tmp_path: Path) -> None:
    days = [f"d{n}" for n in range(20)]
    made_up(path, [64 * MIB] * 20, days)
    assert grade(health(path), "partitions") == "ok"
    made_up(path, [4096 * MIB], days)
    assert grade(health(path), "partitions") == "warning"
    fine = tmp_path / "fine"
    made_up(fine, [1000] * 1500, [f"d{n}" for n in range(1500)])
    assert grade(health(fine), "partitions") == "warning"
    assert "1,500 partitions" in health(fine)["partitions"].message
    assert ".clusterBy('day').save(path)" in (health(fine)["partitions"].mend or "")


# --- rows and statistics ------------------------------------------------------------------------


@pytest.mark.parametrize(("gone", "expected"), [(1, "ok"), (2, "info"), (6, "warning")])
def test_dead_rows_count_by_their_share(path: Path, gone: int, expected: str) -> None:
    make(path, properties=VECTORS)
    lakebed.write(path, numbers(20, 30))
    delete(path, range(gone))
    found = health(path)["dead rows"]
    assert found.severity.value == expected
    assert (found.numbers["dead_rows"], found.numbers["rows"]) == (gone, 30)
    assert found.numbers["half_dead_files"] == (gone == 6)


def test_columns_without_bounds_are_named_with_their_share(path: Path) -> None:
    made_up(path, [MIB] * 3)
    assert grade(health(path), "statistics") == "ok"
    made_up(path, [MIB + 1], stats=json.dumps({"numRecords": 10, "minValues": {"id": 1}}))
    found = health(path)["statistics"]
    assert found.severity is Severity.WARNING
    assert dict(found.numbers) == {"day": 0.25}
    assert "day (25%)" in found.message
    assert grade(health(path, "id"), "statistics") == "ok"


def test_files_without_statistics_lack_those_of_all_columns(path: Path) -> None:
    made_up(path, [MIB], stats=None)
    assert grade(health(path), "statistics") == "problem"
    assert set(health(path)["statistics"].numbers) == {"id", "day"}


def test_a_column_of_nulls_needs_no_bounds(path: Path) -> None:
    lakebed.write(path, pa.table({"id": [1, 2], "none": pa.array([None, None], pa.int64())}))
    assert grade(health(path, "none", "id"), "statistics") == "ok"


def test_a_filtered_column_beyond_the_indexed_ones_gets_the_property_that_mends_it(
    path: Path,
) -> None:
    wide = pa.table({f"c{n}": [n] for n in range(40)})
    lakebed.write(path, wide)
    assert grade(health(path), "statistics") == "ok"
    found = health(path, "c39")["statistics"]
    assert found.severity is Severity.PROBLEM
    assert "delta.dataSkippingStatsColumns" in (found.mend or "")
    properties = {"delta.dataSkippingStatsColumns": "c0,c39"}
    lakebed.open(path).set_properties(properties)
    lakebed.write(path, wide, mode="overwrite")
    assert grade(health(path, "c39"), "statistics") == "ok"


def test_clustering_columns_are_looked_at_first(path: Path) -> None:
    make(path)
    lakebed.open(path).cluster_by(["day"])
    assert health(path)["statistics"].message == "all files have those of day"
    wide = pa.table({f"c{n}": [n] for n in range(40)})
    lakebed.write(path.with_name("wide"), wide, cluster_by="c1")
    found = health(path.with_name("wide"), "c39")["statistics"]
    assert (found.mend or "").endswith("optimize().executeFull()")


@pytest.mark.parametrize(
    ("columns", "error"),
    [("id", InvalidArgumentError), (3, InvalidArgumentError), (["x"], SchemaError)],
)
def test_columns_that_are_none_are_refused(
    path: Path, columns: Any, error: type[Exception]
) -> None:
    make(path)
    with pytest.raises(error):
        lakebed.open(path).health(columns)


# --- log and garbage ----------------------------------------------------------------------------


def test_a_checkpoint_that_lags_is_mended_by_writing_one(path: Path) -> None:
    make(path)
    interval = {"delta.checkpointInterval": "1000"}
    lakebed.open(path).set_properties(interval)
    for _ in range(12):
        lakebed.write(path, numbers(0, 1))
    assert grade(health(path), "checkpoint") == "ok"
    lakebed.open(path).unset_properties("delta.checkpointInterval")
    assert grade(health(path), "checkpoint") == "info"
    assert health(path)["checkpoint"].mend == "table.checkpoint()"
    lakebed.open(path).checkpoint()
    found = health(path)["checkpoint"]
    assert (found.severity, found.numbers["commits"]) == (Severity.OK, 0)


def test_the_log_is_counted(path: Path) -> None:
    make(path)
    log = list((path / "_delta_log").glob("*.json"))
    found = health(path)["log length"]
    assert found.numbers["commits"] == len(log) == 2
    sizes = [file.stat().st_size for file in (path / "_delta_log").iterdir()]
    assert found.numbers["bytes"] == sum(sizes)


def test_removed_files_count_once_their_retention_is_over(path: Path) -> None:
    made_up(path, [100 * MIB, 200 * MIB])
    now = int(time.time() * 1000)
    commit(path, Remove(f"file-1-{200 * MIB}", True, now, True, {}, 200 * MIB))
    assert grade(health(path), "removed files") == "ok"
    later = health(path, now_ms=now + 8 * 24 * 60 * 60 * 1000)
    assert grade(later, "removed files") == "warning"
    assert later["removed files"].numbers["expired_bytes"] == 200 * MIB
    assert later["removed files"].mend == "table.vacuum()"


def test_orphans_are_found_by_listing_alone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(path, properties={"delta.deletedFileRetentionDuration": "interval 0 hours"})
    monkeypatch.setattr("lakebed.commands.health.table_health._LITTLE", 1)
    lakebed.write(path, numbers(50, 51), mode="overwrite")
    (path / "orphan.parquet").write_bytes(b"x" * 100_000)
    time.sleep(0.01)
    found = lakebed.open(path).health(orphans=True)
    assert {each.topic for each in found} == TOPICS - {"removed files"} | {"unused files"}
    facts = found["unused files"].numbers
    assert (facts["files"], facts["orphans"], facts["orphan_bytes"]) == (3, 1, 100_000)
    assert grade(found, "unused files") == "problem"
    assert (path / "orphan.parquet").exists()
    lakebed.open(path).vacuum()
    assert lakebed.open(path).health(orphans=True)["unused files"].numbers["files"] == 0


# --- the report ---------------------------------------------------------------------------------


def sick(path: Path) -> Health:
    made_up(path, [MIB] * 200, ["<b>mon</b>", "tue"], stats=None)
    return health(path)


def test_the_worst_comes_first(path: Path) -> None:
    found = sick(path)
    ranks = [each.severity.rank for each in found]
    assert ranks == sorted(ranks, reverse=True)
    assert found.severity is Severity.PROBLEM
    assert found.to_arrow().column("severity").to_pylist()[0] == "problem"
    with pytest.raises(InvalidArgumentError, match="nonsense"):
        found["nonsense"]


def test_the_report_fits_a_terminal_and_names_what_mends(path: Path) -> None:
    text = repr(sick(path))
    assert all(len(line) <= 100 for line in text.splitlines())
    assert "problem statistics" in text
    assert "optimize().executeCompaction()" in text


def test_the_page_of_a_notebook_is_escaped(path: Path) -> None:
    page = sick(path)._repr_html_()
    assert page.count("<tr>") == len(TOPICS) + 1
    assert "<b>mon" not in page


def test_rich_shows_a_table(path: Path) -> None:
    out = StringIO()
    Console(file=out, width=120).print(sick(path))
    assert "small files" in out.getvalue()
    assert "executeCompaction" in out.getvalue()
