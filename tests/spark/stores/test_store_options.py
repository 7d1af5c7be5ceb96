"""Credentials and endpoints of object stores, from options and from Hadoop's settings."""

from __future__ import annotations

from typing import Any

import pytest

from lakebed.spark.stores.store_options import storage_options, translated
from lakebed.storage.locations import parse_location
from lakebed.storage.options import parse_options

S3A = {
    "fs.s3a.access.key": "me",
    "fs.s3a.secret.key": "hush",
    "fs.s3a.session.token": "now",
    "fs.s3a.endpoint.region": "eu-west-1",
}


class ConnectSession:
    """As much of a session of Spark Connect as is asked for settings."""

    def __init__(self, **settings: str) -> None:
        self.conf: Any = type("Conf", (), {"getAll": settings})()


ConnectSession.__module__ = "pyspark.sql.connect.session"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (
            S3A,
            {
                "aws_access_key_id": "me",
                "aws_secret_access_key": "hush",
                "aws_session_token": "now",
                "aws_region": "eu-west-1",
            },
        ),
        (
            {"fs.s3a.endpoint": "minio:9000", "fs.s3a.connection.ssl.enabled": "false"},
            {"aws_endpoint_url": "http://minio:9000", "aws_allow_http": "true"},
        ),
        ({"fs.s3a.endpoint": "s3.example.com"}, {"aws_endpoint_url": "https://s3.example.com"}),
        (
            {"fs.s3a.endpoint": "http://minio:9000"},
            {"aws_endpoint_url": "http://minio:9000", "aws_allow_http": "true"},
        ),
        ({"fs.s3a.path.style.access": "true"}, {"aws_virtual_hosted_style_request": "false"}),
        ({"fs.s3a.path.style.access": "false"}, {}),
        ({"fs.s3a.connection.ssl.enabled": "false"}, {}),
        (
            {"fs.s3a.access.key": "all", "fs.s3a.bucket.shop.access.key": "one"},
            {"aws_access_key_id": "one"},
        ),
        (
            {
                "fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a."
                "AnonymousAWSCredentialsProvider"
            },
            {"skip_signature": "true"},
        ),
        (
            {"fs.s3a.aws.credentials.provider": "x.auth.IAMInstanceCredentialsProvider"},
            {"instance_credentials": "true"},
        ),
        ({"fs.azure.account.key": "not ours"}, {}),
    ],
)
@pytest.mark.parametrize("scheme", ["s3", "s3a", "s3n"])
def test_settings_of_hadoops_s3_connector_are_those_of_the_bucket(
    scheme: str, settings: dict[str, str], expected: dict[str, str]
) -> None:
    found = translated(parse_location(f"{scheme}://shop/table"), settings)
    assert found == expected
    parse_options(found)


def test_accounts_of_azure_have_settings_of_their_own() -> None:
    host = "acme.dfs.core.windows.net"
    settings = {f"fs.azure.account.key.{host}": "k1", "fs.azure.sas.fixed.token": "s"}
    where = parse_location(f"abfss://box@{host}/table")
    assert translated(where, settings) == {"azure_account_key": "k1", "azure_sas_token": "s"}
    parse_options(translated(where, settings))


def test_the_key_file_of_google_is_taken_over() -> None:
    settings = {"fs.gs.auth.service.account.json.keyfile": "/key.json"}
    found = translated(parse_location("gs://box/table"), settings)
    assert found == {"google_service_account": "/key.json"}
    parse_options(found)


def test_options_of_a_read_go_before_settings_of_the_session() -> None:
    session: Any = ConnectSession(
        **{
            "spark.hadoop.fs.s3a.access.key": "session",
            "spark.hadoop.fs.s3a.secret.key": "session",
            "fs.s3a.endpoint.region": "session",
        }
    )
    options = {"mergeSchema": "true", "fs.s3a.secret.key": "read", "AWS_ACCESS_KEY_ID": "read"}
    found = storage_options(session, "s3a://shop/table", options)
    assert found == {
        "aws_access_key_id": "read",
        "aws_secret_access_key": "read",
        "aws_region": "session",
    }


def test_another_spelling_of_an_option_replaces_the_setting() -> None:
    session: Any = ConnectSession(**{"fs.s3a.endpoint": "http://other", "fs.s3a.access.key": "x"})
    options = {"endpoint": "https://mine", "access_key_id": "y"}
    found = storage_options(session, "s3://shop/table", options)
    assert {key: value for key, value in found.items() if "http" not in key} == {
        "endpoint": "https://mine",
        "access_key_id": "y",
    }
    parse_options(found)


def test_local_tables_ask_the_session_for_limits_alone(tmp_path: Any) -> None:
    session: Any = ConnectSession(
        **{"spark.lakebed.untrusted": "true", "spark.hadoop.fs.s3a.access.key": "me"}
    )
    assert storage_options(session, str(tmp_path), {"mergeSchema": "true"}) == {"untrusted": "true"}


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({"fs.azure.abfs.endpoint": "localhost:1"}, {"azure_endpoint": "https://localhost:1/shop"}),
        (
            {
                "fs.azure.abfs.endpoint.shop.dfs.core.windows.net": "localhost:1",
                "fs.azure.always.use.https": "false",
            },
            {"azure_endpoint": "http://localhost:1/shop", "azure_allow_http": "true"},
        ),
        ({"fs.azure.abfs.endpoint": "no-port", "fs.azure.always.use.https": "false"}, {}),
    ],
)
def test_an_emulator_of_azure_has_an_address(
    settings: dict[str, str], found: dict[str, str]
) -> None:
    where = parse_location("abfs://box@shop.dfs.core.windows.net/t")
    assert translated(where, settings) == found
    parse_options(found)


def test_a_service_principal_of_azure_brings_its_tenant() -> None:
    host = "acme.dfs.core.windows.net"
    settings = {
        f"fs.azure.account.oauth2.client.id.{host}": "me",
        f"fs.azure.account.oauth2.client.secret.{host}": "hush",
        f"fs.azure.account.oauth2.client.endpoint.{host}": "https://login.example/t1/oauth2/token",
    }
    assert translated(parse_location(f"abfss://box@{host}/t"), settings) == {
        "azure_client_id": "me",
        "azure_client_secret": "hush",
        "azure_tenant_id": "t1",
    }


def test_a_setting_of_the_session_allows_single_writers() -> None:
    session: Any = ConnectSession(**{"spark.lakebed.singleWriter": "true"})
    found = storage_options(session, "s3://shop/table", {})
    assert parse_options(found).single_writer
