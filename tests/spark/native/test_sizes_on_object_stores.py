"""Sizes of data files on object stores: those of untrusted tables are compared with the store's.

The store is a stub of S3 for Lakebed, and a folder of the same objects for Hadoop.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed.errors import DataFileError, LakebedError, StorageError
from lakebed.log.listing.log_names import commit_path
from lakebed.settings.setting_table import DATA_PLANE, UNTRUSTED
from lakebed.spark.native.file_sizes import CheckedFiles, check_sizes
from lakebed.spec.actions import Add
from lakebed.storage import Store, open_store
from testkit.schemas import column
from testkit.servers.stub_s3 import StubS3, stub
from testkit.tables.arbitrary_tables import add_file, make_table

__all__ = ["stub"]

ROWS = 100
TOO_SMALL = "the log says that it has .* bytes, but there are"


# --- what is asked of the store ------------------------------------------------------------------


@dataclass(frozen=True)
class Bucket:
    stub: StubS3
    name: str

    def store(self, **options: object) -> Store:
        return open_store(f"s3://{self.name}/t", self.stub.options(**options))

    def put(self, path: str, size: int) -> None:
        self.stub.objects[f"/{self.name}/t/{path}"] = b"x" * size

    def asked(self) -> int:
        """Requests since the last time."""
        count = len(self.stub.requests)
        self.stub.requests.clear()
        return count


@pytest.fixture
def bucket(stub: StubS3) -> Bucket:
    return Bucket(stub, f"b{uuid.uuid4().hex}")


def check(store: Store, paths: list[str], sizes: list[int]) -> None:
    uris = [f"{store.url}/{path}" for path in paths]
    check_sizes(store, pa.chunked_array([paths]), uris, pa.chunked_array([sizes]))


@pytest.mark.parametrize(("count", "most"), [(1, 1), (5, 5), (300, 1), (2500, 3)])
def test_files_of_an_untrusted_table_are_asked_for_once(
    bucket: Bucket, count: int, most: int
) -> None:
    paths, sizes = [f"{i:05}.parquet" for i in range(count)], list(range(13, count + 13))
    for path, size in zip(paths, sizes, strict=True):
        bucket.put(path, size)
    check(bucket.store(), paths, sizes)
    assert bucket.asked() == 0
    check(bucket.store(untrusted=True), paths, sizes)
    assert bucket.asked() == most
    # Another query, which has a store of its own.
    check(bucket.store(untrusted=True), paths, sizes)
    assert bucket.asked() == 0
    bucket.put("new", 50)
    check(bucket.store(untrusted=True), [*paths, "new"], [*sizes, 50])
    assert bucket.asked() == 1
    # The same file under another size is another question.
    with pytest.raises(DataFileError, match=f"{paths[-1]}: .*{TOO_SMALL} {count + 12}"):
        check(bucket.store(untrusted=True), paths, [*sizes[:-1], sizes[-1] - 1])


def test_what_is_wrong_is_found_again(bucket: Bucket) -> None:
    bucket.put("right", 100)
    bucket.put("wrong", 100)
    for _ in range(2):
        with pytest.raises(DataFileError, match=f"wrong: .*{TOO_SMALL} 100"):
            check(bucket.store(untrusted=True), ["right", "wrong"], [100, 99])
    check(bucket.store(untrusted=True), ["right", "wrong"], [100, 101])


def test_what_is_missing_is_left_to_the_reader_and_asked_for_again(bucket: Bucket) -> None:
    check(bucket.store(untrusted=True), ["later"], [50])
    bucket.put("later", 100)
    with pytest.raises(DataFileError, match=TOO_SMALL):
        check(bucket.store(untrusted=True), ["later"], [50])


def test_a_bucket_of_the_same_name_on_another_server_is_another(bucket: Bucket) -> None:
    bucket.put("file", 50)
    check(bucket.store(untrusted=True), ["file"], [50])
    elsewhere = bucket.stub.options(untrusted=True)
    elsewhere["aws_endpoint_url"] = str(elsewhere["aws_endpoint_url"]).replace(
        "127.0.0.1", "localhost"
    )
    bucket.put("file", 100)
    with pytest.raises(DataFileError, match=TOO_SMALL):
        check(open_store(f"s3://{bucket.name}/t", elsewhere), ["file"], [50])


def test_a_store_that_does_not_answer_is_an_error(bucket: Bucket) -> None:
    bucket.stub.refuses_with = 403
    with pytest.raises(StorageError):
        check(bucket.store(untrusted=True), ["file"], [50])


def test_so_many_files_are_remembered_and_those_of_the_last_tables_stay() -> None:
    known = CheckedFiles(10)
    for table in range(5):
        known.add(table, [str(i) for i in range(4)], [1] * 4)
        assert known.new(0, ["0", "1"], [1, 1]) == []
        assert len(known) <= 10
    assert known.new(4, ["0", "9"], [1, 1]) == [1]
    assert known.new(2, ["0"], [1]) == [0]
    known.add(5, [str(i) for i in range(100)], [1] * 100)
    assert len(known) == 10
    assert len(known.new(5, [str(i) for i in range(100)], [1] * 100)) == 90


# --- queries of Spark ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Table:
    session: SparkSession
    bucket: Bucket
    folder: Path
    add: Add

    @property
    def url(self) -> str:
        return f"s3a://{self.bucket.name}/t"

    def claim(self, size: int) -> None:
        """A commit that gives the file another size."""
        file = self.folder / commit_path(lakebed.open(self.folder).version + 1)
        add = replace(self.add, size=size, stats=None)
        file.write_text(json.dumps({"add": add.to_json()}) + "\n")
        self.upload()

    def upload(self) -> None:
        for file in self.folder.rglob("*"):
            if file.is_file():
                name = file.relative_to(self.folder).as_posix()
                self.bucket.stub.objects[f"/{self.bucket.name}/t/{name}"] = file.read_bytes()

    def rows(self, **options: str) -> list[int]:
        frame = self.session.read.format("delta").options(**options).load(self.url)
        return sorted(row.n for row in frame.collect())

    def asked_for_files(self) -> int:
        paths = [path for _, path, _ in self.bucket.stub.requests if ".parquet" in path]
        self.bucket.stub.requests.clear()
        return len(paths)


@pytest.fixture
def table(spark: SparkSession, bucket: Bucket, tmp_path: Path) -> Table:
    """One file with ten row groups, read by Spark itself."""
    folder = tmp_path / "t"
    make_table(folder, column("n"))
    add = add_file(folder, pa.table({"n": range(ROWS)}), parquet={"row_group_size": ROWS // 10})
    session = lakebed.enable(spark.newSession())
    options = bucket.stub.options()
    for name, value in {
        DATA_PLANE.name: "native",
        "fs.s3a.endpoint": options["aws_endpoint_url"],
        "fs.s3a.access.key": options["aws_access_key_id"],
        "fs.s3a.secret.key": options["aws_secret_access_key"],
        "fs.s3a.endpoint.region": "us-east-1",
        "fs.s3a.impl": "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme",
        f"fs.viewfs.mounttable.{bucket.name}.link./t": f"file://{folder}",
    }.items():
        session.conf.set(name, str(value))
    found = Table(session, bucket, folder, add)
    found.upload()
    return found


def by_option(table: Table) -> Callable[[], list[int]]:
    return lambda: table.rows(untrusted="true")


def by_setting(table: Table) -> Callable[[], list[int]]:
    table.session.conf.set(UNTRUSTED.name, "true")
    return lambda: table.rows(untrusted="false")


def by_sql(table: Table) -> Callable[[], list[int]]:
    table.session.conf.set(UNTRUSTED.name, "true")
    text = f"SELECT n FROM delta.`{table.url}` WHERE n >= 0 ORDER BY n"
    return lambda: [row.n for row in table.session.sql(text).collect()]


WAYS = pytest.mark.parametrize("way", [by_option, by_setting, by_sql])


@WAYS
@pytest.mark.parametrize(("times", "more"), [(0, 12), (0.5, 0), (1, -1)])
def test_a_size_that_is_too_small_is_an_error_where_the_table_is_untrusted(
    table: Table, way: Callable[[Table], Callable[[], list[int]]], times: float, more: int
) -> None:
    table.claim(int(table.add.size * times) + more)
    read = way(table)
    for _ in range(2):
        with pytest.raises(DataFileError, match=f"{TOO_SMALL} {table.add.size}"):
            read()


@WAYS
def test_an_untrusted_table_is_read_and_its_file_asked_for_once(
    table: Table, way: Callable[[Table], Callable[[], list[int]]]
) -> None:
    read = way(table)
    table.asked_for_files()
    assert read() == list(range(ROWS))
    assert table.asked_for_files() == 1
    assert read() == list(range(ROWS))
    assert table.asked_for_files() == 0
    table.claim(table.add.size + 1)
    assert read() == list(range(ROWS))
    assert table.asked_for_files() == 1


def test_a_trusted_table_costs_no_request(table: Table) -> None:
    table.asked_for_files()
    assert table.rows() == list(range(ROWS))
    assert table.asked_for_files() == 0
    groups = pq.read_metadata(table.folder / table.add.path)
    table.claim(groups.row_group(5).column(0).data_page_offset)
    # Whoever may write a log can leave out rows anyway: delta-spark believes it too.
    assert 0 < len(table.rows()) < ROWS


def test_a_missing_file_is_the_error_that_it_was(table: Table) -> None:
    (table.folder / table.add.path).unlink()
    del table.bucket.stub.objects[f"/{table.bucket.name}/t/{table.add.path}"]
    messages = []
    for options in ({}, {"untrusted": "true"}):
        with pytest.raises(LakebedError) as caught:
            table.rows(**options)
        messages.append((type(caught.value), str(caught.value)))
    assert messages[0] == messages[1]
