"""Tables by name: where the session's catalog says that they are.

Spark tells a data source of Python nothing of the catalog, and `DESCRIBE TABLE` of a Delta table
has no location for the same reason. `SHOW TABLE EXTENDED` has it, for classic sessions and for
Spark Connect. Other catalogs than the session's own are not asked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from pyspark.sql import SparkSession

from lakebed.errors import InvalidArgumentError, TableNotFoundError, UnsupportedFeatureError

SESSION_CATALOG = "spark_catalog"
_DELTA = "delta"
_PART = r"(?:`(?:[^`]|``)+`|\w+)"
_NAME = re.compile(rf"\s*{_PART}(?:\s*\.\s*{_PART})*\s*")


@dataclass(frozen=True)
class CatalogTable:
    """What the catalog knows. `provider` is the format, in small letters; views have none."""

    name: str
    kind: str
    provider: str | None
    location: str | None

    @property
    def is_view(self) -> bool:
        return self.kind == "VIEW"

    @property
    def is_delta(self) -> bool:
        return self.provider == _DELTA and self.location is not None


def is_name(text: str) -> bool:
    """Whether a text could be the name of a table: `orders`, `db.orders`, delta.`/data`."""
    return _NAME.fullmatch(text) is not None


def path_in(identifier: str) -> str | None:
    """The path in delta.`/data/orders`; None if the identifier is another one."""
    texts = re.findall(_PART, identifier) if is_name(identifier) else []
    if len(texts) != 2 or texts[0].strip("`").lower() != _DELTA or texts[1][0] != "`":
        return None
    return _unquoted(texts[1])


def delta_location(session: SparkSession, identifier: str) -> str:
    """Where a Delta table is, by its name or as delta.`/data/orders`."""
    path = path_in(identifier)
    if path is not None:
        return path
    found = find_table(session, identifier)
    if found is None:
        raise _not_found(session, identifier)
    if found.is_view:
        raise InvalidArgumentError(
            f"{found.name} is a view", hint="give the table that it is made of"
        )
    if found.provider != _DELTA:
        raise InvalidArgumentError(
            f"{found.name} is a table of {found.provider or 'unknown format'}, not a Delta table",
            hint="convertToDelta makes Delta tables of Parquet files",
        )
    if found.location is None:
        raise InvalidArgumentError(
            f"the catalog does not say where {found.name} is", hint="open it by its path"
        )
    return found.location


def find_table(session: SparkSession, identifier: str) -> CatalogTable | None:
    """What the session's catalog has under a name. A temporary view goes before a table."""
    database, name = _place(session, identifier)
    if name is None or not (database is None or session.catalog.databaseExists(_quoted(database))):
        return None
    where = _quoted(database or session.catalog.currentDatabase())
    rows = session.sql(f"SHOW TABLE EXTENDED IN {where} LIKE '{name}'").collect()
    # Views of the session are listed with every database, but belong to none.
    mine = [row for row in rows if database is None or not row["isTemporary"]]
    for row in sorted(mine, key=lambda each: not each["isTemporary"]):
        if row["tableName"].lower() == name.lower():
            shown = ".".join(filter(None, [row["namespace"], row["tableName"]]))
            return _read(shown, row["information"])
    return None


def _place(session: SparkSession, identifier: str) -> tuple[str | None, str | None]:
    """The database, if one is given, and the name; no name if the catalog has none like it."""
    if not is_name(identifier):
        raise InvalidArgumentError(
            f"{identifier!r} is not the name of a table",
            hint="names are like orders or shop.orders; forPath takes paths",
        )
    parts = [_unquoted(text) for text in re.findall(_PART, identifier)]
    catalog = parts.pop(0) if len(parts) > 2 else session.catalog.currentCatalog()
    if catalog.lower() != SESSION_CATALOG or len(parts) > 2:
        raise UnsupportedFeatureError(
            f"{identifier} is a table of the catalog {catalog}; Lakebed finds those of "
            f"{SESSION_CATALOG} alone",
            hint="open the table by its path, with forPath",
        )
    # No table of this catalog has other letters in its name, and in a pattern they mean something.
    known = parts[-1] if re.fullmatch(r"\w+", parts[-1]) else None
    return (parts[0] if len(parts) == 2 else None), known


def _read(name: str, information: str) -> CatalogTable:
    """The text of `SHOW TABLE EXTENDED`: first what Spark says, then what users wrote.

    Texts of users may have lines that look the same. So the kind and the format are the first of
    their lines, and the location is the last before the schema.
    """
    lines = information.rpartition("\nSchema: root")[0] or information
    kinds = re.findall(r"^Type: (.*)$", lines, re.MULTILINE)
    kind = kinds[0] if kinds else ""
    if kind == "VIEW":
        return CatalogTable(name, kind, None, None)
    providers = re.findall(r"^Provider: (.*)$", lines, re.MULTILINE)
    locations = re.findall(r"^Location: (.*)$", lines, re.MULTILINE)
    return CatalogTable(
        name,
        kind,
        providers[0].lower() if providers else None,
        locations[-1] if locations else None,
    )


def _not_found(session: SparkSession, identifier: str) -> TableNotFoundError:
    database, name = _place(session, identifier)
    if database is not None and not session.catalog.databaseExists(_quoted(database)):
        known = [each.name for each in session.catalog.listDatabases()]
        message = f"there is no database {database}, and so no table {identifier}"
        return TableNotFoundError(message, hint=_near(database, known))
    where = database or session.catalog.currentDatabase()
    rows = session.sql(f"SHOW TABLES IN {_quoted(where)}").collect()
    known = [row["tableName"] for row in rows]
    shown = name or identifier
    return TableNotFoundError(
        f"there is no table {shown} in the database {where}", hint=_near(shown, known)
    )


def _near(name: str, known: Sequence[str]) -> str:
    spelled = {each.lower(): each for each in known}
    near = [spelled[each] for each in get_close_matches(name.lower(), spelled, n=3)]
    return f"did you mean {' or '.join(near)}?" if near else "open it by its path, with forPath"


def _unquoted(text: str) -> str:
    return text[1:-1].replace("``", "`") if text.startswith("`") else text


def _quoted(name: str) -> str:
    escaped = name.replace("`", "``")
    return f"`{escaped}`"
