"""Where things are: plain paths, URLs and the file references of a log as one kind of value.

A plain path is taken as it is, letter by letter. Whatever has a scheme is a URL and is
percent-decoded; '#' and '?' have no meaning there, because object stores allow them in names.
The file references of a log are always percent-encoded (PROTOCOL: Add File and Remove File).
"""

from __future__ import annotations

import difflib
import os
import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

from lakebed.errors import InvalidArgumentError, StorageUrlError
from lakebed.storage.store import checked_path

SCHEMES = {
    "file": "file",
    "memory": "memory",
    "s3": "s3",
    "s3a": "s3",
    "s3n": "s3",
    "gs": "gs",
    "gcs": "gs",
    "az": "az",
    "azure": "az",
    "abfs": "az",
    "abfss": "az",
}
"""Every scheme that is understood, and the kind of store behind it."""


@dataclass(frozen=True)
class Location:
    """A place in a store. `path` is decoded, without a slash at either end; "" is the root."""

    scheme: str
    authority: str
    path: str

    @property
    def url(self) -> str:
        scheme = "abfss" if "@" in self.authority else self.scheme
        escaped = quote(self.path.encode("utf-8", "surrogateescape"), safe="/=:,+@")
        return f"{scheme}://{self.authority}/{escaped}"

    @property
    def root(self) -> Location:
        return Location(self.scheme, self.authority, "")

    def join(self, path: str) -> Location:
        joined = f"{self.path}/{path}" if self.path and path else self.path or path
        return Location(self.scheme, self.authority, joined)

    def relative(self, other: Location) -> str | None:
        """`other`'s path as seen from here; None if it is not below."""
        if other.root != self.root:
            return None
        if not self.path:
            return other.path
        inside = other.path.startswith(self.path + "/")
        return other.path[len(self.path) + 1 :] if inside else None

    def reference(self, uri: str) -> Location:
        """The place that a file reference in a log below this location means."""
        if match := _URL.match(uri):
            _check_parts(match[2], uri)
            return parse_location(uri)
        if ":/" in uri and (nested := _SCHEME.match(uri)):
            # Hadoop would look for a file system of this name.
            raise _unknown_scheme(nested[1], uri)
        if uri.startswith("/"):
            return self.root.join(_decoded(uri.strip("/"), uri, self.scheme))
        return self.join(_decoded(uri, uri, self.scheme))


def parse_location(url_or_path: str | os.PathLike[str]) -> Location:
    """The location of a table as a user gives it: a path, or a URL of any known scheme."""
    if isinstance(url_or_path, os.PathLike):
        return _local(os.fspath(url_or_path))
    if not isinstance(url_or_path, str):
        kind = type(url_or_path).__name__
        raise StorageUrlError(f"a location is a string or a pathlib.Path, not {kind}")
    match = _URL.match(url_or_path)
    if match is None:
        return _local(_without_scheme(url_or_path))
    scheme, rest = match[1].lower(), match[2]
    if scheme not in SCHEMES:
        raise _unknown_scheme(scheme, url_or_path)
    kind = SCHEMES[scheme]
    return _file(rest, url_or_path) if kind == "file" else _bucket(kind, rest, url_or_path)


_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+):(/.*)\Z", re.DOTALL)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+):")
_UNENCODABLE = re.compile(r"[\0\ud800-\udc7f\udd00-\udfff]")
_AUTHORITIES = {
    "memory": re.compile(r"[^/\s]*"),
    "s3": re.compile(r"[A-Za-z0-9._\-]+"),
    "gs": re.compile(r"[A-Za-z0-9._\-]+"),
    "az": re.compile(r"[A-Za-z0-9$._\-]+(?:@[A-Za-z0-9.\-]+)?"),
}
_EXAMPLES = {
    "memory": "memory://name/path",
    "s3": "s3://bucket/path",
    "gs": "gs://bucket/path",
    "az": "abfss://container@account.dfs.core.windows.net/path or az://container/path",
}


def _local(path: str) -> Location:
    if not path or _UNENCODABLE.search(path):
        raise StorageUrlError(f"{path!r} is not a path")
    absolute = os.path.abspath(os.path.expanduser(path))  # noqa: PTH100, PTH111 (keeps symlinks)
    return Location("file", "", absolute.strip("/"))


def _without_scheme(path: str) -> str:
    scheme = path.partition(":")[0].lower()
    if ":" in path and scheme in SCHEMES:
        raise StorageUrlError(
            f"{path!r} has a scheme but is not a URL",
            hint=f"Write {scheme}://... for a URL, or ./{path} for a local folder of that name.",
        )
    return path


def _unknown_scheme(scheme: str, url: str) -> StorageUrlError:
    close = difflib.get_close_matches(scheme, SCHEMES, n=1)
    known = ", ".join(f"{name}://" for name in SCHEMES)
    guess = f"Did you mean {close[0]}://? " if close else ""
    return StorageUrlError(
        f"{url!r} has the unknown scheme {scheme!r}",
        hint=f"{guess}Known are {known}; a local path needs none.",
    )


def _file(rest: str, url: str) -> Location:
    host, path = "", rest
    if rest.startswith("//"):
        host, slash, tail = rest[2:].partition("/")
        path = slash + tail
    if host.lower() not in ("", "localhost") or not path:
        raise StorageUrlError(
            f"{url!r} is not a file on this machine", hint="Write file:///absolute/path."
        )
    # Not through `_decoded`: a user may write '..' in the location of a table.
    return _local("/" + unquote(path, errors="surrogateescape").lstrip("/"))


def _check_parts(path: str, uri: str) -> None:
    """A user may write '..' in the location of a table, a log may not."""
    if any(part in (".", "..") for part in unquote(path, errors="replace").split("/")):
        raise StorageUrlError(
            f"{uri!r} is not a valid location", hint="No part of it may be '.' or '..'."
        )


def _bucket(kind: str, rest: str, url: str) -> Location:
    authority, _, tail = rest[2:].partition("/")
    if not rest.startswith("//") or not _AUTHORITIES[kind].fullmatch(authority):
        raise StorageUrlError(f"{url!r} names no bucket", hint=f"Write {_EXAMPLES[kind]}.")
    path = tail.strip("/")
    return Location(kind, authority, _decoded(path, url, kind) if path else "")


def _decoded(path: str, url: str, kind: str) -> str:
    # File names on disk are bytes, of any encoding; names in object stores are Unicode.
    errors = "surrogateescape" if kind == "file" else "strict"
    try:
        return checked_path(unquote(path, errors=errors))
    except (UnicodeDecodeError, InvalidArgumentError) as error:
        raise StorageUrlError(
            f"{url!r} is not a valid location",
            hint="No part of it may be empty, '.' or '..', and escapes must be UTF-8.",
        ) from error
