"""What all statements have: a statement is a frozen value that the grammar makes of SQL text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Slice:
    """A part of a statement that Spark is to understand, and where in the statement it begins."""

    text: str
    position: int

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class TableRef:
    """A table by name, such as ("shop", "orders"), or by path: ("delta", "/data/orders")."""

    parts: tuple[str, ...]
    position: int

    @property
    def path(self) -> str | None:
        """The path, if the reference is delta.`/data/orders`."""
        is_path = len(self.parts) == 2 and self.parts[0].lower() == "delta" and "/" in self.parts[1]
        return self.parts[1] if is_path else None

    def __str__(self) -> str:
        return ".".join(f"`{part.replace('`', '``')}`" for part in self.parts)


@dataclass(frozen=True)
class AsOf:
    """Which version of a table: a number, or an expression of a time."""

    version: int | None = None
    timestamp: Slice | None = None


@dataclass(frozen=True)
class Statement:
    """`table` is the table that it is about; if that is no Delta table, Spark gets the statement.

    `is_ours`: no other engine would know the statement, so there is nothing to leave to Spark.
    """

    table: TableRef
    is_ours: bool = False
