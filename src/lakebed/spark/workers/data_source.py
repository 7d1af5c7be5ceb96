"""The Python data source `delta`: tables for Spark without py4j or a Hadoop connector.

Spark runs it in Python processes of its own: one makes the source and gives its schema, one plans
the scan, and the tasks read. What one of them prints would break its protocol with Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType as SparkStructType

from lakebed.arrow.scan import ScanPlan, plan_scan
from lakebed.errors import InvalidArgumentError
from lakebed.expressions import parse_predicate
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.settings.option_table import COLUMNS
from lakebed.spark.columns.spark_types import visible_schema
from lakebed.spark.errors.encoded_errors import encoding_errors
from lakebed.spark.plane.plane_options import ScanOptions
from lakebed.spark.stores.store_options import translated
from lakebed.spark.workers.batches import file_batches
from lakebed.spark.workers.read_tasks import DEFAULT_PARALLELISM, balanced
from lakebed.spec.columns.read_compatibility import check_read_compatible
from lakebed.spec.schema import StructType, as_nullable, parse_schema, transform
from lakebed.storage import open_store
from lakebed.storage.locations import parse_location
from lakebed.storage.options import is_storage_option

URL = "lakebed.url"
"""The table as `Store.url` names it; a user gives `path` instead."""
VERSION = "versionAsOf"
TIMESTAMP = "timestampAsOf"
ONLY = "lakebed.only"
"""The paths of the files to read, one on a line: paths in a log have no line breaks."""
PARALLELISM = "lakebed.parallelism"
FOLLOWS = "lakebed.follows"
"""Whether each query reads the newest version, with the columns that the reader was given."""


class LakebedSource(DataSource):
    """Reads by path alone. Lakebed's reader uses it.

    It is not called `delta`: Spark does not tell a Python source where a table of its catalog is,
    and `USING delta` would create names without a table.
    """

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._request = ScanRequest({key.lower(): value for key, value in options.items()})

    @classmethod
    def name(cls) -> str:
        return "lakebed"

    def schema(self) -> SparkStructType:
        with encoding_errors():
            snapshot = self._request.snapshot()
            # Spark keeps this object: the version that was looked at is the one that is read.
            self._request = self._request.at(snapshot.version)
            shown = visible_schema(self._request.options.picked(snapshot.schema))
            return SparkStructType.fromJson(shown.to_json())

    def reader(self, schema: SparkStructType) -> DataSourceReader:
        return Reader(self._request, parse_schema(schema.json()))


@dataclass(frozen=True)
class ScanRequest:
    """The options of a read, under names in lower case, as Spark hands them to a source."""

    raw: Mapping[str, str]

    def get(self, key: str) -> str | None:
        return self.raw.get(key.lower())

    def at(self, version: int) -> ScanRequest:
        kept = {key: value for key, value in self.raw.items() if key != TIMESTAMP.lower()}
        return ScanRequest({**kept, VERSION.lower(): str(version)})

    def with_columns(self, names: Sequence[str]) -> ScanRequest:
        asked = replace(self.options, columns=tuple(names))
        return ScanRequest({**self.raw, COLUMNS.name: asked.columns_text})

    @property
    def options(self) -> ScanOptions:
        return ScanOptions.of(self.raw)

    def snapshot(self) -> Snapshot:
        version = self.get(VERSION) or self.get(f"lakebed.{VERSION}")
        timestamp = self.get(TIMESTAMP) or self.get(f"lakebed.{TIMESTAMP}")
        url = self.get(URL) or self.get("path")
        if url is None:
            raise InvalidArgumentError("no path was given", hint="give the path of a Delta table")
        log = TableLog(open_store(url, self._storage_options(url)))
        return log.snapshot(None if version is None else int(version), timestamp)

    def plan(self) -> ScanPlan:
        snapshot, options = self.snapshot(), self.options
        where = None if options.where is None else parse_predicate(options.where, snapshot.schema)
        plan = plan_scan(snapshot, options.columns, where)
        only = self.get(ONLY)
        return plan if only is None else _restricted(plan, only.split("\n"))

    def _storage_options(self, url: str) -> dict[str, str]:
        given = {key: value for key, value in self.raw.items() if is_storage_option(key)}
        return {**translated(parse_location(url), self.raw), **given}


class Task(InputPartition):
    """Files that one task reads."""

    def __init__(self, plan: ScanPlan) -> None:
        self.plan = plan


class Reader(DataSourceReader):
    """Spark keeps a copy from before `partitions`: what a task needs is in its partition.

    It has no `pushFilters`. Spark keeps the plan of a source with the DataFrame, filters included,
    and takes it for the next query on that DataFrame, which then lacks rows.
    """

    def __init__(self, request: ScanRequest, schema: StructType) -> None:
        self._request = request
        self._schema = schema

    def partitions(self) -> Sequence[InputPartition]:
        with encoding_errors():
            plan = self._request.plan()
            if self._request.get(FOLLOWS) is not None:
                plan = self._with_known_columns(plan)
            sizes = plan.files.column("size").to_pylist()
            tasks = balanced(sizes, int(self._request.get(PARALLELISM) or DEFAULT_PARALLELISM))
            return [Task(replace(plan, files=plan.files.take(each))) for each in tasks]

    def _with_known_columns(self, plan: ScanPlan) -> ScanPlan:
        """A query has the columns that the table had when its DataFrame was created."""
        given = self._schema
        now = visible_schema(plan.table.schema)
        check_read_compatible(self._request.get(URL) or "", given, now, partitions=((), ()))
        if self._request.options.columns is not None or _bare(given) == _bare(now):
            return plan
        return self._request.with_columns(given.names).plan()

    def read(self, partition: InputPartition) -> Iterator[Any]:
        if not isinstance(partition, Task):
            # Spark makes a partition of its own where there is none.
            return
        with encoding_errors():
            for row in partition.plan.files.to_pylist():
                yield from file_batches(partition.plan, row, self._schema)


def _restricted(plan: ScanPlan, paths: Sequence[str]) -> ScanPlan:
    wanted = set(paths)
    mask = [path in wanted for path in plan.files.column("path").to_pylist()]
    return replace(plan, files=plan.files.filter(mask))


def _bare(schema: StructType) -> StructType:
    """Names and types alone."""
    return transform(as_nullable(schema), lambda _, field: replace(field, metadata={}))
