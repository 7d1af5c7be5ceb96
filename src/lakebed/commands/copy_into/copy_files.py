"""COPY INTO: files become rows of a table, each file once.

Which files were loaded is in the log: the commit that adds the rows of a file has a transaction
identifier for it (PROTOCOL: Transaction Identifiers). So a file counts as loaded exactly if its
rows are there, every engine keeps the record, and of two loads of one file that run at the same
time one is a conflict, looks again and finds nothing left to do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from lakebed.commands.copy_into.source_files import SourceFile, open_source, total_size
from lakebed.commands.optimize.auto_compaction import auto_compact
from lakebed.commands.optimize.clustered_writes import ClusteredWrites
from lakebed.commands.target.row_target import ATTEMPTS, RowTarget
from lakebed.commands.target.write_options import WriteOptions
from lakebed.commands.write.replace_frame import ReplacingRows
from lakebed.commands.write.write_rows import write_table
from lakebed.errors import ConcurrentTransactionError, InvalidArgumentError
from lakebed.log.snapshot import Snapshot
from lakebed.settings.setting_table import COMPRESSION
from lakebed.spark.stores.session_settings import all_settings

FORMATS = ("parquet", "csv", "json", "orc", "text", "avro", "binaryfile")


@dataclass(frozen=True)
class CopyRequest:
    """`arrange` makes columns of the table of the columns of the files.

    `force` loads files again that were loaded before.
    """

    source: str
    file_format: str
    arrange: Callable[[DataFrame, Snapshot], DataFrame]
    files: Sequence[str] | None = None
    pattern: str | None = None
    format_options: Mapping[str, str] = field(default_factory=dict)
    force: bool = False
    merge_schema: bool = False

    def __post_init__(self) -> None:
        if self.file_format.lower() not in FORMATS:
            raise InvalidArgumentError(
                f"files of the format {self.file_format!r} cannot be loaded",
                hint=f"formats are {', '.join(FORMATS)}",
            )
        if self.files is not None and self.pattern is not None:
            raise InvalidArgumentError("give files or a pattern, not both")


@dataclass(frozen=True)
class Copied:
    num_rows: int = 0
    num_files: int = 0


def copy_files(target: RowTarget, request: CopyRequest) -> Copied:
    """Loads the files that are not loaded yet, all of them in one commit."""
    found = _listed(target, request)
    for attempt in range(ATTEMPTS):
        snapshot = target.log.snapshot()
        left = found if request.force else _not_loaded(found, snapshot)
        if not left:
            return Copied()
        try:
            return _load(target, request, left, snapshot)
        except ConcurrentTransactionError:
            # Somebody loads the same files: what they have committed is done.
            if attempt + 1 == ATTEMPTS:
                raise
    raise AssertionError("the last attempt returns or raises")


def preview(target: RowTarget, request: CopyRequest) -> DataFrame | None:
    """The rows that would be loaded; None if there are no files left."""
    snapshot = target.log.snapshot()
    found = _listed(target, request)
    left = found if request.force else _not_loaded(found, snapshot)
    return _frame(target, request, left, snapshot) if left else None


def _listed(target: RowTarget, request: CopyRequest) -> list[SourceFile]:
    source, inside = open_source(target.session, request.source)
    if inside is not None and (request.files is not None or request.pattern is not None):
        raise InvalidArgumentError(
            f"{request.source} names files already", hint="leave out the list of files or pattern"
        )
    return source.files(request.files, request.pattern or inside)


def _not_loaded(files: Sequence[SourceFile], snapshot: Snapshot) -> list[SourceFile]:
    return [file for file in files if file.key not in snapshot.transactions]


def _frame(
    target: RowTarget, request: CopyRequest, files: Sequence[SourceFile], snapshot: Snapshot
) -> DataFrame:
    reader = target.session.read.format(request.file_format.lower())
    for key, value in request.format_options.items():
        reader = reader.option(key, value)
    return request.arrange(reader.load([file.path for file in files]), snapshot)


def _load(
    target: RowTarget, request: CopyRequest, files: Sequence[SourceFile], snapshot: Snapshot
) -> Copied:
    settings = all_settings(target.session)
    rows = ReplacingRows(
        _frame(target, request, files, snapshot),
        target.plane,
        target.log.store,
        default_compression=COMPRESSION.read(settings),
        arrange=ClusteredWrites(target.log, target.plane, settings).arranged,
    )
    written = write_table(target.log, rows, _options(target, request, files, snapshot), snapshot)
    info = written.commit_info
    metrics = {} if info is None else info.values.get("operationMetrics", {})
    auto_compact(target, written)
    return Copied(int(metrics.get("numOutputRows", 0)), len(files))


def _options(
    target: RowTarget, request: CopyRequest, files: Sequence[SourceFile], snapshot: Snapshot
) -> WriteOptions:
    known = snapshot.transactions
    loads = {f.key: known[f.key].version + 1 if f.key in known else 0 for f in files}
    return WriteOptions(
        merge_schema=request.merge_schema or target.merges_schemas,
        user_metadata=target.user_metadata,
        loads=loads,
        operation={
            "name": "COPY INTO",
            "source": request.source,
            "fileFormat": request.file_format.lower(),
            "numSourceFiles": str(len(files)),
            "sourceBytes": str(total_size(files)),
        },
    )
