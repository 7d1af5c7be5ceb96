"""How to write: the keywords of `lakebed.write`, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Any, Literal, TypedDict

from lakebed.errors import InvalidArgumentError

Mode = Literal["append", "overwrite", "error", "errorifexists", "ignore"]
PartitionOverwrite = Literal["static", "dynamic"]

# delta-spark's names of the modes, for the history.
SPARK_MODES = {
    "append": "Append",
    "overwrite": "Overwrite",
    "error": "ErrorIfExists",
    "errorifexists": "ErrorIfExists",
    "ignore": "Ignore",
}


class WriteKeywords(TypedDict, total=False):
    """The keywords of `lakebed.write`."""

    mode: Mode
    partition_by: str | Sequence[str] | None
    cluster_by: str | Sequence[str] | None
    merge_schema: bool
    overwrite_schema: bool
    properties: Mapping[str, str]
    name: str | None
    description: str | None
    user_metadata: str | None
    txn: tuple[str, int] | None
    max_rows_per_file: int | None
    replace_where: str | None
    partition_overwrite: PartitionOverwrite


@dataclass(frozen=True)
class WriteOptions:
    """How to write. Names follow delta-spark's options, in Python's spelling."""

    mode: Mode = "append"
    partition_by: tuple[str, ...] | None = None
    merge_schema: bool = False
    overwrite_schema: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)
    name: str | None = None
    description: str | None = None
    user_metadata: str | None = None
    txn: tuple[str, int] | None = None
    max_rows_per_file: int | None = None
    replace_where: str | None = None
    partition_overwrite: PartitionOverwrite = "static"
    cluster_by: tuple[str, ...] | None = None
    check_replaced: bool = True
    replace_data_columns: bool = True
    default_properties: Mapping[str, str] = field(default_factory=dict)
    data_change: bool = True
    loads: Mapping[str, int] = field(default_factory=dict)
    """Applications that must not have been here, with the versions that are recorded for them."""
    operation: Mapping[str, Any] | None = None
    """What the history says instead of the mode: `name` and further parameters."""
    replace_matching: bool = False
    """`replace_where` is only for the history: the rows themselves say what they replace."""
    metric_names: Mapping[str, str] = field(default_factory=dict)
    """What the history says about the work, with the names of a plain write; empty: all of it."""
    reads_table: bool = False
    """The rows were read from the table, at the version that is known to the write."""
    retries: bool = True
    """Without it a caller who made the rows fit one version makes them fit the next one too."""
    replaces_table: bool = False
    """An overwrite replaces the whole table and its properties, as REPLACE TABLE does."""

    def __post_init__(self) -> None:
        _check_mode(self)
        _check_replacement(self)
        _check_names("partition_by", self.partition_by)
        _check_names("cluster_by", self.cluster_by)
        if self.partition_by and self.cluster_by:
            raise InvalidArgumentError(
                "give partition_by or cluster_by, not both",
                condition="DELTA_CLUSTER_BY_WITH_PARTITIONED_BY",
            )
        _check_txn(self.txn)
        limit = self.max_rows_per_file
        if limit is not None and (not _is_whole(limit) or limit < 1):
            raise InvalidArgumentError(
                f"max_rows_per_file={limit!r} is not a positive whole number"
            )
        if not isinstance(self.properties, Mapping):
            raise InvalidArgumentError(
                f"properties={self.properties!r} is not a mapping of names to texts"
            )

    @property
    def replaces_schema(self) -> bool:
        return self.mode == "overwrite" and self.overwrite_schema

    @property
    def replaces_partitions(self) -> bool:
        """Only the partitions that the new rows are in."""
        return self.mode == "overwrite" and self.partition_overwrite == "dynamic"

    @classmethod
    def of(cls, keywords: WriteKeywords) -> WriteOptions:
        known = {each.name for each in fields(cls)} - _SESSION_ONLY
        for name in keywords:
            if name not in known:
                near = get_close_matches(name, known, n=1)
                raise InvalidArgumentError(
                    f"there is no option {name!r}",
                    hint=f"did you mean {near[0]!r}?" if near else f"options: {sorted(known)}",
                )
        given: dict[str, Any] = dict(keywords)
        for name in ("partition_by", "cluster_by"):
            if name in given:
                given[name] = _as_names(given[name])
        return cls(**given)


# What only a session of Spark asks for.
_SESSION_ONLY = {
    *("check_replaced", "replace_data_columns", "default_properties", "data_change"),
    *("loads", "operation", "replaces_table", "replace_matching", "reads_table"),
    *("metric_names", "retries"),
}


def _check_mode(options: WriteOptions) -> None:
    if not isinstance(options.mode, str) or options.mode not in SPARK_MODES:
        raise InvalidArgumentError(
            f"there is no mode {options.mode!r}",
            hint=f"modes are {', '.join(SPARK_MODES)}",
            condition="DELTA_MODE_NOT_SUPPORTED",
        )
    if options.overwrite_schema and options.mode != "overwrite":
        raise InvalidArgumentError(
            "overwrite_schema=True goes with mode='overwrite' alone",
            hint="to add columns in other modes, use merge_schema=True",
        )
    if options.overwrite_schema and options.merge_schema:
        raise InvalidArgumentError("give merge_schema or overwrite_schema, not both")


def _check_replacement(options: WriteOptions) -> None:
    """Which rows an overwrite replaces: all, those of a predicate, or those of some partitions."""
    if options.partition_overwrite not in ("static", "dynamic"):
        raise InvalidArgumentError(
            f"there is no partition_overwrite={options.partition_overwrite!r}",
            hint="it is static or dynamic",
        )
    if options.replace_where is None and not options.replaces_partitions:
        return
    what = "replace_where" if options.replace_where is not None else "partition_overwrite"
    if options.mode != "overwrite":
        raise InvalidArgumentError(f"{what} goes with mode='overwrite' alone")
    if options.overwrite_schema:
        raise InvalidArgumentError(
            f"{what} replaces some of the rows, so overwrite_schema cannot replace the schema",
            hint="leave out one of them; merge_schema=True adds columns",
        )
    if options.replace_where is not None and options.replaces_partitions:
        raise InvalidArgumentError(
            "give replace_where or partition_overwrite='dynamic', not both",
            condition="DELTA_REPLACE_WHERE_WITH_DYNAMIC_PARTITION_OVERWRITE",
        )
    if options.replace_where is not None and not isinstance(options.replace_where, str):
        raise InvalidArgumentError(
            f"replace_where={options.replace_where!r} is not a SQL predicate",
            hint="give a text such as \"day >= '2026-01-01'\"",
        )


def _as_names(columns: Any) -> Any:
    """One name alone stands for a list of it; what is neither is refused later."""
    if isinstance(columns, str):
        return (columns,)
    return tuple(columns) if isinstance(columns, Sequence) else columns


def _check_names(keyword: str, columns: Any) -> None:
    if columns is None:
        return
    if not isinstance(columns, tuple) or not all(isinstance(name, str) for name in columns):
        raise InvalidArgumentError(
            f"{keyword}={columns!r} is not a list of column names",
            hint="give a column name, or a list of them",
        )


def _check_txn(txn: Any) -> None:
    if txn is None:
        return
    fits = isinstance(txn, Sequence) and not isinstance(txn, str) and len(txn) == 2
    if not (fits and isinstance(txn[0], str) and _is_whole(txn[1])):
        raise InvalidArgumentError(
            f"txn={txn!r} is not a pair of an application's id and a version",
            hint="give for example txn=('nightly-load', 17)",
        )


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
