"""What every store promises, run on local disk, in memory and on a real S3 API."""

from __future__ import annotations

import io
import pickle
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakebed.errors import (
    InvalidArgumentError,
    ObjectExistsError,
    ObjectNotFoundError,
    StorageError,
)
from lakebed.storage import ObjectMeta, Store, open_store
from testkit.servers.s3_server import S3Server

KINDS = ["local", "memory", "s3"]
SPECIAL_NAMES = [
    "with space",
    "per%cent",
    "escaped%20space",
    "hash#tag",
    "question?mark",
    "plus+and&amp=equals",
    "p=2020-01-01 00%3A00%3A00/x",
    "ünï/cödé/日本語",
    "emoji 😀",
    "combining e\u0301",
    "back\\slash",
    "semi;colon:comma,",
    "quote'\"`",
    "<[{(^|~$*!@)}]>",
    "...",
    ".hidden",
    "_underscore",
    "line\u2028separator",
]
BYTES_LIKE = [
    bytearray(b"xy"),
    memoryview(b"xy"),
    memoryview(b"axyb")[1:3],
    memoryview(pa.py_buffer(b"xy")),
    memoryview(b"xy").cast("b"),
]


@pytest.fixture(params=KINDS)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Store]:
    """Opens the same, at first empty, place again and again."""
    if request.param == "local":
        return lambda: open_store(tmp_path / "root")
    if request.param == "memory":
        url = f"memory://{uuid.uuid4().hex}/root"
        return lambda: open_store(url)
    server: S3Server = request.getfixturevalue("s3_server")
    url = server.new_bucket() + "/root"
    return lambda: open_store(url, server.storage_options)


@pytest.fixture
def options(s3_server: S3Server) -> Mapping[str, str]:
    """Known to one kind, ignored by the others."""
    return s3_server.storage_options


@pytest.fixture
def store(opened: Callable[[], Store]) -> Store:
    return opened()


def paths(metas: object) -> list[str]:
    return [meta.path for meta in metas]  # type: ignore[attr-defined]


# --- one object --------------------------------------------------------------------------------


def test_an_object_put_is_read_back_by_every_method(store: Store) -> None:
    before = int(time.time() * 1000) - 2000
    store.put("a/b/c.bin", b"0123456789")

    assert store.get("a/b/c.bin") == b"0123456789"
    assert store.get_range("a/b/c.bin", 2, 3) == b"234"
    assert store.exists("a/b/c.bin")
    assert store.open_input("a/b/c.bin").read() == b"0123456789"
    meta = store.head("a/b/c.bin")
    assert (meta.path, meta.size) == ("a/b/c.bin", 10)
    assert before <= meta.modified_ms <= before + 60_000


def test_an_empty_object_is_an_object(store: Store) -> None:
    store.put("empty", b"")

    assert store.get("empty") == b""
    assert store.head("empty").size == 0
    assert store.get_range("empty", 0, 5) == b""
    assert store.open_input("empty").read() == b""
    assert paths(store.list_from("")) == ["empty"]
    with pytest.raises(ObjectExistsError):
        store.put_if_absent("empty", b"x")
    assert store.get("empty") == b""


def test_sizes_come_in_the_order_asked_and_none_for_what_is_missing(store: Store) -> None:
    names = [f"p=a b/{i:03}" for i in range(40)]
    for size, name in enumerate(names):
        store.put(name, b"x" * size)

    asked = [*reversed(names), "gone", names[7], names[7]]
    assert store.sizes(asked) == [*range(39, -1, -1), None, 7, 7]
    assert store.sizes([names[3], "gone"]) == [3, None]
    assert store.sizes([]) == []


@pytest.mark.parametrize("data", BYTES_LIKE)
def test_any_bytes_like_value_can_be_put(store: Store, data: bytearray | memoryview) -> None:
    store.put("plain", data)
    store.put_if_absent("created", data)

    assert store.get("plain") == store.get("created") == b"xy"


def test_an_object_of_some_megabytes_survives_both_puts(store: Store) -> None:
    data = bytes(range(256)) * (7 * 4096)  # more than one part of a multipart upload

    store.put("plain", data)
    store.put_if_absent("created", data)

    assert store.get("plain") == data
    assert store.get("created") == data


def test_put_replaces_longer_and_shorter_content(store: Store) -> None:
    for content in (b"middle", b"the longest of them", b"s"):
        store.put("x", content)
        assert store.get("x") == content
        assert store.head("x").size == len(content)


def test_put_if_absent_leaves_what_is_there(store: Store) -> None:
    store.put_if_absent("log/1", b"first")

    with pytest.raises(ObjectExistsError, match="log/1"):
        store.put_if_absent("log/1", b"second")
    assert store.get("log/1") == b"first"


def test_a_name_is_free_again_after_delete(store: Store) -> None:
    store.put_if_absent("x", b"1")
    store.delete("x")

    assert not store.exists("x")
    store.put_if_absent("x", b"2")
    assert store.get("x") == b"2"


def test_deleting_a_missing_object_is_no_error(store: Store) -> None:
    store.delete("never/was")
    store.put("folder/x", b"1")
    store.delete("folder/x/below")

    assert store.get("folder/x") == b"1"


@pytest.mark.parametrize(
    "read",
    [
        lambda s, p: s.get(p),
        lambda s, p: s.get_many([p]),
        lambda s, p: s.get_many(["there", p]),
        lambda s, p: s.get_range(p, 0, 1),
        lambda s, p: s.get_range(p, 0, 0),
        lambda s, p: s.get_range(p, 9, 9),
        lambda s, p: s.head(p),
        lambda s, p: s.open_input(p),
    ],
    ids=["get", "one", "many", "range", "no range", "far range", "head", "open"],
)
@pytest.mark.parametrize("path", ["missing", "no/such/folder", "folder", "there/below"])
def test_reading_a_missing_object_names_it(
    store: Store, read: Callable[[Store, str], object], path: str
) -> None:
    store.put("there", b"1")
    store.put("folder/x", b"1")

    assert not store.exists(path)
    with pytest.raises(ObjectNotFoundError) as caught:
        read(store, path)
    assert f"{store.url}/{path}" in str(caught.value)


def test_get_many_keeps_the_order_asked(store: Store) -> None:
    for number in range(20):
        store.put(f"n/{number}", b"%d" % number)

    asked = [f"n/{number}" for number in (7, 3, 19, 3, 0)]
    assert store.get_many(asked) == [b"7", b"3", b"19", b"3", b"0"]
    assert store.get_many([]) == []


# --- names -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SPECIAL_NAMES)
def test_special_names_are_taken_letter_by_letter(store: Store, name: str) -> None:
    path = f"f/{name}"
    store.put_if_absent(path, name.encode())

    assert store.get(path) == name.encode()
    assert store.head(path).path == path
    assert paths(store.list_all("f")) == [path]
    folder = path.rpartition("/")[0]
    assert paths(store.list_from(folder + "/")) == [path]
    assert paths(store.list_from(path)) == [path]
    store.delete(path)
    assert not store.exists(path)


@pytest.mark.parametrize(
    "path", ["", "/x", "x/", "a//b", ".", "..", "../x", "a/../b", "a/.", "\0", "\ud800"]
)
def test_impossible_paths_are_refused_by_every_method(store: Store, path: str) -> None:
    store.put("x", b"1")
    for call in (
        lambda: store.get(path),
        lambda: store.get_range(path, 0, 1),
        lambda: store.head(path),
        lambda: store.exists(path),
        lambda: store.open_input(path),
        lambda: store.put(path, b""),
        lambda: store.put_if_absent(path, b""),
        lambda: store.delete(path),
    ):
        with pytest.raises(InvalidArgumentError):
            call()
    assert paths(store.list_all()) == ["x"]


# --- ranges ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "length", "expected"),
    [
        (0, 10, b"0123456789"),
        (0, 1, b"0"),
        (9, 1, b"9"),
        (0, 0, b""),
        (5, 0, b""),
        (8, 5, b"89"),
        (0, 1000, b"0123456789"),
        (10, 1, b""),
        (11, 4, b""),
        (10, 0, b""),
    ],
)
def test_ranges_end_where_the_object_ends(
    store: Store, start: int, length: int, expected: bytes
) -> None:
    store.put("x", b"0123456789")

    assert store.get_range("x", start, length) == expected


@pytest.mark.parametrize(("start", "length"), [(-1, 2), (0, -1)])
def test_negative_ranges_are_refused(store: Store, start: int, length: int) -> None:
    store.put("x", b"0123456789")

    with pytest.raises(InvalidArgumentError):
        store.get_range("x", start, length)


# --- listing -----------------------------------------------------------------------------------


def test_an_empty_place_lists_nothing(store: Store) -> None:
    assert store.list_from("") == []
    assert store.list_from("log/") == []
    assert store.list_from("log/0001") == []
    assert list(store.list_all()) == []
    assert list(store.list_all("log")) == []


def test_list_from_is_sorted_bounded_and_of_one_level(store: Store) -> None:
    inside = [
        "log/00.json",
        "log/01.json",
        "log/010",
        "log/02.json",
        "log/_last",
        "log/é",
        "log/日",
    ]
    for path in reversed(inside):
        store.put(path, b"x" * len(path))
    for outside in ("log/_sub/a", "log/01/b", "log0/z", "lo", "zz", "a/log/00"):
        store.put(outside, b"")

    listed = store.list_from("log/")
    assert paths(listed) == sorted(inside)
    assert [meta.size for meta in listed] == [len(path) for path in sorted(inside)]
    assert all(isinstance(meta, ObjectMeta) for meta in listed)
    for start in ["log/0", "log/01", "log/01.", "log/01.json", "log/01.jsonx", "log/_", "log/zzz"]:
        assert paths(store.list_from(start)) == [p for p in sorted(inside) if p >= start], start


@pytest.mark.parametrize("start", ["", "a", "b", "bb", ".", "..", "...", "~"])
def test_list_from_at_the_root(store: Store, start: str) -> None:
    names = ["...x", ".dot", "a", "b", "bb", "c"]
    for path in [*names, "b-/below", "d/below"]:
        store.put(path, b"")

    assert paths(store.list_from(start)) == [name for name in sorted(names) if name >= start]


def test_a_listing_agrees_with_head(store: Store) -> None:
    for number in range(5):
        store.put(f"f/{number}", b"x" * number)

    assert [store.head(meta.path) for meta in store.list_from("f/")] == store.list_from("f/")
    assert sorted(store.list_all("f")) == store.list_from("f/")


def test_list_all_is_recursive_below_a_folder(store: Store) -> None:
    everything = ["x", "f/1", "f/g/2", "f/g/h/3", "f2/4", "ff", "f-/5"]
    for path in everything:
        store.put(path, b"")

    assert sorted(paths(store.list_all())) == sorted(everything)
    assert sorted(paths(store.list_all("f"))) == ["f/1", "f/g/2", "f/g/h/3"]
    assert sorted(paths(store.list_all("f/"))) == ["f/1", "f/g/2", "f/g/h/3"]
    assert sorted(paths(store.list_all("f/g"))) == ["f/g/2", "f/g/h/3"]
    assert list(store.list_all("f/1")) == []


@pytest.mark.parametrize("prefix", ["..", "../x", "a//b", "/"])
def test_listings_never_leave_the_root(store: Store, prefix: str) -> None:
    with pytest.raises(InvalidArgumentError):
        store.list_from(prefix + "/x")
    with pytest.raises(InvalidArgumentError):
        list(store.list_all(prefix))


# --- races -------------------------------------------------------------------------------------


@pytest.mark.timeout(120)
def test_of_8_racers_exactly_one_wins_each_of_200_names(opened: Callable[[], Store]) -> None:
    racers, names = 8, 200
    wins: list[list[int]] = [[] for _ in range(names)]
    surprises: list[BaseException] = []
    barrier = threading.Barrier(racers)

    def race(racer: int) -> None:
        store = opened()
        content = b"%d" % racer * 500
        for number in range(names):
            if number % 10 == 0:
                barrier.wait()
            try:
                store.put_if_absent(f"_delta_log/{number:020}.json", content)
                wins[number].append(racer)
            except ObjectExistsError:
                pass

    def racing(racer: int) -> None:
        try:
            race(racer)
        except BaseException as error:  # noqa: BLE001 (a thread must hand its failure over)
            surprises.append(error)
            barrier.abort()

    threads = [threading.Thread(target=racing, args=(racer,)) for racer in range(racers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert surprises == []
    assert [len(winners) for winners in wins] == [1] * names
    store = opened()
    listed = paths(store.list_from("_delta_log/"))
    assert listed == [f"_delta_log/{number:020}.json" for number in range(names)]
    contents = store.get_many(listed)
    assert contents == [b"%d" % winners[0] * 500 for winners in wins]


def test_readers_see_old_or_new_content_while_it_is_replaced(opened: Callable[[], Store]) -> None:
    store = opened()
    versions = [bytes([65 + n]) * (100_000 + 1000 * n) for n in range(5)]
    store.put("x", versions[0])
    done = threading.Event()

    def write() -> None:
        writer = opened()
        for round_ in range(20):
            writer.put("x", versions[round_ % 5])
        done.set()

    thread = threading.Thread(target=write)
    thread.start()
    while not done.is_set():
        assert store.get("x") in versions
    thread.join()


# --- whole stores ------------------------------------------------------------------------------


def test_two_opens_of_one_place_share_its_objects(opened: Callable[[], Store]) -> None:
    one, two = opened(), opened()
    one.put("x", b"1")

    assert two.get("x") == b"1"
    assert one.url == two.url
    assert one.url in repr(one)


def test_the_root_itself_can_be_opened_one_folder_deeper(
    opened: Callable[[], Store], options: Mapping[str, str]
) -> None:
    store = opened()
    store.put("deep er/x%1", b"1")

    deeper = open_store(store.url + "/deep%20er", options)
    assert paths(deeper.list_all()) == ["x%1"]
    assert open_store(deeper.url, options).get("x%1") == b"1"


def test_a_pickled_store_opens_the_same_place(store: Store) -> None:
    store.put("x", b"1")
    copy = pickle.loads(pickle.dumps(store))

    assert copy.url == store.url
    assert copy.get("x") == b"1"
    copy.put_if_absent("y", b"2")
    assert store.get("y") == b"2"


def test_references_of_a_log_resolve_inside_and_outside(store: Store) -> None:
    outside = store.url.rpartition("/")[0] + "/other%20table"

    assert store.resolve("p=1/a%20b%2525.parquet") == (store, "p=1/a b%25.parquet")
    assert store.resolve(store.url + "/p/x%23") == (store, "p/x#")
    other, path = store.resolve(outside + "/f%201")
    assert path.endswith("other table/f 1")
    other.put(path, b"there")
    assert other.get(path) == b"there"
    again, second = store.resolve(outside + "/f2")
    assert again is other
    assert second == path.replace("f 1", "f2")
    assert not store.exists("f 1")


@pytest.mark.parametrize("size", [0, 10, 200_000, 20_000_000])
def test_open_input_reads_and_seeks_like_a_file(store: Store, size: int) -> None:
    data = (b"%08d" * 4 % (1, 2, 3, 4) + bytes(range(256))) * (size // 288 + 1)
    data = data[:size]
    store.put("x", data)
    file, twin = store.open_input("x"), io.BytesIO(data)

    assert file.size() == size
    for offset in (0, 5, size // 2, size - 1, size - 70_000, size):
        if 0 <= offset <= size:
            for length in (0, 1, 100, 70_000):
                file.seek(offset)
                twin.seek(offset)
                assert file.read(length) == twin.read(length)
                assert file.tell() == twin.tell()
    file.seek(0)
    assert file.read() == data


def test_open_input_feeds_pyarrow_parquet(store: Store) -> None:
    table = pa.table({"id": range(50_000), "text": [f"row {n}" for n in range(50_000)]})
    buffer = pa.BufferOutputStream()
    pq.write_table(table, buffer, row_group_size=10_000)
    store.put("t.parquet", memoryview(buffer.getvalue()))

    assert pq.read_table(store.open_input("t.parquet")) == table
    file = pq.ParquetFile(store.open_input("t.parquet"))
    assert file.read_row_group(3, columns=["id"])["id"].to_pylist() == list(range(30_000, 40_000))


def test_probes_are_cheap_where_no_request_is_needed(store: Store) -> None:
    assert store.cheap_probes is (not store.url.startswith(("s3:", "az:")))


def test_every_error_of_a_store_is_a_storage_error() -> None:
    assert issubclass(ObjectNotFoundError, StorageError)
    assert issubclass(ObjectExistsError, StorageError)
