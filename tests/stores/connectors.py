"""Hadoop's connectors for object stores, and the servers that the tests reach with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pyarrow.fs import AzureFileSystem, FileSystem, S3FileSystem
from real_servers import FOLDER, RealServer, azurite, versitygw

IVY = FOLDER / "ivy"


@dataclass(frozen=True)
class Connector:
    """`store` is its name in `lakebed.session(stores=...)`, `package` that of its JAR."""

    store: str
    package: str
    serve: Callable[[Path], AbstractContextManager[RealServer]]
    settings: Callable[[RealServer], Mapping[str, str]]
    """Hadoop's settings for the server."""
    variables: Callable[[RealServer], Mapping[str, str]]
    """Of the environment, for Lakebed without Spark and for readers that know nothing of it."""
    url: Callable[[str], str]
    """The URL of a bucket, as Hadoop knows it."""
    files: Callable[[RealServer], FileSystem]
    """The server, by pyarrow."""


def require_connector(connector: Connector) -> None:
    if not list(IVY.glob(f"jars/org.apache.hadoop_{connector.package}-*.jar")):
        pytest.skip(f"{connector.package} is not there: ./run test --stores downloads it")


def _s3a_settings(server: RealServer) -> Mapping[str, str]:
    options = server.storage_options
    return {
        "fs.s3a.access.key": options["aws_access_key_id"],
        "fs.s3a.secret.key": options["aws_secret_access_key"],
        "fs.s3a.endpoint": options["aws_endpoint_url"],
        "fs.s3a.endpoint.region": options["aws_region"],
        "fs.s3a.path.style.access": "true",
    }


def _s3_files(server: RealServer) -> FileSystem:
    options = server.storage_options
    return S3FileSystem(
        access_key=options["aws_access_key_id"],
        secret_key=options["aws_secret_access_key"],
        endpoint_override=options["aws_endpoint_url"].partition("://")[2],
        scheme="http",
        region=options["aws_region"],
    )


AZURE_HOST = "devstoreaccount1.dfs.core.windows.net"


def _abfs_settings(server: RealServer) -> Mapping[str, str]:
    """Azurite has Azure's Blob API and no other, at an address of its own."""
    options = server.storage_options
    address = urlsplit(options["azure_endpoint"]).netloc
    return {
        f"fs.azure.account.key.{AZURE_HOST}": options["azure_storage_account_key"],
        f"fs.azure.abfs.endpoint.{AZURE_HOST}": address,
        f"fs.azure.account.hns.enabled.{AZURE_HOST}": "false",
        "fs.azure.fns.account.service.type": "BLOB",
        "fs.azure.always.use.https": "false",
        # The default, Apache's client, wants certificates even for plain HTTP.
        "fs.azure.networking.library": "JDK_HTTP_URL_CONNECTION",
    }


def _azure_variables(server: RealServer) -> Mapping[str, str]:
    options = server.storage_options
    return {
        "AZURE_STORAGE_USE_EMULATOR": "true",
        "AZURITE_BLOB_STORAGE_URL": options["azure_endpoint"].rpartition("/")[0],
        "AZURE_STORAGE_ACCOUNT_NAME": options["azure_storage_account_name"],
        "AZURE_STORAGE_ACCOUNT_KEY": options["azure_storage_account_key"],
    }


def _azure_files(server: RealServer) -> FileSystem:
    options = server.storage_options
    address = urlsplit(options["azure_endpoint"]).netloc
    return AzureFileSystem(
        options["azure_storage_account_name"],
        account_key=options["azure_storage_account_key"],
        blob_storage_authority=address,
        dfs_storage_authority=address,
        blob_storage_scheme="http",
        dfs_storage_scheme="http",
    )


CONNECTORS = {
    "s3": Connector(
        "s3",
        "hadoop-aws",
        versitygw,
        _s3a_settings,
        lambda server: {key.upper(): value for key, value in server.storage_options.items()},
        lambda bucket: bucket.replace("s3://", "s3a://"),
        _s3_files,
    ),
    "azure": Connector(
        "azure",
        "hadoop-azure",
        azurite,
        _abfs_settings,
        _azure_variables,
        lambda bucket: bucket.replace("az://", "abfs://") + f"@{AZURE_HOST}",
        _azure_files,
    ),
}
