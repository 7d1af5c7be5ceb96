"""Remote stores when things go wrong: lost answers, conflicts, missing buckets, forks, long lists.

The S3 API here is a stub whose answers a test can script; the contract suite runs on a real one.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakebed.errors import (
    InvalidArgumentError,
    ObjectExistsError,
    ObjectNotFoundError,
    StorageError,
)
from lakebed.storage import Store, open_store
from lakebed.storage.obstore import obstore_client, obstore_library, obstore_store
from testkit.servers.s3_server import S3Server
from testkit.servers.stub_s3 import StubS3, stub

__all__ = ["stub"]


# --- conditional puts --------------------------------------------------------------------------


def test_a_conditional_put_asks_the_store_to_decide(stub: StubS3) -> None:
    store = open_store("s3://b/t", stub.options())
    store.put_if_absent("_delta_log/0.json", b"1")
    store.put("other", b"2")

    assert stub.requests == [("PUT", "/b/t/_delta_log/0.json", "*"), ("PUT", "/b/t/other", None)]


@pytest.mark.parametrize("step", ["drop", "fail"])
def test_a_lost_answer_to_a_create_is_ambiguous_and_never_reported_as_existing(
    stub: StubS3, step: str
) -> None:
    store = open_store("s3://b/t", stub.options())
    stub.script = [step]
    with pytest.raises(StorageError, match="s3://b/t/x") as caught:
        store.put_if_absent("x", b"ours")

    assert not isinstance(caught.value, ObjectExistsError)
    assert len(stub.requests) == 1, "a create must not be repeated by the client"
    assert store.get("x") == b"ours"
    with pytest.raises(ObjectExistsError):
        store.put_if_absent("x", b"again")


def test_a_refused_create_is_not_repeated_either(stub: StubS3) -> None:
    store = open_store("s3://b/t", stub.options(max_retries=5))
    stub.script = ["refuse"]
    with pytest.raises(StorageError, match="503"):
        store.put_if_absent("x", b"ours")

    assert len(stub.requests) == 1
    assert not store.exists("x")


def test_plain_puts_are_repeated_by_the_client(stub: StubS3) -> None:
    store = open_store("s3://b/t", stub.options())
    stub.script = ["refuse", "fail", "drop"]
    store.put("x", b"1")

    assert len(stub.requests) == 4
    assert store.get("x") == b"1"


def test_retries_are_bounded_by_the_options(stub: StubS3) -> None:
    store = open_store("s3://b/t", stub.options(max_retries=1))
    stub.script = ["refuse"] * 9
    with pytest.raises(StorageError, match="503"):
        store.put("x", b"1")

    assert len(stub.requests) == 2


def test_a_conflict_without_an_object_is_not_an_existing_object(stub: StubS3) -> None:
    store = open_store("s3://b/t", stub.options())
    stub.script = ["conflict", "conflict"]
    with pytest.raises(StorageError, match="conflict") as caught:
        store.put_if_absent("x", b"1")
    assert not isinstance(caught.value, ObjectExistsError)

    stub.objects["/b/t/x"] = b"theirs"
    with pytest.raises(ObjectExistsError):
        store.put_if_absent("x", b"1")


# --- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda s: s.get("x"),
        lambda s: s.put("x", b""),
        lambda s: s.put_if_absent("x", b""),
        lambda s: s.list_from("_delta_log/0"),
        lambda s: list(s.list_all()),
    ],
)
def test_a_missing_bucket_is_an_error_of_the_store_not_a_missing_object(
    s3_server: S3Server, call: Callable[[Store], object]
) -> None:
    store = open_store("s3://no-such-bucket/t", s3_server.storage_options)
    with pytest.raises(StorageError, match="s3://no-such-bucket/t") as caught:
        call(store)

    assert not isinstance(caught.value, ObjectNotFoundError)
    assert "Debug source" not in str(caught.value)


def test_an_unreachable_store_fails_soon_with_a_hint() -> None:
    options = {
        "aws_endpoint_url": "http://127.0.0.1:9",
        "allow_http": "true",
        "skip_signature": "true",
        "max_retries": 0,
    }
    store = open_store("s3://b/t", options)
    for call in (
        lambda: store.get("x"),
        lambda: store.get_many(["x", "y"]),
        lambda: store.get_range("x", 0, 1),
        lambda: store.head("x"),
        lambda: store.exists("x"),
        lambda: store.put("x", b""),
        lambda: store.put_if_absent("x", b""),
        lambda: store.delete("x"),
        lambda: store.list_from(""),
        lambda: list(store.list_all()),
        lambda: store.open_input("x"),
    ):
        with pytest.raises(StorageError, match="s3://b/t") as caught:
            call()
        assert "cannot be reached" in (caught.value.hint or "")


def test_an_http_endpoint_must_be_allowed(stub: StubS3) -> None:
    options = stub.options()
    del options["aws_allow_http"]
    with pytest.raises(StorageError) as caught:
        open_store("s3://b/t", options).get("x")
    assert "allow_http" in (caught.value.hint or "")


def test_the_environment_may_allow_http(stub: StubS3, monkeypatch: pytest.MonkeyPatch) -> None:
    options = stub.options()
    del options["aws_allow_http"]
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    open_store("s3://b/t", options).put("x", b"1")
    assert stub.requests
    with pytest.raises(StorageError, match="builder error"):
        open_store("s3://b/t", {**options, "allow_http": "false"}).get("x")


def test_control_characters_are_refused_as_names(stub: StubS3) -> None:
    store = open_store("s3://b/t", stub.options())
    with pytest.raises(InvalidArgumentError, match="control characters"):
        store.put("a\nb", b"")
    assert stub.requests == []


def test_signatures_in_urls_do_not_reach_messages() -> None:
    options = {
        "azure_storage_account_name": "a",
        "sas_token": "sv=1&sig=hush",
        "azure_endpoint": "http://127.0.0.1:9",
        "allow_http": "true",
        "max_retries": 0,
    }
    with pytest.raises(StorageError) as caught:
        open_store("az://c/t", options).get("x")
    assert "az://c/t/x" in str(caught.value)
    assert "hush" not in str(caught.value)


def test_an_error_while_pyarrow_reads_comes_through_as_it_is(s3_server: S3Server) -> None:
    store = open_store(s3_server.new_bucket(), s3_server.storage_options)
    buffer = pa.BufferOutputStream()
    pq.write_table(pa.table({"x": [os.urandom(100) for _ in range(5000)]}), buffer)
    store.put("t.parquet", memoryview(buffer.getvalue()))
    file = pq.ParquetFile(store.open_input("t.parquet"))
    store.delete("t.parquet")

    with pytest.raises(ObjectNotFoundError, match=r"t\.parquet"):
        file.read()


# --- listing -----------------------------------------------------------------------------------


@pytest.fixture
def bucket(s3_server: S3Server) -> Store:
    return open_store(s3_server.new_bucket() + "/t", s3_server.storage_options)


@pytest.mark.parametrize("page", [1, 2, 3, 1000])
def test_long_subfolders_are_jumped_over_and_nothing_is_lost(
    bucket: Store, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    direct = [f"log/{n:02}.json" for n in range(5)] + ["log/_last", "log/zz"]
    nested = [f"log/_sidecars/{n:02}" for n in range(7)] + [f"log/03/{n}" for n in range(3)]
    for path in [*direct, *nested, "log/_sidecars0", "log/_sidecars-"]:
        bucket.put(path, b"")
    expected = sorted([*direct, "log/_sidecars0", "log/_sidecars-"])

    monkeypatch.setattr(obstore_store, "PAGE", page)
    for start in ("log/", "log/02", "log/03.json", "log/_"):
        listed = [meta.path for meta in bucket.list_from(start)]
        assert listed == [path for path in expected if path >= start]


def test_a_jump_saves_listing_the_subfolder(bucket: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(30):
        bucket.put(f"log/_sidecars/{n:02}", b"")
    bucket.put("log/zz", b"")
    seen: list[str] = []
    pages = obstore_store.list_pages

    def counted(*arguments: Any) -> Iterator[Any]:
        for page in pages(*arguments):
            seen.extend(found["path"] for found in page)
            yield page

    monkeypatch.setattr(obstore_store, "PAGE", 5)
    monkeypatch.setattr(obstore_store, "list_pages", counted)
    assert [meta.path for meta in bucket.list_from("log/")] == ["log/zz"]
    assert len(seen) == 6


def test_a_provider_that_cannot_start_at_a_name_gives_the_same_listing(
    bucket: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in ("log/0", "log/1", "log/2", "log/sub/x"):
        bucket.put(path, b"12")
    expected = bucket.list_from("log/1")

    level = obstore_store.list_level
    azure = type(bucket.location)("az", "c", "")  # type: ignore[attr-defined]
    monkeypatch.setattr(
        "lakebed.storage.obstore.obstore_store.list_level", lambda c, _, f, n: level(c, azure, f, n)
    )
    assert [meta.path for meta in expected] == ["log/1", "log/2"]
    assert bucket.list_from("log/1") == expected


@pytest.mark.parametrize("size", [0, 10, 100_000])
def test_a_provider_without_ranges_from_the_end_opens_files_too(
    bucket: Store, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    data = os.urandom(size)
    bucket.put("x", data)
    azure = type(bucket.location)("az", "c", "t")  # type: ignore[attr-defined]
    monkeypatch.setattr(bucket, "location", azure)

    file = bucket.open_input("x")
    assert file.size() == size
    assert file.read() == data


def test_objects_that_stand_for_empty_folders_are_not_in_the_folder(s3_server: S3Server) -> None:
    import boto3

    url = s3_server.new_bucket()
    client = boto3.client(
        "s3",
        endpoint_url=s3_server.endpoint,
        aws_access_key_id="a",
        aws_secret_access_key="b",
        region_name="us-east-1",
    )
    for key in ("t/", "t/log/", "t/log/0", "outside"):
        client.put_object(Bucket=url[5:], Key=key, Body=b"")
    client.close()
    store = open_store(url + "/t", s3_server.storage_options)

    assert [meta.path for meta in store.list_from("log/")] == ["log/0"]
    assert "outside" not in [meta.path for meta in store.list_all()]
    assert "" not in [meta.path for meta in store.list_all()]


# --- forks -------------------------------------------------------------------------------------


def in_forked_child(work: Callable[[], None]) -> None:
    """Run `work` in a fork of this process, which is killed if it hangs; fail if it fails."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(30)
        code = 1
        try:
            work()
            code = 0
        except BaseException as error:  # noqa: BLE001 (a child must end here, whatever happens)
            print(f"in the child: {error!r}", file=sys.stderr)
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_store_opened_before_a_fork_works_in_the_child_and_in_the_parent(bucket: Store) -> None:
    bucket.put("from/parent", b"1")

    def child() -> None:
        assert bucket.get("from/parent") == b"1"
        bucket.put_if_absent("from/child", b"2")
        with pytest.raises(ObjectExistsError):
            bucket.put_if_absent("from/child", b"3")
        with pytest.raises(ObjectNotFoundError):
            bucket.get("missing")
        names = [f"many/{n}" for n in range(20)]
        for name in names:
            bucket.put(name, name.encode())
        assert bucket.get_many(names) == [name.encode() for name in names]
        in_forked_child(lambda: bucket.put("from/grandchild", b"4"))

    in_forked_child(child)
    assert bucket.get("from/child") == b"2"
    assert bucket.get("from/grandchild") == b"4"
    assert len(bucket.list_from("many/")) == 20


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_store_can_be_opened_after_a_fork(bucket: Store, s3_server: S3Server) -> None:
    import obstore.exceptions

    bucket.put("x", b"1")
    theirs = obstore.exceptions.BaseError

    def child() -> None:
        opened = open_store(bucket.url, s3_server.storage_options)
        assert opened.get("x") == b"1"
        assert sys.modules["obstore.exceptions"].BaseError is theirs

    in_forked_child(child)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_memory_and_local_stores_work_after_a_fork(tmp_path: Any) -> None:
    memory = open_store(f"memory://{uuid.uuid4().hex}/t")
    local = open_store(tmp_path)
    memory.put("x", b"1")

    def child() -> None:
        assert memory.get("x") == b"1"
        memory.put("x", b"of the child")
        local.put_if_absent("x", memory.get("x"))

    in_forked_child(child)
    assert memory.get("x") == b"1"
    assert local.get("x") == b"of the child"


def _create(arguments: tuple[Store, int]) -> int:
    store, number = arguments
    won = 0
    for name in range(10):
        with contextlib.suppress(ObjectExistsError):
            store.put_if_absent(f"race/{name}", b"%d" % number)
            won += 1
    return won


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_pool_of_processes_races_on_one_store(bucket: Store, method: str) -> None:
    bucket.put("started", b"")
    with multiprocessing.get_context(method).Pool(3) as pool:
        wins = pool.map(_create, [(bucket, number) for number in range(3)], chunksize=1)

    assert sum(wins) == 10
    assert len(bucket.list_from("race/")) == 10


def test_where_no_copy_can_be_loaded_a_forked_process_is_told_to_spawn(
    monkeypatch: pytest.MonkeyPatch, bucket: Store
) -> None:
    def unloadable(_: str) -> None:
        raise ImportError("failed to map segment from shared object")

    monkeypatch.setattr(obstore_library, "_load", unloadable)
    monkeypatch.setattr(obstore_library, "_library", None)
    monkeypatch.setattr(obstore_library, "_inherited", True)
    with pytest.raises(StorageError, match="forked process") as caught:
        bucket.get("x")
    assert "spawn" in (caught.value.hint or "")


# --- memory ------------------------------------------------------------------------------------


def test_memory_is_shared_by_name_and_apart_between_names() -> None:
    name = uuid.uuid4().hex
    one, two = open_store(f"memory://{name}/a"), open_store(f"memory://{name}/a/")
    other, beside = open_store(f"memory://{name}2/a"), open_store(f"memory://{name}/ab")
    one.put("x", b"1")

    assert two.get("x") == b"1"
    assert not other.exists("x")
    assert list(beside.list_all()) == []
    assert [meta.path for meta in open_store(f"memory://{name}").list_all()] == ["a/x"]


def test_clients_are_made_once_per_process(bucket: Store) -> None:
    connection = bucket._connection  # type: ignore[attr-defined]
    assert isinstance(connection, obstore_client.Connection)
    assert connection.clients() is connection.clients()
