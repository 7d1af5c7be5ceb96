"""The data plane of Python workers, seen from the driver or the client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.datasource import DataSource
from pyspark.sql.types import IntegerType
from pyspark.sql.types import StructType as SparkStructType

from lakebed.arrow.scan import plan_scan
from lakebed.data_files.curves import Curve
from lakebed.data_files.file_layout import FileLayout
from lakebed.errors import InvalidArgumentError, PredicateError
from lakebed.expressions import parse_predicate
from lakebed.expressions.time_zones import depends_on_zone, is_utc
from lakebed.log.newest_version import NewestVersion
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.settings.option_table import COLUMNS, WHERE
from lakebed.spark.columns.projection import quote
from lakebed.spark.columns.spark_types import visible_schema
from lakebed.spark.columns.sql_expressions import sql_column
from lakebed.spark.plane.plane import FileSettings, TrackedRows
from lakebed.spark.plane.plane_options import ScanOptions
from lakebed.spark.plane.position_bitmaps import (
    FILE,
    POSITION,
    WORD,
    Positions,
    find_positions,
    words,
)
from lakebed.spark.plane.vector_files import WrittenVector
from lakebed.spark.session.session_kind import is_connect
from lakebed.spark.stores.store_options import storage_options
from lakebed.spark.workers import data_source as source
from lakebed.spark.workers.read_tasks import DEFAULT_PARALLELISM, scan_plan
from lakebed.spark.workers.vector_tasks import SCHEMA, VectorTask, written_vector
from lakebed.spark.workers.write_tasks import PartsTask, write_files
from lakebed.spec.actions import Add, DeletionVector
from lakebed.spec.columns.read_compatibility import check_read_compatible
from lakebed.storage.store import Store


def register(session: SparkSession) -> None:
    """Makes the source of the workers known to Spark."""
    if vars(session).get(_REGISTERED) is None:
        register_if_free(session, source.LakebedSource)
        vars(session)[_REGISTERED] = True


def register_if_free(session: SparkSession, new: type[DataSource]) -> None:
    """A name is taken if something in a JAR has it, or if an older session has registered it."""
    try:
        session.dataSource.register(new)
    except AnalysisException as error:
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise


@dataclass(frozen=True)
class WorkersPlane:
    session: SparkSession
    store: Store

    def __post_init__(self) -> None:
        if self.store.url.startswith("memory:"):
            raise InvalidArgumentError(
                f"{self.store.url} is in the memory of this process, where no worker reaches it",
                hint="use lakebed.open and lakebed.write for it, or another store",
            )

    def scan(
        self,
        snapshot: Snapshot,
        options: Mapping[str, str],
        *,
        follows: bool = False,
        is_time_travel: bool = False,  # noqa: ARG002 - a Python data source cannot say it
        only: Sequence[str] | None = None,
    ) -> DataFrame:
        register(self.session)
        asked = ScanOptions.of(options)
        if asked.where is None or self._is_understood(asked.where, snapshot):
            return self._load(snapshot, asked, options, only, follows)
        everything = replace(asked, columns=None, where=None)
        frame = self._load(snapshot, everything, options, only, follows)
        frame = frame.where(sql_column(frame, asked.where))
        return frame.select([quote(field.name) for field in asked.picked(snapshot.schema)])

    def _install_scan_rule(self) -> None:
        from lakebed.spark.internals.delta_scans import install_scan_rule
        from lakebed.spark.internals.jvm import Jvm

        install_scan_rule(Jvm.of(self.session))

    def _is_understood(self, where: str, snapshot: Snapshot) -> bool:
        """Whether workers, which have no Spark and only UTC, find the same rows as Spark."""
        try:
            predicate = parse_predicate(where, snapshot.schema)
        except PredicateError:
            return False
        zone = self.session.conf.get("spark.sql.session.timeZone")
        return is_utc(zone) or not depends_on_zone(predicate)

    def _load(
        self,
        snapshot: Snapshot,
        asked: ScanOptions,
        options: Mapping[str, str],
        only: Sequence[str] | None,
        follows: bool,
    ) -> DataFrame:
        shown = visible_schema(asked.picked(snapshot.schema))
        reader = _spark_reader(self.session).format(source.LakebedSource.name())
        reader = reader.schema(SparkStructType.fromJson(shown.to_json()))
        found = self._source_options(asked, options, only)
        found |= {source.FOLLOWS: "true"} if follows else {source.VERSION: str(snapshot.version)}
        for key, value in found.items():
            reader = reader.option(key, value)
        frame = reader.load()
        return self._following(frame, snapshot) if follows else frame

    def _following(self, frame: DataFrame, snapshot: Snapshot) -> DataFrame:
        """The rows of the newest version, whenever a query runs.

        A client of Spark Connect says which version that is. In other sessions the rule of the
        optimizer makes Spark ask the source again.
        """
        if not is_connect(self.session):
            self._install_scan_rule()
            return frame
        from lakebed.spark.internals.connect.connect_plans import with_options

        newest = NewestVersion(TableLog(self.store), snapshot)

        def options() -> dict[str, str]:
            found = newest.snapshot()
            partitions = snapshot.partition_columns, found.partition_columns
            check_read_compatible(
                self.store.url, snapshot.schema, found.schema, partitions=partitions
            )
            return {source.VERSION: str(found.version)}

        return with_options(frame, options)

    def scan_synthetic(self, snapshot: Snapshot, *, positions: bool = False) -> DataFrame:
        plan = plan_scan(snapshot, position=POSITION if positions else None)
        parallelism = int(_parallelism(self.session) or DEFAULT_PARALLELISM)
        return scan_plan(self.session, plan, parallelism)

    def write_files(
        self, frame: DataFrame, layout: FileLayout, settings: FileSettings
    ) -> list[Add]:
        return write_files(frame, self.store, layout, settings)

    def find_positions(self, frame: DataFrame, sums: Mapping[str, Column]) -> Positions:
        return find_positions(frame, sums)

    def track_positions(self, frame: DataFrame) -> TrackedRows | None:  # noqa: ARG002 - no hook
        return None

    def write_vectors(
        self,
        frame: DataFrame,
        sums: Mapping[str, Column],
        vectors: Mapping[int, DeletionVector],
        prefix_length: int,
    ) -> list[WrittenVector]:
        # All words of a file come to one task, one after the other.
        sorted_words = words(frame, sums).repartition(FILE).sortWithinPartitions(FILE, WORD)
        task = VectorTask(self.store, dict(vectors), list(sums), prefix_length)
        return [written_vector(row[0]) for row in sorted_words.mapInArrow(task, SCHEMA).collect()]

    def with_parts(
        self,
        frame: DataFrame,
        columns: Sequence[str],
        kinds: Sequence[str],  # noqa: ARG002 - Python sees what they are
        curve: Curve,
        starts: Sequence[int],
        marks: Sequence[int],
        name: str,
    ) -> DataFrame:
        task = PartsTask(list(columns), curve, list(starts), list(marks), name)
        # `StructType.add` would change the schema of the frame itself.
        more = SparkStructType(list(frame.schema.fields)).add(name, IntegerType(), False)
        return frame.mapInArrow(task, more)

    def recache(self) -> None:
        """Spark does not say which cached data comes from a Python data source."""

    def num_partitions(
        self,
        frame: DataFrame,  # noqa: ARG002 - Spark does not say
        layout: FileLayout,  # noqa: ARG002
    ) -> int | None:
        return None

    def _source_options(
        self,
        asked: ScanOptions,
        options: Mapping[str, str],
        only: Sequence[str] | None,
    ) -> dict[str, str]:
        found = {
            **storage_options(self.session, self.store.url, options),
            source.URL: self.store.url,
        }
        parallelism = _parallelism(self.session)
        if parallelism is not None:
            found[source.PARALLELISM] = parallelism
        if asked.columns is not None:
            found[COLUMNS.name] = asked.columns_text
        if asked.where is not None:
            found[WHERE.name] = asked.where
        if only is not None:
            found[source.ONLY] = "\n".join(only)
        return found


_REGISTERED = "_lakebed_source"


def _spark_reader(session: SparkSession) -> Any:
    """Spark's own reader; `session.read` may be Lakebed's."""
    kind = "connect.readwriter" if is_connect(session) else "readwriter"
    return import_module(f"pyspark.sql.{kind}").DataFrameReader(session)


def _parallelism(session: SparkSession) -> str | None:
    chosen = session.conf.get("spark.sql.leafNodeDefaultParallelism", None)
    if chosen is None and not is_connect(session):
        return str(session.sparkContext.defaultParallelism)
    return chosen
