"""How many requests the sizes of objects take: pages of listings where these tell many at once."""

from __future__ import annotations

import pytest

from lakebed.errors import StorageError
from lakebed.storage import Store, open_store
from lakebed.storage.obstore.obstore_store import WORTH_A_PAGE
from testkit.servers.stub_s3 import StubS3, stub

__all__ = ["stub"]


@pytest.fixture
def store(stub: StubS3) -> Store:
    return open_store("s3://b/t", stub.options())


def names(count: int, folder: str = "") -> list[str]:
    return [f"{folder}part-{i:05}.parquet" for i in range(count)]


def fill(stub: StubS3, paths: list[str]) -> None:
    for size, path in enumerate(paths):
        stub.objects[f"/b/t/{path}"] = b"x" * size


def kinds(stub: StubS3) -> list[str]:
    found = ["LIST" if "list-type" in path else kind for kind, path, _ in stub.requests]
    stub.requests.clear()
    return found


def test_many_objects_take_a_request_for_a_thousand(stub: StubS3, store: Store) -> None:
    """In whatever folders they are, and whatever else is between these."""
    paths = [name for i in range(20) for name in names(100, f"{i:02}/")]
    log = [f"_delta_log/{i:020}.json" for i in range(3000)]
    fill(stub, [*paths, *log, *names(500, "a/")])
    everything = [*paths, *names(500, "a/")]
    sizes = [*range(2000), *range(5000, 5500)]
    assert store.sizes(everything) == sizes
    assert kinds(stub) == ["LIST"] * 3
    assert store.sizes(everything[::-1]) == sizes[::-1]
    assert kinds(stub) == ["LIST"] * 3


@pytest.mark.parametrize("count", [0, 1, 2, WORTH_A_PAGE - 1])
def test_few_objects_take_a_request_each(stub: StubS3, store: Store, count: int) -> None:
    fill(stub, names(100))
    assert store.sizes(names(count)) == list(range(count))
    assert kinds(stub) == ["HEAD"] * count


@pytest.mark.parametrize("step", [1, 7, 60, 150, 1000, 1001])
def test_never_more_requests_than_objects(stub: StubS3, store: Store, step: int) -> None:
    """A few among many others, of which a page of a listing tells but some."""
    paths = names(20_000 if step > 100 else 3000)
    for path in paths:
        stub.objects[f"/b/t/{path}"] = b"12"
    asked = paths[::step]
    assert store.sizes(asked) == [2] * len(asked)
    assert len(kinds(stub)) <= len(asked)


def test_an_object_that_is_missing_has_no_size(stub: StubS3, store: Store) -> None:
    fill(stub, names(100))
    assert store.sizes(["a", *names(100), "z"]) == [None, *range(100), None]
    assert kinds(stub) == ["LIST", "HEAD", "HEAD"]
    assert store.sizes(["a", "z"]) == [None, None]


def test_a_listing_without_some_objects_is_not_believed(
    stub: StubS3, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakebed.storage.obstore.obstore_store._before", lambda key: key + "~")
    fill(stub, names(100))
    assert store.sizes(names(100)) == list(range(100))
    assert kinds(stub) == ["LIST", "HEAD"]


def test_a_store_that_refuses_to_answer_is_an_error(stub: StubS3, store: Store) -> None:
    fill(stub, names(100))
    stub.refuses_with = 403
    for count in (2, 100):
        with pytest.raises(StorageError):
            store.sizes(names(count))
