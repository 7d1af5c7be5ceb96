"""The Maven packages with Hadoop's connectors, for `lakebed.session(stores=...)`.

A connector must be of the same version as Hadoop, which PySpark ships. Lakebed works without them,
by Python workers; they are the user's choice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from lakebed.errors import InvalidArgumentError
from lakebed.spark.session.session_kind import is_connect

PACKAGES = "spark.jars.packages"
_ARTIFACTS = {"s3": "hadoop-aws", "azure": "hadoop-azure", "gcs": "hadoop-gcp"}
_SCHEMES = {"s3": "s3a", "azure": "abfss", "gcs": "gs"}
_OLDEST_GCP = (3, 5)


def with_connectors(stores: Iterable[str], packages: str | None = None) -> str:
    """`packages`, those that the user names, with the connectors for the stores."""
    version = _hadoop_version()
    found = [each.strip() for each in (packages or "").split(",") if each.strip()]
    for store in _checked(stores):
        if any(each.split(":")[:2] == ["org.apache.hadoop", _ARTIFACTS[store]] for each in found):
            continue
        if store == "gcs" and tuple(map(int, version.split(".")[:2])) < _OLDEST_GCP:
            raise InvalidArgumentError(
                f"Hadoop {version}, which this PySpark ships, has no connector for Google Cloud",
                hint="add Google's own: spark_jars=<the path of gcs-connector-...-shaded.jar>",
            )
        found.append(f"org.apache.hadoop:{_ARTIFACTS[store]}:{version}")
    return ",".join(found)


def require_connectors(spark: SparkSession, stores: Iterable[str]) -> None:
    """An error if the session, which runs already, lacks one of them."""
    asked = _checked(stores)
    if is_connect(spark):
        raise InvalidArgumentError(
            "a Spark Connect session has no connectors of its own",
            hint="leave stores out, and start the server with the packages",
        )
    from lakebed.spark.internals.jvm import Jvm

    missing = [each for each in asked if not Jvm.of(spark).has_file_system(_SCHEMES[each])]
    if missing:
        raise InvalidArgumentError(
            f"the session runs already, without the connector for {', '.join(missing)}",
            hint="a running session takes no JAR: call spark.stop() first, or give stores where "
            "the first session of the program is started",
        )


def _checked(stores: Iterable[str]) -> list[str]:
    asked = [stores] if isinstance(stores, str) else list(stores)
    for each in asked:
        if each not in _ARTIFACTS:
            raise InvalidArgumentError(
                f"{each!r} is not a kind of store", hint=f"stores are {', '.join(_ARTIFACTS)}"
            )
    return asked


def _hadoop_version() -> str:
    jars = Path(pyspark.__file__).parent / "jars"
    for jar in sorted(jars.glob("hadoop-client-api-*.jar")):
        match = re.fullmatch(r"hadoop-client-api-(\d[\w.]*)\.jar", jar.name)
        if match:
            return match[1]
    raise InvalidArgumentError(
        f"which Hadoop this PySpark ships is not known: {jars} has no hadoop-client-api JAR",
        hint="name the connector yourself: spark_jars_packages='org.apache.hadoop:hadoop-aws:...'",
    )
