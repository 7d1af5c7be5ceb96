"""Paths of data files (PROTOCOL: Add File and Remove File, `path`; Data Files).

The log holds URIs; the stores of Lakebed want plain paths. Encoding follows `java.net.URI`, through
which delta-spark writes every path, so that a file written here has the very text in the log that
delta-spark would give it: ASCII outside RFC 2396's path characters is escaped, other letters stay
as they are, and `+` is a plus sign, not a space.
"""

from __future__ import annotations

import re
import secrets
import string
import unicodedata
import uuid
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import LogCorruptedError, StorageUrlError

DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
CHANGE_DATA_DIRECTORY = "_change_data"


class AbsolutePath(NamedTuple):
    """An absolute `path` of the log, taken apart. `path` is decoded and starts with a slash."""

    scheme: str
    authority: str
    path: str


# --- the text of the log <-> the path in the store ----------------------------------------------


def encode_path(path: str) -> str:
    """The text that the log holds for a file at `path`."""
    if _PLAIN.fullmatch(path):
        return path
    return "".join(map(_encode_character, path))


def is_plain(text: str) -> bool:
    """Whether `encode_path` would leave it as it is; made for texts of millions of characters."""
    return not text.encode("utf-8", "replace").translate(None, _PLAIN_BYTES)


def decode_path(text: str) -> str:
    """The path of the file that the log calls `text`. Absolute URIs: see `split_absolute`."""
    if "%" not in text:
        return text
    if _BROKEN_ESCAPE.search(text):
        raise _not_decodable(text, "a '%' is not followed by two hexadecimal digits")
    try:
        return unquote_to_bytes(text).decode("utf-8")
    except UnicodeError as error:
        raise _not_decodable(text, "its escaped bytes are not UTF-8") from error


def decode_paths(texts: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """`decode_path` over a column. Costs next to nothing where nothing is escaped."""
    if not pc.any(pc.match_substring(texts, "%")).as_py():
        return texts
    decoded = [None if text is None else decode_path(text) for text in texts.to_pylist()]
    return pa.array(decoded, pa.string())


def is_absolute(text: str) -> bool:
    """Whether `text` names a file by itself rather than below the root of the table."""
    return text.startswith("/") or _SCHEME.match(text) is not None


def split_absolute(text: str) -> AbsolutePath:
    """Takes `file:/a`, `file:///a`, `/a`, `s3://bucket/a` ... apart; the path comes decoded."""
    scheme, rest = _split_scheme(text)
    if not rest.startswith("/"):
        raise StorageUrlError(
            f"{text!r} is not the absolute URI of a file",
            hint="Expected a form such as file:///directory/file or s3://bucket/directory/file.",
        )
    authority = ""
    if rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
    return AbsolutePath(scheme, authority, decode_path(rest or "/"))


def canonical_path(text: str, root: str) -> str:
    """One spelling per file for the reconciliation of actions, as delta-spark canonicalises.

    `root` is the URL of the table: a path without a scheme, `/a`, lives in the same store.
    Relative paths are left alone, and nothing is decoded.
    """
    if not is_absolute(text):
        return text
    scheme, rest = _split_scheme(text)
    if rest.startswith("//"):
        return f"{scheme}:{rest}"
    if text.startswith("/") and _SCHEME.match(root):
        scheme, root_rest = _split_scheme(root)
        authority = root_rest[2:].partition("/")[0] if root_rest.startswith("//") else ""
        return f"{scheme}://{authority}{rest}"
    return f"{scheme}://{rest}"


def absolute_reference(text: str, root: str) -> str:
    """The text that the log holds for an absolute path, letter by letter that of delta-spark.

    Hadoop writes a local file as `file:/a`, with letters beyond ASCII as they are. delta-spark
    looks for deleted rows by this text, and finds no file that the log spells in another way.
    URLs of object stores stay as they are.
    """
    canonical = canonical_path(text, root)
    scheme, authority, path = split_absolute(canonical)
    if scheme != "file" or authority:
        return canonical
    return f"file:{encode_path(path)}"


# --- directories and names of new files ---------------------------------------------------------


def escape_name(name: str) -> str:
    """A column name or value as part of a directory name, escaped as Spark and Hive do."""
    return _HIVE_SPECIAL.sub(lambda match: f"%{ord(match[0]):02X}", name)


def unescape_name(name: str) -> str:
    """The inverse of `escape_name`. A stray `%` stays, as in Spark."""
    return _HIVE_ESCAPE.sub(lambda match: chr(int(match[1], 16)), name)


def partition_directory(values: Mapping[str, str | None]) -> str:
    """`a=1/b=x%2Fy` for serialised partition values in the order of the partition columns."""
    return "/".join(
        f"{escape_name(column)}={escape_name(value) if value else DEFAULT_PARTITION}"
        for column, value in values.items()
    )


def data_file_name(codec: str, *, task: int = 0, counter: int = 0, kind: str = "part") -> str:
    """A name that no other file has, as Spark forms it: part-00000-<uuid>-c000.snappy.parquet.

    `codec` is a value of `delta.parquet.compression.codec`; `kind` is "part" or "cdc".
    """
    suffix = _CODEC_SUFFIXES.get(codec.lower(), f".{codec.lower()}")
    return f"{kind}-{task:05d}-{uuid.uuid4()}-c{counter:03d}{suffix}.parquet"


def data_file_path(
    name: str,
    partition_values: Mapping[str, str | None] | None = None,
    *,
    random_prefix_length: int = 0,
) -> str:
    """Where a new data file goes below the root; not encoded.

    A random prefix (`delta.randomizeFilePrefixes`) takes the place of the partition's directory:
    it spreads the load on stores that divide their keys by prefix.
    """
    if random_prefix_length > 0:
        return f"{random_prefix(random_prefix_length)}/{name}"
    directory = partition_directory(partition_values or {})
    return f"{directory}/{name}" if directory else name


def random_prefix(length: int) -> str:
    return "".join(secrets.choice(_ALPHANUMERIC) for _ in range(length))


_ALPHANUMERIC = string.ascii_letters + string.digits
_URI_PATH = frozenset(_ALPHANUMERIC + "-_.!~*'()" + ":@&=+$,;/")
_PLAIN = re.compile(r"[A-Za-z0-9\-_.!~*'():@&=+$,;/]*")
_PLAIN_BYTES = f"{string.ascii_letters}{string.digits}-_.!~*'():@&=+$,;/".encode()
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_HIVE_SPECIAL = re.compile(r"""[\x00-\x1f"#%'*/:=?\\\x7f{\[\]^]""")
_HIVE_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
# The suffixes of parquet-java, which Spark puts into its file names.
_CODEC_SUFFIXES = {
    "none": "",
    "uncompressed": "",
    "gzip": ".gz",
    "lz4": ".lz4hadoop",
    "lz4_raw": ".lz4raw",
    "brotli": ".br",
}


def _encode_character(character: str) -> str:
    if character in _URI_PATH or (character > "\x7f" and not _is_blank(character)):
        return character
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8"))


def _is_blank(character: str) -> bool:
    """Java's `isSpaceChar` or `isISOControl`, for characters beyond ASCII."""
    return unicodedata.category(character) in {"Zs", "Zl", "Zp", "Cc"}


def _split_scheme(text: str) -> tuple[str, str]:
    match = _SCHEME.match(text)
    return (match[1].lower(), text[match.end() :]) if match else ("file", text)


def _not_decodable(text: str, reason: str) -> LogCorruptedError:
    return LogCorruptedError(
        f"the path {text!r} cannot be decoded: {reason}",
        hint="Paths in the log are URIs; the writer of this table left this one unescaped.",
    )
