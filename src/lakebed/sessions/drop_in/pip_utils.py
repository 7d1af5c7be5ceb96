"""`delta.pip_utils`: sessions get no JARs of delta-spark, but the other packages asked for."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from lakebed.errors import InvalidArgumentError

__all__ = ["configure_spark_with_delta_pip"]

_PACKAGES = "spark.jars.packages"


def configure_spark_with_delta_pip(
    spark_session_builder: SparkSession.Builder,
    extra_packages: Sequence[str] | None = None,
) -> SparkSession.Builder:
    """The builder, with `extra_packages` for Spark to download; there is no Delta package.

    As in delta-spark the packages replace those that the builder had.
    """
    if not isinstance(spark_session_builder, SparkSession.Builder):
        raise InvalidArgumentError(
            f"{type(spark_session_builder).__name__} is not a builder of sessions",
            hint="give SparkSession.builder, before getOrCreate()",
        )
    if isinstance(extra_packages, str):
        raise InvalidArgumentError(
            "extra_packages is a string", hint=f"give a list of packages: [{extra_packages!r}]"
        )
    if not extra_packages:
        return spark_session_builder
    return spark_session_builder.config(_PACKAGES, ",".join(extra_packages))
