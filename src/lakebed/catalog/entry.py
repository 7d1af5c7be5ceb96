"""What a catalog knows about a name."""

from __future__ import annotations

from dataclasses import dataclass

SESSION_CATALOG = "spark_catalog"
DELTA = "delta"
Parts = tuple[str, ...]
"""The parts of a name, without quotes: ("shop", "orders")."""


@dataclass(frozen=True)
class TableEntry:
    """`kind` is MANAGED, EXTERNAL or VIEW; PATH if the name is a path. `provider` is the format, in
    small letters; views have none. `location` is as Hadoop writes it, no character escaped.
    """

    parts: Parts
    kind: str
    provider: str | None = None
    location: str | None = None
    is_temporary: bool = False
    comment: str | None = None
    owner: str | None = None

    @property
    def name(self) -> str:
        """To show."""
        return ".".join(self.parts)

    @property
    def full_name(self) -> str:
        """With the catalog of the session, as delta-spark shows names."""
        return ".".join((SESSION_CATALOG, *self.parts))

    @property
    def is_view(self) -> bool:
        return self.kind == "VIEW"

    @property
    def is_managed(self) -> bool:
        return self.kind == "MANAGED"

    @property
    def is_path(self) -> bool:
        return self.kind == "PATH"

    @property
    def is_delta(self) -> bool:
        return self.provider == DELTA and self.location is not None


@dataclass(frozen=True)
class NewEntry:
    """A name to be. `schema` is JSON, as in the log."""

    database: str
    name: str
    location: str
    is_managed: bool
    schema: str | None = None
    partition_by: tuple[str, ...] = ()
    comment: str | None = None
    owner: str | None = None


class TakenError(Exception):
    """The catalog has the name already."""
