"""Tables by name, given as text: `orders`, `shop.orders`, delta.`/data/orders`."""

from __future__ import annotations

import re

from pyspark.sql import SparkSession

from lakebed.catalog.entry import DELTA, Parts, TableEntry
from lakebed.errors import InvalidArgumentError
from lakebed.spark.catalog.session_catalog import find, not_found, resolve

_PART = r"(?:`(?:[^`]|``)+`|\w+)"
_NAME = re.compile(rf"\s*{_PART}(?:\s*\.\s*{_PART})*\s*")


def is_name(text: str) -> bool:
    """Whether a text could be the name of a table: `orders`, `db.orders`, delta.`/data`."""
    return _NAME.fullmatch(text) is not None


def path_in(identifier: str) -> str | None:
    """The path in delta.`/data/orders`; None if the identifier is another one."""
    texts = re.findall(_PART, identifier) if is_name(identifier) else []
    if len(texts) != 2 or texts[0].strip("`").lower() != DELTA or texts[1][0] != "`":
        return None
    return _unquoted(texts[1])


def parts_in(identifier: str) -> Parts:
    """The parts of a name, without quotes."""
    if not isinstance(identifier, str) or not is_name(identifier):
        raise InvalidArgumentError(
            f"{identifier!r} is not the name of a table",
            hint="names are like orders or shop.orders; forPath takes paths",
        )
    return tuple(_unquoted(text) for text in re.findall(_PART, identifier))


def delta_location(session: SparkSession, identifier: str) -> str:
    """Where a Delta table is, by its name or as delta.`/data/orders`."""
    path = path_in(identifier)
    if path is not None:
        return path
    location = resolve(session, parts_in(identifier)).location
    assert location is not None
    return location


def find_table(session: SparkSession, identifier: str) -> TableEntry | None:
    """What the session's catalog has under a name; an error if it belongs to another catalog."""
    if path_in(identifier) is not None:
        return None
    parts = parts_in(identifier)
    found = find(session, parts)
    if found is None:
        # Raises for other catalogs, which are not asked.
        not_found(session, parts)
    return None if found is None or found.is_path else found


def _unquoted(text: str) -> str:
    return text[1:-1].replace("``", "`") if text.startswith("`") else text
