"""What a write needs of the rows it is given, on whatever data plane they are."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from lakebed.arrow.write import FileLayout, Written
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Add
from lakebed.spec.schema import StructType


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

    def write(self, layout: FileLayout, rule: str | None = None) -> Written:
        """Makes the rows fit the table and writes them as files that no commit names yet.

        `rule` is a SQL condition that must be true for each of them.
        """
        ...

    def keep(
        self, snapshot: Snapshot, files: pa.Table, where: str, layout: FileLayout
    ) -> list[Add]:
        """Writes again the rows of some files for which a SQL condition is not true."""
        ...
