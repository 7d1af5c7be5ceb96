"""Which names and locations a catalog takes.

Spark refuses others, but only when a session is to show them: then they are stored already.
"""

from __future__ import annotations

import re

from lakebed.errors import InvalidArgumentError
from lakebed.spec.limits import CATALOG_NAME

_VALID = re.compile(r"[A-Za-z0-9_]+")
# Spark keeps its global temporary views in a schema of this name.
_RESERVED = "global_temp"


def check_name(name: str) -> None:
    """Of a table or a schema."""
    if not _VALID.fullmatch(name) or len(name) > CATALOG_NAME:
        raise InvalidArgumentError(
            f"{name!r} cannot be a name in Spark's catalog",
            hint=f"names have up to {CATALOG_NAME} letters from a to z, digits and underscores; "
            "paths may have more",
        )


def check_schema_name(name: str) -> None:
    check_name(name)
    if name.lower() == _RESERVED:
        raise InvalidArgumentError(
            f"{name!r} cannot be a name of a schema: Spark keeps global temporary views there",
            hint="choose another name",
        )


def check_location(location: str) -> None:
    if not location.strip() or "\0" in location:
        raise InvalidArgumentError(
            f"{location!r} cannot be a location", hint="give the path or URL of a folder"
        )
