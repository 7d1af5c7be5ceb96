"""What an embedded catalog knows about its tables and namespaces."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NamespaceRecord:
    """Times are milliseconds since 1970."""

    name: str
    location: str
    comment: str | None = None
    owner: str | None = None


@dataclass(frozen=True)
class TableRecord:
    """`dropped` None: the table is there. `id` never comes again."""

    id: str
    namespace: str
    name: str
    location: str
    is_managed: bool
    comment: str | None = None
    owner: str | None = None
    created: int = 0
    dropped: int | None = None


@dataclass(frozen=True)
class Content:
    """A catalog at one moment. `locations` are those of dropped tables too."""

    generation: int
    namespaces: list[NamespaceRecord]
    tables: list[TableRecord]
    locations: set[str]
