"""Credentials that are missing or wrong, and missing buckets: each is an error of its own."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from lakebed.errors import (
    BucketNotFoundError,
    LakebedError,
    ObjectNotFoundError,
    StoreCredentialsError,
)
from lakebed.log.listing.log_names import PUT_PROBE
from lakebed.storage import open_store
from testkit.servers.s3_server import S3Server
from testkit.servers.stub_s3 import StubS3, stub

__all__ = ["stub"]


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    for name in os.environ:
        if name.startswith(("AWS_", "AZURE_", "GOOGLE_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("s3://shop/t", "aws_access_key_id and aws_secret_access_key"),
        ("s3a://shop/t", "aws_access_key_id and aws_secret_access_key"),
        ("gs://shop/t", "google_service_account"),
        ("abfss://box@acme.dfs.core.windows.net/t", "azure_storage_account_key"),
    ],
)
def test_missing_credentials_name_the_options_and_ask_no_metadata_address(
    url: str, named: str
) -> None:
    start = time.monotonic()
    with pytest.raises(StoreCredentialsError, match="there are no credentials for") as caught:
        open_store(url)
    assert time.monotonic() - start < 1
    assert caught.value.code == "STORE_CREDENTIALS"
    assert named in (caught.value.hint or "")
    assert "instance_credentials=true" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("s3://shop/t", {"instance_credentials": True}),
        ("s3://shop/t", {"skip_signature": True}),
        ("s3://shop/t", {"metadata_endpoint": "http://127.0.0.1:9"}),
        ("s3://shop/t", {"AWS_ACCESS_KEY_ID": "a", "secret_access_key": "b"}),
        ("gs://shop/t", {"google_skip_signature": "true"}),
        ("az://box/t", {"account_name": "acme", "azure_storage_sas_token": "sv=1"}),
        ("az://box/t", {"account_name": "acme", "instance_credentials": "true"}),
        ("az://box/t", {"use_emulator": "true"}),
    ],
)
def test_one_complete_way_is_enough(url: str, options: Mapping[str, object]) -> None:
    open_store(url, options)


def test_the_environment_is_as_good_as_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    open_store("s3://shop/t")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(StoreCredentialsError, match="secret_access_key is missing") as caught:
        open_store("s3://shop/t")
    assert "aws_secret_access_key" in (caught.value.hint or "")


def test_skip_signature_that_is_false_is_no_credential() -> None:
    with pytest.raises(StoreCredentialsError):
        open_store("s3://shop/t", {"skip_signature": "false"})


@pytest.mark.parametrize("status", [401, 403])
def test_refused_credentials_are_an_error_that_names_the_options(stub: StubS3, status: int) -> None:
    stub.refuses_with = status
    store = open_store("s3://b/t", stub.options())
    for call in (
        lambda: store.get("x"),
        lambda: store.put("x", b""),
        lambda: store.require_put_if_absent(PUT_PROBE),
    ):
        stub.requests.clear()
        with pytest.raises(StoreCredentialsError, match="s3://b/t") as caught:
            call()
        assert "aws_access_key_id" in (caught.value.hint or "")
        assert len(stub.requests) == 1


def test_a_missing_bucket_is_an_error_of_its_own(s3_server: S3Server) -> None:
    store = open_store("s3://no-such-bucket/t", s3_server.storage_options)
    for call in (
        lambda: store.get("x"),
        lambda: store.list_from("_delta_log/"),
        lambda: store.require_put_if_absent(PUT_PROBE),
    ):
        with pytest.raises(LakebedError) as caught:
            call()
        assert isinstance(caught.value, BucketNotFoundError)
        assert not isinstance(caught.value, ObjectNotFoundError)


def test_google_without_signatures_is_not_asked_for_a_token(stub: StubS3) -> None:
    """Writes too: obstore takes the option for reads alone."""
    options = {
        "google_skip_signature": "true",
        "google_base_url": f"http://127.0.0.1:{stub.server_port}",
        "allow_http": "true",
        "max_retries": 0,
    }
    store = open_store("gs://b/t", options)
    store.put("x", b"1")
    assert [path for _, path, _ in stub.requests] == ["/b/t%2Fx"]


def test_a_store_that_a_log_refers_to_needs_credentials_only_when_it_is_read(
    tmp_path: Path,
) -> None:
    """VACUUM of a clone looks at the names of its files alone."""
    named = open_store(tmp_path, {"external_paths": "s3://shop"})
    other, path = named.resolve("s3://shop/t/x.parquet")
    assert (other.url, path) == ("s3://shop/", "t/x.parquet")
    with pytest.raises(StoreCredentialsError):
        other.get(path)
