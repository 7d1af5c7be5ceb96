"""Snapshots that are in no log, read by Python workers; judged by plain reads of the files."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import lakebed
from lakebed.arrow.scan import plan_scan
from lakebed.data_files.file_layout import FileLayout
from lakebed.errors import DataFileError, SchemaError
from lakebed.formats.deletion_vectors import RowIndexSet, encode_bitmap
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.snapshot import Snapshot
from lakebed.log.synthetic_snapshot import synthetic_snapshot
from lakebed.spark.plane.plane import FileSettings
from lakebed.spark.plane.position_bitmaps import POSITION
from lakebed.spark.workers.read_tasks import ReadTask, task_table
from lakebed.spark.workers.workers_plane import WorkersPlane
from lakebed.spark.workers.write_tasks import WriteTask, added
from lakebed.spec.actions import Add, DeletionVector
from lakebed.spec.columns.column_mapping import column_id, physical_name
from lakebed.spec.schema import INTEGER, STRING, StructField
from lakebed.spec.vector_descriptors import inline_vector
from lakebed.storage import open_store
from lakebed.storage.store import Store
from testkit.readers.other_readers import read_elsewhere
from testkit.schemas import column
from testkit.servers.s3_server import S3Server
from testkit.tables.arbitrary_tables import make_table, rows, schema_of
from testkit.tables.spark_tables import save, settings

FILE, KIND = "__lakebed_file", "_change_type"
COUNT = 35
# Of the rows of each file: some, those of a whole row group, none, all.
DELETED = ([0, 9, 10, 34], list(range(10, 20)), [], list(range(COUNT)))

Row = tuple[Any, ...]


def vector_of(indexes: Sequence[int]) -> DeletionVector | None:
    found = RowIndexSet.from_indexes(indexes)
    return inline_vector(encode_bitmap(found), found.cardinality) if indexes else None


def stored(path: Path, data: Mapping[str, list[Any]]) -> pa.Table:
    """Columns as the files of the table have them: under physical names, with ids."""
    fields, arrays = [], []
    for name, values in data.items():
        field = schema_of(path).find(name)
        array = pa.array(values)
        number = None if field is None else column_id(field)
        ids = None if number is None else {b"PARQUET:field_id": str(number).encode()}
        fields.append(
            pa.field(name if field is None else physical_name(field), array.type, metadata=ids)
        )
        arrays.append(array)
    return pa.table(arrays, schema=pa.schema(fields))


def make_files(path: Path, mode: str) -> list[Add]:
    """Files of several row groups that no log has; only the first one has the column KIND."""
    fields = (column("id"), column("text", STRING), column("p", STRING))
    properties = {"delta.enableDeletionVectors": "true", "delta.columnMapping.mode": mode}
    make_table(path, *fields, partition_by=("p",), properties=properties)
    partition = physical_name(schema_of(path).field("p"))
    adds = []
    for number, deleted in enumerate(DELETED):
        data: dict[str, list[Any]] = {
            "id": [number * 100 + index for index in range(COUNT)],
            "text": [f"é{index}" if index % 3 else None for index in range(COUNT)],
        }
        if number == 0:
            data[KIND] = ["insert" if index % 2 else "delete" for index in range(COUNT)]
        file = path / f"file {number}.parquet"
        pq.write_table(stored(path, data), file, row_group_size=10)
        assert pq.read_metadata(file).num_row_groups == 4
        add = Add(
            path=f"file%20{number}.parquet",
            partition_values={partition: None if number == 1 else f"p{number}", FILE: str(number)},
            size=file.stat().st_size,
            modification_time=1,
            data_change=True,
            stats=json.dumps({"numRecords": COUNT}),
            deletion_vector=vector_of(deleted),
        )
        adds.append(add)
    return adds


def made(path: Path, adds: Sequence[Add], store: Store | None = None) -> Snapshot:
    table = lakebed.open(path).snapshot
    return synthetic_snapshot(
        store or open_store(str(path)),
        table.protocol,
        table.metadata,
        adds,
        columns=[StructField(KIND, STRING)],
        partitions=[StructField(FILE, INTEGER)],
    )


def expected(path: Path) -> list[Row]:
    """What is in the files, by pyarrow alone: id, text, p, KIND, FILE and the index."""
    names = [physical_name(schema_of(path).field(name)) for name in ("id", "text")]
    found = []
    for number, deleted in enumerate(DELETED):
        data = pq.read_table(path / f"file {number}.parquet").to_pydict()
        partition = None if number == 1 else f"p{number}"
        for index in range(COUNT):
            if index not in deleted:
                values = (data[name][index] for name in names)
                kind = data[KIND][index] if KIND in data else None
                found.append((*values, partition, kind, number, index))
    assert len(found) == 31 + 25 + 35
    return sorted(found)


COLUMNS = ["id", "text", "p", KIND, FILE]


def collected(frame: DataFrame) -> list[Row]:
    return sorted(tuple(row) for row in frame.collect())


# --- the tasks, without Spark around them --------------------------------------------------------


def read(snapshot: Snapshot, parallelism: int = 3) -> list[Row]:
    """What Spark does with the tasks, pickling included."""
    plan = plan_scan(snapshot, position=POSITION)
    run = pickle.loads(pickle.dumps(ReadTask.of(plan)))
    tables = [
        pa.Table.from_batches([batch]) for batch in run(task_table(plan, parallelism).to_batches())
    ]
    return sorted(tuple(row.values()) for table in tables for row in table.to_pylist())


@pytest.mark.parametrize("mode", ["none", "name", "id"])
@pytest.mark.parametrize("piece", [1, 1 << 30])
def test_tasks_read_rows_and_their_positions(
    tmp_path: Path, mode: str, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakebed.arrow.scan._PIECE_BYTES", piece)
    snapshot = made(tmp_path, make_files(tmp_path, mode))
    assert read(snapshot) == expected(tmp_path)


def test_a_task_is_no_larger_than_what_its_own_files_need(tmp_path: Path) -> None:
    """A deletion vector of a file is in its task and nowhere else."""
    first, *others = make_files(tmp_path, "none")
    large = replace(first, deletion_vector=vector_of(range(0, 200_000, 7)))
    plan = plan_scan(made(tmp_path, [large, *others]))
    tasks = task_table(plan, 4)
    sizes = sorted(map(len, tasks["task"].to_pylist()))
    assert len(sizes) == 4
    assert sizes[2] < 2_000 < 20_000 < sizes[3]
    assert len(pickle.dumps(ReadTask.of(plan))) < 10_000


@pytest.mark.parametrize("mode", ["none", "name"])
@pytest.mark.parametrize("folder", [None, "_change_data", "a b"])
def test_files_are_written_below_the_folder_that_was_asked_for(
    tmp_path: Path, mode: str, folder: str | None
) -> None:
    properties = {"delta.columnMapping.mode": mode}
    make_table(tmp_path, column("id"), column("p"), partition_by=("p",), properties=properties)
    snapshot = lakebed.open(tmp_path).snapshot
    layout = FileLayout.of(snapshot.metadata, snapshot.protocol)
    task = WriteTask.of(open_store(str(tmp_path)), layout, FileSettings(folder=folder))
    rows = pa.record_batch({"id": [1, 2, 3], "p": [7, 8, 7]})
    adds = [added(text) for batch in task([rows]) for text in batch["add"].to_pylist()]
    files = sorted(file.relative_to(tmp_path) for file in tmp_path.rglob("*.parquet"))
    assert sorted(add.path.replace("%20", " ") for add in adds) == list(map(str, files))
    assert [pq.ParquetFile(tmp_path / file).metadata.num_rows for file in files] in ([2, 1], [1, 2])
    below = (folder,) if folder else ()
    assert all(file.parts[:-2] == below for file in files)
    if mode == "none":
        assert [file.parts[-2] for file in files] == ["p=7", "p=8"]


# --- on Spark ------------------------------------------------------------------------------------


def test_a_synthetic_snapshot_has_all_columns_and_positions_behind_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    snapshot = made(tmp_path, make_files(tmp_path, "name"))
    plane = WorkersPlane(spark, open_store(str(tmp_path)))
    frame = plane.scan_synthetic(snapshot, positions=True)
    assert frame.columns == [*COLUMNS, POSITION]
    assert dict(frame.dtypes) == {
        "id": "bigint",
        "text": "string",
        "p": "string",
        KIND: "string",
        FILE: "int",
        POSITION: "bigint",
    }
    assert collected(frame) == expected(tmp_path)
    some = frame.where(f"{FILE} = 1 AND {POSITION} >= 20").select("id", POSITION)
    assert collected(some) == [(100 + index, index) for index in range(20, COUNT)]
    plain = plane.scan_synthetic(snapshot)
    assert plain.columns == COLUMNS
    assert collected(plain) == [row[:-1] for row in expected(tmp_path)]


def test_every_task_is_one_of_sparks_also_where_there_are_more_than_cores(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakebed.spark.workers.read_tasks.TASK_BYTES", 4 * 1024 * 1024)
    adds = make_files(tmp_path, "none")
    many = [
        replace(
            adds[2], path=f"copy-{number}.parquet", partition_values={"p": "p2", FILE: f"{number}"}
        )
        for number in range(7)
    ]
    for add in many:
        (tmp_path / add.path).write_bytes((tmp_path / "file 2.parquet").read_bytes())
    plane = WorkersPlane(spark, open_store(str(tmp_path)))
    frame = plane.scan_synthetic(made(tmp_path, many), positions=True)
    found = frame.selectExpr("spark_partition_id() part", FILE).distinct().collect()
    assert sorted(row[FILE] for row in found) == list(range(7))
    assert len({row["part"] for row in found}) == 7
    assert frame.count() == 7 * COUNT


def test_every_type_arrives_as_others_read_it(spark: SparkSession, tmp_path: Path) -> None:
    columns = (
        "id",
        "if(id = 0, null, cast(id as decimal(20, 3))) price",
        "timestamp_seconds(id) at",
        "timestamp_ntz'2026-01-01 02:30:00' local",
        "date_add(date'2026-01-01', cast(id as int)) day",
        "named_struct('x', id, 'y', array(id, null)) deep",
        "map('k', id) m",
        "cast(concat('b', id) as binary) bytes",
    )
    save(spark.range(0, 4, 1, 1).selectExpr(*columns), tmp_path)
    table = lakebed.open(tmp_path).snapshot
    adds = adds_from_table(table.files())
    plane = WorkersPlane(spark, open_store(str(tmp_path)))
    with settings(spark, {"spark.sql.session.timeZone": "America/New_York"}):
        frame = plane.scan_synthetic(
            synthetic_snapshot(table.store, table.protocol, table.metadata, adds)
        )
        assert rows(frame.toArrow()) == rows(read_elsewhere(tmp_path))


def test_variants_arrive(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.range(0, 3, 1, 1).selectExpr("id", "parse_json(concat('{\"a\": ', id, '}')) v")
    save(frame, tmp_path)
    table = lakebed.open(tmp_path).snapshot
    adds = adds_from_table(table.files())
    plane = WorkersPlane(spark, open_store(str(tmp_path)))
    found = plane.scan_synthetic(
        synthetic_snapshot(table.store, table.protocol, table.metadata, adds)
    )
    values = found.selectExpr("id", "variant_get(v, '$.a', 'long') a")
    assert collected(values) == [(0, 0), (1, 1), (2, 2)]


def test_no_files_give_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    make_files(tmp_path, "none")
    plane = WorkersPlane(spark, open_store(str(tmp_path)))
    frame = plane.scan_synthetic(made(tmp_path, []), positions=True)
    assert frame.columns == [*COLUMNS, POSITION]
    assert frame.collect() == []


def test_errors_of_workers_are_those_of_lakebed(spark: SparkSession, tmp_path: Path) -> None:
    adds = make_files(tmp_path, "none")
    plane = WorkersPlane(spark, open_store(str(tmp_path)))
    frame = plane.scan_synthetic(made(tmp_path, adds))
    (tmp_path / "file 1.parquet").unlink()
    with pytest.raises(DataFileError, match=r"file 1\.parquet") as caught:
        frame.collect()
    assert "VACUUM" in str(caught.value.hint)
    taken = tmp_path / "taken"
    make_table(taken, column(POSITION.upper()))
    with pytest.raises(SchemaError, match="rename"):
        plane.scan_synthetic(lakebed.open(taken).snapshot, positions=True)


def test_workers_reach_a_store_with_the_credentials_of_the_client(
    spark: SparkSession, s3_server: S3Server, tmp_path: Path
) -> None:
    store = open_store(f"{s3_server.new_bucket()}/table", s3_server.storage_options)
    adds = make_files(tmp_path, "none")
    for file in tmp_path.glob("*.parquet"):
        store.put(file.name, file.read_bytes())
    plane = WorkersPlane(spark, store)
    frame = plane.scan_synthetic(made(tmp_path, adds, store), positions=True)
    assert collected(frame) == expected(tmp_path)


def test_change_files_are_written_below_their_folder(spark: SparkSession, tmp_path: Path) -> None:
    make_table(tmp_path, column("id"), column("p"), partition_by=("p",))
    snapshot = lakebed.open(tmp_path).snapshot
    layout = FileLayout.of(snapshot.metadata, snapshot.protocol)
    plane = WorkersPlane(spark, open_store(str(tmp_path)))
    frame = spark.range(0, 6, 1, 2).selectExpr("id", "id % 2 p")
    adds = plane.write_files(frame, layout, FileSettings(folder="_change_data"))
    assert {add.path.rpartition("/")[0] for add in adds} == {
        "_change_data/p=0",
        "_change_data/p=1",
    }
    found = [
        n for add in adds for n in pq.ParquetFile(tmp_path / add.path).read()["id"].to_pylist()
    ]
    assert sorted(found) == [0, 1, 2, 3, 4, 5]


# --- on Spark Connect ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def remote(connect_server: str) -> Iterator[Any]:
    from pyspark.sql.connect.session import SparkSession as RemoteSession

    session = RemoteSession.builder.remote(connect_server).getOrCreate()
    yield lakebed.enable(session)
    session.stop()


def test_a_synthetic_snapshot_is_read_on_spark_connect(
    remote: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    adds = make_files(tmp_path, "name")
    plane = WorkersPlane(remote, open_store(str(tmp_path)))
    frame = plane.scan_synthetic(made(tmp_path, adds), positions=True)
    assert collected(frame) == expected(tmp_path)
    monkeypatch.setattr("lakebed.spark.workers.workers_plane.DEFAULT_PARALLELISM", 1)
    monkeypatch.setattr("lakebed.spark.workers.read_tasks.TASK_BYTES", 4 * 1024 * 1024)
    apart = plane.scan_synthetic(made(tmp_path, adds), positions=True)
    assert apart.selectExpr("spark_partition_id() part").distinct().count() == 3
    assert collected(apart) == expected(tmp_path)
    (tmp_path / "file 1.parquet").unlink()
    with pytest.raises(DataFileError, match=r"file 1\.parquet"):
        frame.collect()
