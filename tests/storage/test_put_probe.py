"""Stores that only pretend to refuse a second creation, before the first commit of a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

import lakebed
from lakebed.errors import ObjectExistsError, StorageError, StoreNotSafeError
from lakebed.log.listing.log_names import PUT_PROBE
from lakebed.storage import open_store
from lakebed.storage.obstore import obstore_client, put_probe
from testkit.servers.s3_server import S3Server
from testkit.servers.stub_s3 import StubS3, stub

__all__ = ["stub"]

PROBE_KEY = f"/b/t/{PUT_PROBE}"
ROWS = pa.table({"id": [1]})


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(put_probe, "PAUSE_SECONDS", 0.0)
    # A later server may get the port of an earlier one.
    monkeypatch.setattr(obstore_client, "_verdicts", {})


def puts(stub: StubS3) -> list[str]:
    return [path for method, path, _ in stub.requests if method == "PUT"]


def test_a_store_that_overwrites_is_found_before_the_first_commit(stub: StubS3) -> None:
    stub.ignores_conditions = True
    store = open_store("s3://b/t", stub.options())
    with pytest.raises(StoreNotSafeError, match="s3://b/ does not refuse") as caught:
        store.require_put_if_absent(PUT_PROBE)
    assert caught.value.code == "STORE_NOT_SAFE"
    assert "single_writer=true" in (caught.value.hint or "")
    assert puts(stub) == [PROBE_KEY, PROBE_KEY]

    stub.ignores_conditions = False  # the server was repaired
    store.require_put_if_absent(PUT_PROBE)


def test_a_safe_store_is_asked_once_in_a_process_for_each_bucket(stub: StubS3) -> None:
    open_store("s3://b/t", stub.options()).require_put_if_absent(PUT_PROBE)
    assert puts(stub) == [PROBE_KEY, PROBE_KEY]
    open_store("s3://b/other", stub.options()).require_put_if_absent(PUT_PROBE)
    assert len(puts(stub)) == 2
    open_store("s3://c/t", stub.options()).require_put_if_absent(PUT_PROBE)
    assert len(puts(stub)) == 4


def test_another_endpoint_is_another_store(stub: StubS3) -> None:
    open_store("s3://b/t", stub.options()).require_put_if_absent(PUT_PROBE)
    with_name = stub.options(aws_endpoint_url=f"http://localhost:{stub.server_port}")
    open_store("s3://b/t", with_name).require_put_if_absent(PUT_PROBE)
    assert len(puts(stub)) == 3  # refused at once: the object is there


def test_the_object_of_an_earlier_process_saves_a_request(stub: StubS3) -> None:
    stub.objects[PROBE_KEY] = b"left"
    open_store("s3://b/t", stub.options()).require_put_if_absent(PUT_PROBE)
    assert puts(stub) == [PROBE_KEY]
    assert stub.objects[PROBE_KEY] == b"left"


@pytest.mark.parametrize("script", [["drop"], ["refuse", "fail"], ["normal", "drop", "refuse"]])
@pytest.mark.parametrize("lies", [False, True])
def test_lost_answers_do_not_change_the_verdict(
    stub: StubS3, script: list[str], lies: bool
) -> None:
    stub.script, stub.ignores_conditions = script, lies
    store = open_store("s3://b/t", stub.options())
    if lies:
        with pytest.raises(StoreNotSafeError):
            store.require_put_if_absent(PUT_PROBE)
    else:
        store.require_put_if_absent(PUT_PROBE)


@pytest.mark.parametrize("script", [["refuse"] * 5, ["normal"] + ["conflict", "refuse"] * 2])
def test_no_definite_answer_is_an_error_and_not_a_pass(stub: StubS3, script: list[str]) -> None:
    stub.script = script
    stub.ignores_conditions = True
    store = open_store("s3://b/t", stub.options())
    with pytest.raises(StorageError) as caught:
        store.require_put_if_absent(PUT_PROBE)
    assert not isinstance(caught.value, StoreNotSafeError)
    with pytest.raises(StoreNotSafeError):
        store.require_put_if_absent(PUT_PROBE)


def test_a_store_that_does_not_know_the_condition_is_not_safe(stub: StubS3) -> None:
    stub.script = ["unknown"]
    with pytest.raises(StoreNotSafeError):
        open_store("s3://b/t", stub.options()).require_put_if_absent(PUT_PROBE)
    disabled = open_store("s3://b/t", stub.options(conditional_put="disabled"))
    with pytest.raises(StoreNotSafeError):
        disabled.require_put_if_absent(PUT_PROBE)
    with pytest.raises(StoreNotSafeError):
        disabled.put_if_absent("x", b"")


# --- tables --------------------------------------------------------------------------------------


def test_nothing_is_committed_to_a_store_that_overwrites(s3_server: S3Server) -> None:
    """Without the question both writers hear that version 0 is theirs."""
    url = s3_server.new_bucket(ignores_conditions=True)
    options = s3_server.storage_options
    store = open_store(url, options)
    store.put_if_absent("x", b"1")
    store.put_if_absent("x", b"2")  # it does overwrite

    with pytest.raises(StoreNotSafeError):
        lakebed.write(f"{url}/t", ROWS, storage_options=options)
    assert [each.path for each in store.list_all("t/_delta_log")] == [f"t/{PUT_PROBE}"]

    for _ in range(2):
        lakebed.write(f"{url}/t", ROWS, storage_options={**options, "single_writer": "true"})
    assert lakebed.open(f"{url}/t", storage_options=options).version == 1


def test_a_single_writer_may_use_a_store_that_overwrites(stub: StubS3) -> None:
    stub.ignores_conditions = True
    store = open_store("s3://b/t", stub.options(single_writer=True))
    store.require_put_if_absent(PUT_PROBE)
    store.put_if_absent("x", b"first")
    with pytest.raises(ObjectExistsError):
        store.put_if_absent("x", b"second")
    assert stub.objects["/b/t/x"] == b"first"
    assert ("PUT", "/b/t/x", None) in stub.requests

    count = len(puts(stub))
    store.require_put_if_absent(PUT_PROBE)
    assert len(puts(stub)) == count
    with pytest.raises(StoreNotSafeError):
        open_store("s3://b/t", stub.options()).require_put_if_absent(PUT_PROBE)


def test_a_single_writer_uses_the_condition_where_the_store_knows_it(stub: StubS3) -> None:
    store = open_store("s3://b/t", stub.options(single_writer="true"))
    store.require_put_if_absent(PUT_PROBE)
    store.put_if_absent("x", b"1")
    assert stub.requests[-1] == ("PUT", "/b/t/x", "*")


def test_a_lost_answer_to_a_single_writer_is_ambiguous(stub: StubS3) -> None:
    stub.ignores_conditions = True
    store = open_store("s3://b/t", stub.options(single_writer=True))
    store.require_put_if_absent(PUT_PROBE)
    stub.script = ["drop"]
    with pytest.raises(StorageError) as caught:
        store.put_if_absent("x", b"ours")
    assert not isinstance(caught.value, ObjectExistsError)
    assert len([path for path in puts(stub) if path == "/b/t/x"]) == 1


def test_the_object_of_the_question_is_no_part_of_the_table(s3_server: S3Server) -> None:
    url, options = f"{s3_server.new_bucket()}/table", s3_server.storage_options
    for number in range(3):
        lakebed.write(url, pa.table({"id": [number]}), storage_options=options)
    store = open_store(url, options)
    assert store.get(PUT_PROBE) == put_probe.CONTENT
    table = lakebed.open(url, storage_options=options)
    assert table.version == 2

    found = DeltaTable(url, storage_options=options).to_pyarrow_table()
    assert sorted(found["id"].to_pylist()) == [0, 1, 2]


def test_local_disks_are_not_asked(tmp_path: Path) -> None:
    lakebed.write(tmp_path, ROWS)
    assert not (tmp_path / PUT_PROBE).exists()


def test_a_process_that_is_killed_between_two_answers_leaves_a_question_that_works(
    stub: StubS3,
) -> None:
    script = (
        "import os, sys, json\n"
        "from lakebed.storage import open_store\n"
        "from lakebed.storage.obstore.put_probe import CONTENT\n"
        "store = open_store('s3://b/t', json.loads(sys.argv[1]))\n"
        f"store.put_if_absent({PUT_PROBE!r}, CONTENT)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    command = [sys.executable, "-c", script, json.dumps(stub.options())]
    assert subprocess.run(command, env=os.environ, check=False).returncode == -9
    open_store("s3://b/t", stub.options()).require_put_if_absent(PUT_PROBE)
    assert len(puts(stub)) == 2


@pytest.mark.parametrize("table", ["t409", "status409"])
def test_a_number_in_a_url_is_not_taken_for_an_answer(stub: StubS3, table: str) -> None:
    open_store(f"s3://b/{table}", stub.options()).require_put_if_absent(PUT_PROBE)
    assert len(puts(stub)) == 2
