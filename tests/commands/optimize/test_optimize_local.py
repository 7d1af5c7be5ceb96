"""OPTIMIZE on Arrow, of tables that are small: the same rows for every reader."""

from __future__ import annotations

import datetime
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import patch

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakebed
from lakebed.arrow.curve_parts import curve_keys
from lakebed.arrow.small_files import many_files
from lakebed.arrow.write.write import FileWriter
from lakebed.commands.optimize.curve_columns import curve_columns
from lakebed.commands.optimize.file_selection import by_partition
from lakebed.commands.optimize.local_rewrite import Local
from lakebed.commands.optimize.optimize import optimize
from lakebed.commands.optimize.optimize_request import OptimizeRequest, local_bytes
from lakebed.commands.optimize.optimize_run import Optimized
from lakebed.commands.target.row_target import RowTarget
from lakebed.data_files.curves import Curve, Kind
from lakebed.errors import DataFileError, InvalidArgumentError
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.file_state import ADD_FIELDS
from lakebed.log.table_log import TableLog
from lakebed.settings.setting_table import OPTIMIZE_LOCAL_BYTES
from lakebed.storage import open_store
from testkit.readers.other_readers import duckdb_with_delta

ZORDER = OptimizeRequest(zorder_by=(("id",), ("name",)))
MAX_FILE = "spark.databricks.delta.optimize.maxFileSize"


def run(path: Path | str, request: OptimizeRequest | None = None, **settings: str) -> Optimized:
    """There is no plane that could do it on Spark."""
    conf = {key.replace("__", "."): value for key, value in settings.items()}
    session = SimpleNamespace(conf=SimpleNamespace(get=lambda *_: None))
    target = RowTarget(cast(Any, session), TableLog(open_store(path)), cast(Any, None))
    with patch("lakebed.commands.optimize.optimize.all_settings", lambda _: conf):
        return optimize(target, request or OptimizeRequest())


def rows(path: Path) -> list[str]:
    """By DuckDB, which reads with delta-kernel-rs."""
    with duckdb_with_delta() as connection:
        found = connection.execute(f"select * from delta_scan('{path}')").to_arrow_table()
    return sorted(map(repr, found.to_pylist()))


def data(first: int, count: int, **more: Any) -> pa.Table:
    ids = range(first, first + count)
    return pa.table(
        {
            "id": pa.array(ids, pa.int32()),
            "part": [["a", "b c", None][i % 3] for i in ids],
            "name": [None if i % 7 == 0 else f"n{i * 31 % 50}" for i in ids],
            "price": [float("nan") if i % 11 == 0 else i * 0.5 for i in ids],
            "day": [datetime.date(2026, 1, 1) + datetime.timedelta(i % 9) for i in ids],
            "at": pa.array([i * 1_000_003 for i in ids], pa.timestamp("us", "UTC")),
            "who": [None if i % 5 == 0 else {"first": f"f{i}", "tags": ["x", None]} for i in ids],
            "pairs": pa.array(
                [[("k", i), ("l", None)] for i in ids], pa.map_(pa.string(), pa.int32())
            ),
            "sum": pa.array(list(ids), pa.int32()).cast(pa.decimal128(20, 2)),
            "raw": [bytes([i % 256]) for i in ids],
            **more,
        }
    )


def make(path: Path, files: int = 6, **properties: str) -> lakebed.Table:
    for number in range(files):
        table = lakebed.write(
            path, data(number * 20, 20), mode="append", properties=properties if not number else {}
        )
    return table


FEATURES: dict[str, dict[str, str]] = {
    "plain": {},
    "vectors": {"delta.enableDeletionVectors": "true"},
    "names": {"delta.columnMapping.mode": "name", "delta.enableDeletionVectors": "true"},
    "ids": {"delta.columnMapping.mode": "id", "delta.enableRowTracking": "true"},
    "row ids": {"delta.enableRowTracking": "true", "delta.enableDeletionVectors": "true"},
    "kept partitions": {"delta.writePartitionColumnsToParquet": "true"},
}


@pytest.mark.parametrize("zorder", [False, True], ids=["compact", "zorder"])
@pytest.mark.parametrize("feature", FEATURES)
def test_rows_are_the_same_for_every_reader(tmp_path: Path, feature: str, zorder: bool) -> None:
    partition = "part" if feature != "vectors" else None
    for number in range(5):
        lakebed.write(
            tmp_path,
            data(number * 20, 20),
            mode="append",
            **({"properties": FEATURES[feature], "partition_by": partition} if not number else {}),
        )
    lakebed.write(tmp_path, data(7, 1), mode="overwrite", replace_where="id = 7 AND part = 'b c'")
    before, version = rows(tmp_path), lakebed.open(tmp_path).version
    files = lakebed.open(tmp_path).num_files
    settings = {MAX_FILE: "600"} if zorder else {}
    done = run(tmp_path, ZORDER if zorder else None, **settings)
    assert rows(tmp_path) == before
    assert len(before) == 100
    after = lakebed.open(tmp_path)
    assert (after.version, len(done.removed)) == (version + 1, files)
    assert after.num_files == len(done.added)
    if not zorder:
        assert after.num_files == (1 if partition is None else 3)
    assert after.history(1).to_pylist()[0]["operation"] == "OPTIMIZE"


def test_columns_that_came_later_were_renamed_dropped_or_widened(tmp_path: Path) -> None:
    properties = {"delta.columnMapping.mode": "name", "delta.enableTypeWidening": "true"}
    table = make(tmp_path, 3, **properties)
    table = table.alter_column("id", type="long").rename_column("name", "label")
    table = table.drop_columns("raw").add_columns({"extra": "int", "who.age": "int"})
    more = (
        data(100, 20, extra=pa.array(range(20), pa.int32()))
        .rename_columns({"name": "label"})
        .drop(["raw"])
    )
    lakebed.write(tmp_path, more.set_column(0, "id", pa.array([2**40 + i for i in range(20)])))
    before = rows(tmp_path)
    assert len(run(tmp_path).added) == 1
    assert rows(tmp_path) == before
    [file] = lakebed.open(tmp_path).files()["path"].to_pylist()
    stored = pq.read_schema(tmp_path / file)
    assert [field.metadata is not None for field in stored] == [True] * len(stored)
    assert len(stored) == 10


def test_row_ids_and_versions_stay(tmp_path: Path) -> None:
    make(tmp_path, 4, **FEATURES["row ids"])
    before = row_ids(tmp_path)
    run(tmp_path)
    assert row_ids(tmp_path) == before
    # Now from the columns in which the file has them, beside a file that has none.
    lakebed.write(tmp_path, data(500, 5))
    before = row_ids(tmp_path)
    run(tmp_path)
    assert row_ids(tmp_path) == before
    assert {version for _, version in before.values()} == {0, 1, 2, 3, 5}
    assert len({row_id for row_id, _ in before.values()}) == 85


def row_ids(path: Path) -> dict[int, tuple[int, int]]:
    """By the footers and the log."""
    snapshot = lakebed.open(path).snapshot
    names = (
        snapshot.properties.materialized_row_id_column,
        snapshot.properties.materialized_row_commit_version_column,
    )
    found = {}
    for add in adds_from_table(snapshot.files(ADD_FIELDS)):
        for place, row in enumerate(pq.read_table(path / add.path).to_pylist()):
            row_id, version = (row.get(name) for name in names)
            assert add.base_row_id is not None
            found[row["id"]] = (
                add.base_row_id + place if row_id is None else row_id,
                add.default_row_commit_version if version is None else version,
            )
    return found


def test_statistics_are_those_of_the_rows(tmp_path: Path) -> None:
    make(tmp_path, 3)
    run(tmp_path)
    [stats] = lakebed.open(tmp_path).files(stats=True)["stats"].to_pylist()
    found = orjson.loads(stats)
    assert found["numRecords"] == 60
    assert (found["minValues"]["id"], found["maxValues"]["id"]) == (0, 59)
    assert found["nullCount"]["name"] == 9
    assert found["minValues"]["price"] == 0.5
    assert "price" not in found["maxValues"], "NaN is greater than all others"


def test_large_files_are_read_by_row_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many_files, "_SMALL_BYTES", 1)
    make(tmp_path, 3, **FEATURES["row ids"])
    lakebed.write(tmp_path, data(3, 1), mode="overwrite", replace_where="id = 3")
    before, ids = rows(tmp_path), row_ids_after_vectors(tmp_path)
    run(tmp_path)
    assert rows(tmp_path) == before
    assert {key: row_ids(tmp_path)[key] for key in ids} == ids


def row_ids_after_vectors(path: Path) -> dict[int, tuple[int, int]]:
    """Without the row that was replaced, which is in two files."""
    return {key: value for key, value in row_ids(path).items() if key != 3}


@pytest.mark.parametrize("request_", [OptimizeRequest(), ZORDER], ids=["compact", "zorder"])
def test_what_a_run_that_dies_wrote_is_gone_and_the_next_finishes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request_: OptimizeRequest
) -> None:
    make(tmp_path)
    before, files = rows(tmp_path), list(tmp_path.rglob("*.parquet"))
    finish, calls = FileWriter.finish, []

    def dying(*given: Any, **more: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return finish(*given, **more)

    monkeypatch.setattr(FileWriter, "finish", dying)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, request_, **{MAX_FILE: "9000"})
    assert list(tmp_path.rglob("*.parquet")) == files
    assert (lakebed.open(tmp_path).version, rows(tmp_path)) == (5, before)
    monkeypatch.undo()
    run(tmp_path, request_)
    assert rows(tmp_path) == before
    assert lakebed.open(tmp_path).version == 6


def test_others_may_append_and_change_rows_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, **FEATURES["vectors"])
    steps = [
        lambda: lakebed.write(tmp_path, data(7, 1), mode="overwrite", replace_where="id = 7"),
        lambda: lakebed.write(tmp_path, data(900, 1)),
    ]
    compact = Local.compact

    def interrupted(*given: Any) -> Any:
        found = compact(*given)
        if steps:
            steps.pop()()
        return found

    monkeypatch.setattr(Local, "compact", interrupted)
    expected = sorted([*rows(tmp_path), *one_more()])
    run(tmp_path)
    run(tmp_path)
    assert not steps
    assert rows(tmp_path) == expected
    assert lakebed.open(tmp_path).num_files < 4


def one_more() -> list[str]:
    with TemporaryDirectory() as folder:
        lakebed.write(folder, data(899, 2))
        return [row for row in rows(Path(folder)) if "'id': 900" in row]


def test_a_file_that_is_gone_is_named_and_nothing_changes(tmp_path: Path) -> None:
    make(tmp_path)
    [gone, *_] = lakebed.open(tmp_path).files()["path"].to_pylist()
    (tmp_path / gone).unlink()
    with pytest.raises(DataFileError, match="gone") as caught:
        run(tmp_path)
    assert gone in str(caught.value)
    assert lakebed.open(tmp_path).version == 5


def local(path: Path, most: int = 1 << 20, **settings: str) -> Local:
    return Local(lakebed.open(path).snapshot, 1 << 30, most, settings)


def test_spark_is_left_what_only_spark_can_do(tmp_path: Path) -> None:
    """Too much, dates of the old calendar, a damaged file, settings that only Spark follows."""
    make(tmp_path, 2)
    adds = adds_from_table(lakebed.open(tmp_path).snapshot.files(ADD_FIELDS))
    bins = by_partition(adds)
    assert local(tmp_path).compact(bins) is not None
    assert local(tmp_path, most=1000).compact(bins) is None
    assert local(tmp_path, most=0).compact(bins) is None
    assert local(tmp_path, **{"spark.sql.files.maxRecordsPerFile": "5"}).compact(bins) is None
    assert local(tmp_path, **{"spark.sql.parquet.compression.codec": "lzo"}).compact(bins) is None
    file = tmp_path / adds[0].path
    kept = file.read_bytes()
    old = pq.read_table(file).replace_schema_metadata({"org.apache.spark.version": "2.4.5"})
    pq.write_table(old, file)
    assert local(tmp_path).compact(bins) is None
    file.write_bytes(kept[: len(kept) // 2])
    assert local(tmp_path).compact(bins) is None
    file.write_bytes(kept)
    assert len(local(tmp_path).compact(bins) or ()) == 1
    columns = curve_columns(lakebed.open(tmp_path).snapshot.schema, [("id",)])
    several = Local(lakebed.open(tmp_path).snapshot, 1000, sum(add.size for add in adds), {})
    assert several.arrange(bins, columns, "zorder") is not None


def test_rows_that_take_too_much_memory_are_left_to_spark(tmp_path: Path) -> None:
    """They are small in files, as they are all the same."""
    same = pa.table({"id": pa.repeat(7, 200_000), "name": pa.repeat("n" * 50, 200_000)})
    for _ in range(3):
        lakebed.write(tmp_path, same)
    snapshot = lakebed.open(tmp_path).snapshot
    bins = by_partition(adds_from_table(snapshot.files(ADD_FIELDS)))
    columns = curve_columns(snapshot.schema, [("id",)])
    most = bins[0].size
    assert Local(snapshot, 1000, most, {}).arrange(bins, columns, "zorder") is None
    assert len(Local(snapshot, 1000, most, {}).compact(bins) or ()) == 1


def test_the_setting() -> None:
    assert local_bytes({}, is_connect=False) == 256 << 20
    assert local_bytes({}, is_connect=True) == 32 << 20
    assert local_bytes({OPTIMIZE_LOCAL_BYTES.name: "0"}, is_connect=False) == 0
    assert local_bytes({OPTIMIZE_LOCAL_BYTES.name: "2mb"}, is_connect=True) == 2 << 20
    with pytest.raises(InvalidArgumentError, match="localBytes"):
        local_bytes({OPTIMIZE_LOCAL_BYTES.name: "many"}, is_connect=False)


def test_objects_of_a_store_that_is_no_disk() -> None:
    url = "memory://optimize-local/t"
    for number in range(3):
        lakebed.write(url, data(number + 1, 1))
    run(url)
    table = lakebed.open(url)
    assert (table.num_files, sorted(table.scan().to_arrow()["id"].to_pylist())) == (1, [1, 2, 3])


@pytest.mark.parametrize("kind", ["zorder", "hilbert"])
def test_keys_of_columns_are_those_of_their_values(kind: Kind) -> None:
    random = Random(5)
    some = [None, float("nan"), -0.0, 0.0]
    columns = {
        "longs": [None if random.random() < 0.1 else random.randrange(-99, 99) for _ in range(900)],
        "doubles": [random.choice([*some, random.random()]) for _ in range(900)],
        "texts": [random.choice([None, "", "é", f"n{random.randrange(300)}"]) for _ in range(900)],
        "nulls": pa.nulls(900, pa.int64()),
        "nans": [float("nan"), None, float("nan")] * 300,
    }
    arrays = {name: pa.chunked_array([pa.array(values)]) for name, values in columns.items()}
    for names in (["longs"], ["longs", "doubles"], ["texts", "longs", "doubles"], list(columns)):
        chosen = [arrays[name] for name in names]
        curve = Curve.of(kind, [column.slice(0, 200) for column in chosen])
        assert curve_keys(curve, chosen).tolist() == curve.keys(chosen)
