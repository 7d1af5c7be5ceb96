"""Hadoop's connectors for object stores, and the servers that the tests reach with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyarrow.fs import FileSystem, S3FileSystem
from real_servers import FOLDER, RealServer, versitygw

IVY = FOLDER / "ivy"


@dataclass(frozen=True)
class Connector:
    """`store` is its name in `lakebed.session(stores=...)`, `package` that of its JAR."""

    store: str
    package: str
    serve: Callable[[Path], AbstractContextManager[RealServer]]
    settings: Callable[[RealServer], Mapping[str, str]]
    """Hadoop's settings for the server."""
    url: Callable[[str], str]
    """The URL of a bucket, as Hadoop knows it."""
    files: Callable[[RealServer], FileSystem]
    """The server, by pyarrow."""


def require_connector(connector: Connector) -> None:
    if not list(IVY.glob(f"jars/org.apache.hadoop_{connector.package}-*.jar")):
        pytest.skip(f"{connector.package} is not there: ./run test --stores downloads it (700 MB)")


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


CONNECTORS = {
    "s3": Connector(
        "s3",
        "hadoop-aws",
        versitygw,
        _s3a_settings,
        lambda bucket: bucket.replace("s3://", "s3a://"),
        _s3_files,
    ),
}
