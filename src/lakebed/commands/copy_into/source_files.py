"""The files that COPY INTO is given: a folder, a single file or a pattern.

Names that begin with a dot or an underscore are not data, as in Spark.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from lakebed.errors import DataFileError, InvalidArgumentError
from lakebed.log.listing.log_names import LOG_FOLDER
from lakebed.spark.stores.location import open_location
from lakebed.storage.store import ObjectMeta, Store

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
