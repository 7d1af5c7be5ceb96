"""The arguments of table_changes as a read."""

from __future__ import annotations

from collections.abc import Sequence

from lakebed.errors import InvalidArgumentError
from lakebed.spark.read_request import ReadRequest


def changes_request(given: Sequence[int | str | None]) -> ReadRequest:
    """The arguments of table_changes behind the table: numbers are versions, strings times."""
    if len(given) not in (1, 2) or None in given:
        raise InvalidArgumentError(
            "table_changes takes a table, a first version or time, and maybe a last one",
            hint="write it as table_changes('orders', 3) or table_changes('orders', 3, 5)",
        )
    request = ReadRequest()
    request.set("readChangeFeed", True)
    for end, value in zip(("starting", "ending"), given, strict=False):
        kind = "Version" if isinstance(value, int) else "Timestamp"
        request.set(f"{end}{kind}", value)
    return request
