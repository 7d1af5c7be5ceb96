"""Writing: DataFrames that Spark hands over, with what the user asked of the write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import orjson
from pyspark.sql import Column, DataFrame

from lakebed.commands.write.write_frame import FrameWrite, write_frame
from lakebed.errors import InvalidArgumentError
from lakebed.expressions.allowed import ExpressionKind
from lakebed.sessions.native.question import Question, column
from lakebed.sessions.native.read_plans import opened
from lakebed.sessions.native.replaced_rows import check_count, has_partition, replaces_partitions
from lakebed.sessions.save import save
from lakebed.sessions.write_request import WriteRequest
from lakebed.settings.setting_table import AUTO_MERGE, CASTS_BY_NAME
from lakebed.spark.columns.sql_expressions import check_expression
from lakebed.spark.internals.classic_columns import folded_sql, is_always_true
from lakebed.spark.read.command_reads import CommandReads
from lakebed.spark.session.session_settings import all_settings
from lakebed.spark.stores.location import open_location
from lakebed.spark.write.insert_columns import (
    assigned_by_name,
    assigned_by_position,
    with_absent_partitions,
    written_by_name,
)

_PARTITION_COLUMNS = "__partition_columns"
_CLUSTERING_COLUMNS = "__clustering_columns"
_OWN = ("path", "provider", "checkpointlocation", "__v1_save_as_table_overwrite")


def write_request(options: dict[str, str], mode: str) -> WriteRequest:
    request = WriteRequest(format="delta", mode=mode.lower())
    for key, value in options.items():
        if key == _PARTITION_COLUMNS:
            request.partition_by = tuple(map(_unquoted, orjson.loads(value)))
        elif key == _CLUSTERING_COLUMNS:
            # Spark's writer of streams gives names, that of DataFrames the parts of each.
            paths = orjson.loads(value)
            request.cluster_by = tuple(
                each if isinstance(each, str) else ".".join(each) for each in paths
            )
        elif key.lower() not in _OWN:
            request.set(key, value)
    return request


def _unquoted(name: str) -> str:
    """Spark wants names with signs in them to be quoted."""
    is_quoted = len(name) > 2 and name[0] == name[-1] == "`"
    return name[1:-1].replace("``", "`") if is_quoted else name


def save_rows(asked: Question) -> None:
    """What `df.write.save` does."""
    request = write_request(asked.options, str(asked.request["mode"]))
    save(asked.frame(asked.given), request, asked.path)


def insert_many(asked: Question) -> None:
    """FROM ... INSERT ... INSERT ...: one commit for each, in the order of the statement.

    All queries are analyzed before anything is written, and see the same version of the source.
    """
    reads = CommandReads(None, lambda *_: None)
    ready = []
    for request, given in zip(asked.request["inserts"], asked.given, strict=True):
        each = Question(asked.session, request, given)
        if has_partition(each, _clauses(each)):
            continue
        # The version of its own table is decided by its transaction.
        url = opened(each).store.url
        ready.append((each, _Write.of(each), url))
    for _, write, url in ready:
        write.frame = reads.pinned(write.frame, but=url)
    for each, write, _ in ready:
        write.run(each)


def insert(asked: Question) -> None:
    """INSERT, `insertInto`, `writeTo` and appends of `saveAsTable`."""
    if not has_partition(asked, _clauses(asked)):
        _Write.of(asked).run(asked)


def _clauses(asked: Question) -> Mapping[str, str]:
    """What the statement says beyond Spark's plan of it."""
    return asked.request.get("clauses") or {}


def _prepared(asked: Question) -> tuple[DataFrame, WriteRequest, Column | None]:
    rows, condition = asked.given[0], column(asked.given[1])
    mode = str(asked.request["mode"])
    options, clauses = asked.options, _clauses(asked)
    _check_path(asked)
    if replaces_partitions(asked, clauses):
        mode, condition = "dynamic", None
    if asked.request["evolves"] or "evolves" in clauses:
        options["mergeSchema"] = "true"
    request = write_request(options, "append" if mode == "append" else "overwrite")
    if mode != "append" and request.get("partitionOverwriteMode") is None:
        # Spark has decided by the setting of the session already.
        request.set("partitionOverwriteMode", "dynamic" if mode == "dynamic" else "static")
    if condition is not None and is_always_true(asked.session, condition):
        condition = None
    return _as_stored(asked, asked.frame(rows), request), request, condition


def check_default(asked: Question) -> None:
    """Before the word DEFAULT becomes the expression that the table has for a column."""
    text, name = str(asked.request["text"]), str(asked.request["column"])
    check_expression(asked.session, text, ExpressionKind.DEFAULT, name, ())


@dataclass
class _Write:
    """`condition`: the rows that are replaced; None for an append, and for all rows."""

    frame: DataFrame
    request: WriteRequest
    condition: Column | None

    @classmethod
    def of(cls, asked: Question) -> _Write:
        return cls(*_prepared(asked))

    def run(self, asked: Question) -> None:
        if self.condition is None:
            save(self.frame, self.request, asked.path)
        else:
            _replace(asked, self.frame, self.request, self.condition)


def _check_path(asked: Question) -> None:
    """The option `path` of `saveAsTable` says where a new table is to be."""
    found = {key.lower(): value for key, value in asked.options.items()}.get("path")
    if found is None or not asked.request["is_name"]:
        return
    known = open_location(asked.session, asked.path, {})[0].url
    if open_location(asked.session, found, {})[0].url != known:
        raise InvalidArgumentError(
            f"{asked.request['name']} is at {asked.path}, not at {found}",
            hint="leave the option path out, or drop the name first",
            condition="DELTA_TABLE_LOCATION_MISMATCH",
        )


def _as_stored(asked: Question, frame: DataFrame, request: WriteRequest) -> DataFrame:
    snapshot = opened(asked)
    settings = all_settings(asked.session)
    merges = request.options(settings).merge_schema or AUTO_MERGE.read(settings)
    widens = merges and bool(snapshot.properties.enable_type_widening)
    if asked.request["by_name"] and not asked.request["is_sql"]:
        # A new schema replaces the one that values would be cast to.
        if request.options(settings).overwrite_schema or not CASTS_BY_NAME.read(settings):
            return frame
        return written_by_name(frame, snapshot.schema, widens=widens)
    if asked.request["by_name"]:
        frame = assigned_by_name(frame, snapshot.schema, widens=widens)
    else:
        check_count(frame, snapshot.schema.names, may_grow=merges)
        frame = assigned_by_position(frame, snapshot.schema.fields, widens=widens)
    if asked.request["is_sql"]:
        return with_absent_partitions(frame, snapshot.schema, snapshot.partition_columns)
    return frame


def _replace(asked: Question, frame: DataFrame, request: WriteRequest, condition: Column) -> None:
    """Rows that meet a condition go, and these come."""
    settings = all_settings(asked.session)
    request.set("replaceWhere", folded_sql(asked.session, condition))
    request.set("partitionOverwriteMode", None)
    write = FrameWrite(
        frame,
        asked.path,
        request.options(settings),
        request.file_settings(settings),
        request.optimize(settings),
        request.others(),
        lambda rows: rows.where(condition),
    )
    write_frame(write, settings)
