"""COPY INTO: files become rows of a table, each file once.

Which files were loaded is in the log: the commit that adds the rows of a file has a transaction
identifier for it (PROTOCOL: Transaction Identifiers). So a file counts as loaded exactly if its
rows are there, every engine keeps the record, and of two loads of one file that run at the same
time one is a conflict, looks again and finds nothing left to do.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from lakebed.commands.optimize.auto_compaction import auto_compact
from lakebed.commands.optimize.clustered_writes import ClusteredWrites
from lakebed.commands.rows.change_target import ATTEMPTS
from lakebed.commands.target.row_target import RowTarget
from lakebed.commands.target.write_options import WriteOptions
from lakebed.commands.write.write_rows import write_table
from lakebed.errors import ConcurrentTransactionError, DataFileError, InvalidArgumentError
from lakebed.log.listing.log_names import LOG_FOLDER
from lakebed.log.snapshot import Snapshot
from lakebed.settings.setting_table import COMPRESSION
from lakebed.spark.session.session_settings import all_settings
from lakebed.spark.stores.location import open_location
from lakebed.spark.write.frame_rows import FrameRows
from lakebed.storage.store import ObjectMeta, Store

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
    rows = FrameRows(
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


# --- the files to load ----------------------------------------------------------------------------

_NAMED = 10
_GLOB = re.compile(r"[*?\[{]")


@dataclass(frozen=True)
class SourceFile:
    """`key` stands for the file in the log of the table; `path` is for Spark to read it."""

    key: str
    path: str
    size: int


@dataclass(frozen=True)
class CopySource:
    """`root` is the folder that names of files and patterns begin at."""

    store: Store
    root: str

    def files(self, names: Sequence[str] | None, pattern: str | None) -> list[SourceFile]:
        """The named files, or those that the pattern is true for; all without either."""
        if names is not None:
            return self._named(names)
        matches = _matcher(pattern)
        found = sorted(self.store.list_all())
        if any(meta.path.startswith(f"{LOG_FOLDER}/") for meta in found):
            raise InvalidArgumentError(
                f"{self.root} is a Delta table, whose folder has files that are no part of it",
                hint="use INSERT INTO ... SELECT ... FROM delta.`...`",
            )
        return [self._file(meta) for meta in found if not _hidden(meta.path) and matches(meta.path)]

    def _named(self, names: Sequence[str]) -> list[SourceFile]:
        paths = list(dict.fromkeys(name.strip("/") for name in names))
        gone = [path for path in paths if not path or not self.store.exists(path)]
        if gone:
            more = f" and {len(gone) - _NAMED} more" if len(gone) > _NAMED else ""
            raise DataFileError(
                f"{self.root} has no file {', '.join(gone[:_NAMED])}{more}",
                hint="names in FILES are relative to the path; nothing was loaded",
            )
        return [self._file(self.store.head(path)) for path in paths]

    def _file(self, meta: ObjectMeta) -> SourceFile:
        name = f"{self.store.url.rstrip('/')}/{meta.path}"
        digest = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()
        return SourceFile(
            f"copy-into-{digest[:40]}", _literal(f"{self.root}/{meta.path}"), meta.size
        )


def open_source(session: SparkSession, path: str) -> tuple[CopySource, str | None]:
    """The source, and the pattern that the path itself has, if it does.

    What exists under the very path is meant, whatever letters it has.
    """
    trimmed = path.rstrip("/") or path
    store, root = open_location(session, trimmed, {})
    if next(iter(store.list_all()), None) is not None:
        return CopySource(store, root), None
    folder, _, name = trimmed.rpartition("/")
    above, above_root = open_location(session, folder or "/", {})
    if name and above.exists(name):
        return CopySource(above, above_root), re.sub(r"([*?\[\]{}\\])", r"\\\1", name)
    glob = _GLOB.search(trimmed)
    if glob is None:
        raise DataFileError(
            f"there are no files at {path}", hint="give a folder, a file or a pattern of names"
        )
    start = trimmed.rfind("/", 0, glob.start())
    store, root = open_location(session, trimmed[:start] or "/", {})
    return CopySource(store, root), trimmed[start + 1 :]


def glob_pattern(text: str) -> re.Pattern[str]:
    """Patterns of Hadoop: `*` and `?` stay inside a folder, `[a-c]`, `{csv,txt}`, backslash."""
    try:
        return re.compile(_translated(text))
    except re.error as error:
        raise InvalidArgumentError(f"{text!r} is not a pattern: {error}") from error


def _translated(text: str) -> str:
    out, place, depth = "", 0, 0
    while place < len(text):
        letter = text[place]
        closing = text.find("]", place + 2) if letter == "[" else -1
        if letter == "\\" and place + 1 < len(text):
            out, place = out + re.escape(text[place + 1]), place + 1
        elif letter == "*" and text[place : place + 2] == "**":
            out, place = out + ".*", place + 1
        elif letter in "*?":
            out += "[^/]*" if letter == "*" else "[^/]"
        elif closing > 0:
            inner = text[place + 1 : closing].replace("\\", "\\\\").replace("[", "\\[")
            out += "[" + ("^" + inner[1:] if inner[0] in "!^" else inner) + "]"
            place = closing
        elif letter == "{":
            out, depth = out + "(?:", depth + 1
        elif letter == "}" and depth:
            out, depth = out + ")", depth - 1
        else:
            out += "|" if letter == "," and depth else re.escape(letter)
        place += 1
    if depth:
        raise InvalidArgumentError(f"{text!r} is not a pattern: a brace is not closed")
    return out


def _matcher(pattern: str | None) -> Callable[[str], object]:
    if pattern is None:
        return lambda _: True
    return glob_pattern(pattern).fullmatch


def _hidden(path: str) -> bool:
    return any(part[:1] == "." or (part[:1] == "_" and "=" not in part) for part in path.split("/"))


def _literal(path: str) -> str:
    """For Spark, which takes paths as patterns."""
    return re.sub(r"([*?\[\]{}\\])", r"\\\1", path)


def total_size(files: Iterable[SourceFile]) -> int:
    return sum(file.size for file in files)
