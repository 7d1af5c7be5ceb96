"""The identity of a logical file: its path and the id of its deletion vector.

PROTOCOL: Add File and Remove File. A key is one string; an absolute path has one spelling.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_LOCAL = re.compile(r"file:/{1,3}(?=[^/])")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def file_key(path: str, vector: Mapping[str, Any] | None) -> str:
    if path[:1] == "/" or ":" in path:
        path = canonical_path(path)
    return path if vector is None else f"{path}\0{vector_id(vector)}"


def vector_id(vector: Mapping[str, Any]) -> str:
    name = f"{vector['storageType']}{vector['pathOrInlineDv']}"
    offset = vector.get("offset")
    return name if offset is None else f"{name}@{offset}"


def canonical_path(path: str) -> str:
    """`/a`, `file:/a` and `file:///a` are the same file."""
    local = _LOCAL.match(path)
    return f"/{path[local.end() :]}" if local else path


def spellings(path: str) -> list[str]:
    """Every way to write the same path."""
    if path[:1] != "/" and not _SCHEME.match(path):
        return [path]
    plain = canonical_path(path)
    if plain[:1] != "/":
        return [path]
    return [plain, f"file:{plain}", f"file://{plain}"]
