"""The fault-injecting store does to its caller exactly what it says."""

from __future__ import annotations

import pytest

from lakebed.errors import ObjectExistsError, ObjectNotFoundError, StorageError
from lakebed.storage import Store, open_store
from testkit.faults import Call, Fault, FaultStore


@pytest.fixture
def inner(request: pytest.FixtureRequest) -> Store:
    return open_store(f"memory://{request.node.nodeid.replace('/', '.')}/x".replace(" ", ""))


def test_without_faults_it_is_the_inner_store_and_records_every_call(inner: Store) -> None:
    store = FaultStore(inner)
    store.put("f/a", b"12")
    store.put_if_absent("f/b", b"3")
    assert store.get("f/a") == b"12"
    assert store.get_many(["f/a", "f/b"]) == [b"12", b"3"]
    assert store.get_range("f/a", 1, 1) == b"2"
    assert store.head("f/a").size == 2
    assert store.exists("f/a")
    assert [meta.path for meta in store.list_from("f/")] == ["f/a", "f/b"]
    assert sorted(meta.path for meta in store.list_all("f")) == ["f/a", "f/b"]
    assert store.open_input("f/a").read() == b"12"
    store.delete("f/a")
    assert store.resolve("f/b") == (store, "f/b")

    assert store.url == inner.url
    assert store.cheap_probes == inner.cheap_probes
    assert store.calls == [
        Call("put", "f/a"),
        Call("put_if_absent", "f/b"),
        Call("get", "f/a"),
        Call("get_many", "f/a f/b"),
        Call("get_range", "f/a"),
        Call("head", "f/a"),
        Call("exists", "f/a"),
        Call("list_from", "f/"),
        Call("list_all", "f"),
        Call("open_input", "f/a"),
        Call("delete", "f/a"),
    ]
    assert store.counts["get"] == 1
    assert store.raised == []


@pytest.mark.parametrize(
    ("mode", "acted"), [("before", False), ("after", True), ("timeout", False)]
)
def test_a_fault_strikes_the_numbered_call_of_its_method_once(
    inner: Store, mode: str, acted: bool
) -> None:
    fault = Fault("put_if_absent", 2, mode)  # type: ignore[arg-type]
    store = FaultStore(inner, fault)
    store.put("other", b"")
    store.put_if_absent("1", b"")
    with pytest.raises(StorageError, match=f"put_if_absent 2 .*{mode}") as caught:
        store.put_if_absent("2", b"")
    store.put_if_absent("3", b"")

    assert not isinstance(caught.value, ObjectExistsError | ObjectNotFoundError)
    assert inner.exists("2") is acted
    assert inner.exists("3")
    assert store.raised == [fault]


def test_a_fault_without_method_counts_every_call(inner: Store) -> None:
    store = FaultStore(inner, Fault(None, 3, "before"))
    store.put("a", b"")
    store.exists("a")
    with pytest.raises(StorageError):
        store.get("a")
    assert store.get("a") == b""


def test_the_inner_error_of_a_call_that_acts_comes_first(inner: Store) -> None:
    inner.put("x", b"")
    store = FaultStore(inner, Fault("put_if_absent", 1, "after"))

    with pytest.raises(ObjectExistsError):
        store.put_if_absent("x", b"")


def test_a_late_effect_arrives_before_the_call_after_next(inner: Store) -> None:
    store = FaultStore(inner, Fault("put_if_absent", 1, "late"))
    with pytest.raises(StorageError):
        store.put_if_absent("x", b"late")

    assert not store.exists("x")
    with pytest.raises(ObjectExistsError):
        store.put_if_absent("x", b"second try")
    assert store.get("x") == b"late"


def test_a_late_effect_can_be_settled_and_may_itself_fail(inner: Store) -> None:
    store = FaultStore(inner, Fault("put_if_absent", 1, "late"), Fault("delete", 1, "late"))
    with pytest.raises(StorageError):
        store.put_if_absent("x", b"late")
    store.put("x", b"first")
    with pytest.raises(StorageError):
        store.delete("y")
    store.settle()

    assert inner.get("x") == b"first"


def test_a_fault_may_raise_an_error_of_ones_own(inner: Store) -> None:
    class Killed(BaseException):
        pass

    store = FaultStore(inner, Fault("put", 1, "after", Killed()))
    with pytest.raises(Killed):
        store.put("x", b"1")
    assert inner.get("x") == b"1"


def test_data_is_copied_so_that_a_late_put_writes_what_was_asked(inner: Store) -> None:
    store = FaultStore(inner, Fault("put", 1, "late"))
    data = bytearray(b"asked")
    with pytest.raises(StorageError):
        store.put("x", data)
    data[:] = b"later"
    store.settle()

    assert inner.get("x") == b"asked"
