"""The contract of the data planes, natively, on servers as others run them.

    pytest tests/stores/native_contract.py

needs a process of its own, because Hadoop's connectors have to be there when Java starts;
`test_native_planes.py` starts one. The tests are those of
`tests/spark/plane/test_plane_contract.py`; only the session, the plane and the place of the tables
are others.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from connectors import CONNECTORS, IVY, Connector, require_connector
from pyarrow.fs import FileSystem, SubTreeFileSystem
from pyspark.sql import SparkSession
from real_servers import RealServer
from test_plane_contract import *  # noqa: F403

from lakebed.settings.setting_table import DATA_PLANE
from lakebed.spark.native.native_plane import NativePlane
from lakebed.spark.plane_selection import plane_for
from lakebed.storage import open_store
from testkit.tables.spark_tables import settings


class Places:
    """The servers that run, each with a bucket."""

    def __init__(self) -> None:
        self.found: dict[str, tuple[RealServer, str]] = {}
        self.missing: dict[str, str] = {}


@pytest.fixture(scope="session")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Places]:
    """All of them before Java starts; for Lakebed without Spark their options are variables."""
    places = Places()
    with ExitStack() as stack:
        environment = stack.enter_context(pytest.MonkeyPatch.context())
        for name, connector in CONNECTORS.items():
            try:
                require_connector(connector)
                server = stack.enter_context(connector.serve(tmp_path_factory.mktemp(name)))
            except pytest.skip.Exception as reason:
                places.missing[name] = str(reason)
                continue
            for variable, value in connector.variables(server).items():
                environment.setenv(variable, value)
            places.found[name] = (server, server.new_bucket())
        yield places


@pytest.fixture(scope="session")
def spark_settings(places: Places) -> dict[str, Any]:
    found: dict[str, Any] = {"stores": list(places.found), "spark.jars.ivy": str(IVY)}
    for name, (server, _) in places.found.items():
        for key, value in CONNECTORS[name].settings(server).items():
            found[f"spark.hadoop.{key}"] = value
    return found


@pytest.fixture(params=CONNECTORS)
def connector(request: pytest.FixtureRequest, places: Places) -> Connector:
    if request.param in places.missing:
        pytest.skip(places.missing[request.param])
    return CONNECTORS[request.param]


@pytest.fixture
def location(connector: Connector, places: Places) -> str:
    bucket = places.found[connector.store][1]
    return f"{connector.url(bucket)}/{uuid.uuid4().hex}"


@pytest.fixture
def files(connector: Connector, places: Places, location: str) -> FileSystem:
    server, bucket = places.found[connector.store]
    folder = location.rpartition("/")[2]
    name = bucket.partition("://")[2]
    return SubTreeFileSystem(f"{name}/{folder}", connector.files(server))


@pytest.fixture
def plane(location: str, spark: SparkSession) -> Iterator[str]:
    """Workers instead would be an error."""
    with settings(spark, {DATA_PLANE.name: "native"}):
        assert isinstance(plane_for(spark, open_store(location), location), NativePlane)
        yield "native"
