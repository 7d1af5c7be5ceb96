"""Which connector of Hadoop reaches a table, and the options of one operation as its settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lakebed.errors import NoConnectorError
from lakebed.settings.setting_table import DATA_PLANE
from lakebed.spark import plane_selection
from lakebed.spark.internals.jvm import Jvm
from lakebed.spark.native.native_plane import NativePlane
from lakebed.spark.plane_selection import plane_for
from lakebed.spark.stores.hadoop_connector import (
    HadoopAccess,
    NoHadoopAccess,
    hadoop_access,
)
from lakebed.spark.workers.workers_plane import WorkersPlane
from lakebed.storage import open_store

KEYS = {"aws_access_key_id": "me", "AWS_SECRET_ACCESS_KEY": "hush"}
S3A = "org.apache.hadoop.fs.s3a"
ACME = "acme.dfs.core.windows.net"


def knows(*schemes: str) -> Callable[[str], bool]:
    return lambda scheme: scheme in schemes


def way(root: str, options: Mapping[str, str], *schemes: str) -> HadoopAccess:
    found = hadoop_access(root, options, knows(*schemes))
    assert isinstance(found, HadoopAccess), found
    return found


def test_without_options_the_table_keeps_its_name() -> None:
    assert way("s3a://shop/a b", {}, "s3a") == HadoopAccess("s3a://shop/a b")
    assert way("file:///tmp/x", {}) == HadoopAccess("file:///tmp/x")
    assert way("hdfs://host:1/x", {}, "hdfs") == HadoopAccess("hdfs://host:1/x")
    assert way("abfss://box@acme/x", {}, "abfss") == HadoopAccess("abfss://box@acme/x")
    assert way("gs://box/x", {}, "gs") == HadoopAccess("gs://box/x")


@pytest.mark.parametrize("scheme", ["s3", "s3n"])
def test_any_scheme_of_s3_takes_the_connector_for_s3a(scheme: str) -> None:
    found = way(f"{scheme}://shop/x", {}, "s3a")
    assert found.root == f"{scheme}://shop/x"
    assert found.settings[f"fs.{scheme}.impl"] == f"{S3A}.S3AFileSystem"


def test_another_connector_for_s3_is_used_as_it_is() -> None:
    assert way("s3://shop/x", {}, "s3") == HadoopAccess("s3://shop/x")


def test_names_of_storage_options_become_settings_of_the_bucket() -> None:
    options = {**KEYS, "aws_region": "eu-1", "endpoint": "http://minio:9000", "timeout": "3s"}
    found = way("s3://shop/x", options, "s3a")
    for prefix in ("fs.s3a.", "fs.s3a.bucket.shop."):
        expected = {
            "access.key": "me",
            "secret.key": "hush",
            "endpoint.region": "eu-1",
            "endpoint": "http://minio:9000",
            "path.style.access": "true",
            "connection.ssl.enabled": "false",
            "aws.credentials.provider": f"{S3A}.SimpleAWSCredentialsProvider",
        }
        assert {k: found.settings[prefix + k] for k in expected} == expected


def test_each_set_of_settings_has_a_connection_of_its_own() -> None:
    one, again = (way("s3a://shop/x", KEYS, "s3a").root for _ in range(2))
    other = way("s3a://shop/x", {**KEYS, "aws_secret_access_key": "wrong"}, "s3a").root
    hadoop = way("s3a://shop/x", {"fs.s3a.access.key": "x"}, "s3a").root
    assert one == again
    assert len({one, other, hadoop, "s3a://shop/x"}) == 4
    scheme = one.partition("://")[0]
    assert way("s3a://shop/x", KEYS, "s3a").settings[f"fs.{scheme}.impl"] == f"{S3A}.S3AFileSystem"
    assert "hush" not in one


@pytest.mark.parametrize(
    ("options", "provider"),
    [
        ({**KEYS, "aws_session_token": "t"}, "TemporaryAWSCredentialsProvider"),
        ({"skip_signature": "true"}, "AnonymousAWSCredentialsProvider"),
        ({"instance_credentials": "true"}, "auth.IAMInstanceCredentialsProvider"),
    ],
)
def test_one_provider_is_asked_for_credentials(options: dict[str, str], provider: str) -> None:
    found = way("s3a://shop/x", options, "s3a").settings
    assert found["fs.s3a.aws.credentials.provider"] == f"{S3A}.{provider}"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"azure_storage_account_key": "k"}, {f"fs.azure.account.key.{ACME}": "k"}),
        ({"azure_storage_sas_token": "?sv=1"}, {f"fs.azure.sas.fixed.token.{ACME}": "sv=1"}),
        (
            {"azure_client_id": "c", "azure_client_secret": "s", "azure_tenant_id": "t"},
            {
                f"fs.azure.account.oauth2.client.id.{ACME}": "c",
                f"fs.azure.account.oauth2.client.secret.{ACME}": "s",
                f"fs.azure.account.oauth2.client.endpoint.{ACME}": "https://"
                "login.microsoftonline.com/t/oauth2/token",
            },
        ),
    ],
)
def test_options_of_azure_are_those_of_the_account(
    options: dict[str, str], expected: dict[str, str]
) -> None:
    found = way(f"abfss://box@{ACME}/x", options, "abfss")
    assert expected.items() <= found.settings.items()
    assert found.settings["fs.abfss.impl.disable.cache"] == "true"
    assert found.root == f"abfss://box@{ACME}/x"
    short = way("az://box/x", {**options, "account_name": "acme"}, "abfss")
    assert short == found


def test_azure_without_tls_stays_so_whatever_options_there_are() -> None:
    root = f"abfs://box@{ACME}/x"
    assert way(root, {"userMetadata": "x"}, "abfss", "abfs").root == root
    assert way(root, {"azure_storage_account_key": "k"}, "abfss", "abfs").root == root


def test_options_of_google_name_the_key_file() -> None:
    found = way("gs://box/x", {"google_service_account": "/key.json"}, "gs").settings
    assert found["fs.gs.auth.service.account.json.keyfile"] == "/key.json"
    assert found["fs.gs.impl.disable.cache"] == "true"


@pytest.mark.parametrize(
    ("root", "options", "schemes", "reason", "advice"),
    [
        ("s3://b/x", {}, (), "no Hadoop connector for s3://", 'stores=["s3"]'),
        (f"abfss://b@{ACME}/x", {}, (), "no Hadoop connector for abfss://", 'stores=["azure"]'),
        ("gs://b/x", {}, (), "no Hadoop connector for gs://", 'stores=["gcs"]'),
        ("s3://b/x", {**KEYS, "sse_kms_key_id": "k"}, ("s3a",), "sse_kms_key_id", "as well"),
        ("gs://b/x", {"google_service_account_key": "{}"}, ("gs",), "service_account_key", "as"),
        ("az://b/x", {"azure_access_key": "k"}, ("abfss",), "storage account", "abfss://"),
        ("memory://b/x", {}, (), "memory://", ""),
    ],
)
def test_where_workers_read_and_write_the_reason_is_known(
    root: str, options: dict[str, str], schemes: tuple[str, ...], reason: str, advice: str
) -> None:
    found = hadoop_access(root, options, knows(*schemes))
    assert isinstance(found, NoHadoopAccess)
    assert reason in found.reason
    assert advice in found.advice
    assert "hush" not in found.reason + found.advice


# --- planes --------------------------------------------------------------------------------------


class NoConnectors:
    def has_file_system(self, scheme: str) -> bool:
        return scheme == "file"


def session(plane: str) -> Any:
    settings = {DATA_PLANE.name: plane}
    return SimpleNamespace(conf=SimpleNamespace(get=settings.get))


@pytest.fixture
def without_connectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Jvm, "of", lambda _: NoConnectors())
    monkeypatch.setattr(plane_selection, "_explained", set())


@pytest.mark.usefixtures("without_connectors")
def test_one_line_says_that_workers_do_it_and_what_would_change_that(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    store = open_store(tmp_path)
    for _ in range(2):
        plane = plane_for(session("auto"), store, "s3://shop/t", KEYS)
        assert isinstance(plane, WorkersPlane)
    (line,) = [record.getMessage() for record in caplog.records]
    assert "\n" not in line
    assert "no Hadoop connector for s3://" in line
    assert 'stores=["s3"]' in line
    assert "hush" not in line


@pytest.mark.usefixtures("without_connectors")
def test_a_plane_that_was_asked_for_without_its_connector_is_an_error() -> None:
    store = open_store("memory://box/t")
    with pytest.raises(NoConnectorError, match="no Hadoop connector for s3a://") as caught:
        plane_for(session("native"), store, "s3a://shop/t", {})
    assert 'stores=["s3"]' in (caught.value.hint or "")
    assert isinstance(plane_for(session("native"), store, "file:///t", {}), NativePlane)
