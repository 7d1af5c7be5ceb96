"""What a write needs of the rows it is given, on whatever data plane they are."""

from __future__ import annotations

from typing import Protocol

from lakebed.data_files.file_layout import FileLayout, WrittenFiles
from lakebed.data_files.file_rewrites import Rewrite, Rewritten
from lakebed.spec.schema import StructType
from lakebed.transaction import Transaction


class Rows(Protocol):
    """Rows on their way into a table."""

    @property
    def spark_zone(self) -> str | None:
        """The time zone in which Spark reads rules and predicates; None if Lakebed reads them."""
        ...

    @property
    def schema(self) -> StructType:
        """The columns as they come."""
        ...

    def pinned(self, transaction: Transaction) -> Rows:
        """The same rows for one attempt: each table that they are read from at one version.

        The transaction learns what they are read from.
        """
        ...

    def write(self, layout: FileLayout, rule: str | None = None) -> WrittenFiles:
        """Makes the rows fit the table and writes them as files that no commit names yet.

        `rule` is a SQL condition that must be true for each of them.
        """
        ...

    def rewrite(self, wanted: Rewrite) -> Rewritten:
        """Finds the rows of some files that go, and writes those that stay where that is needed."""
        ...
