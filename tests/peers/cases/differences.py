"""Known differences from delta-spark, by the name of the comparison, each with its reason.

`on_purpose`: why Lakebed's answer is right. `gap`: Lakebed has to follow; the comparison is an
expected failure, and fails once both agree. Both name the aspects that differ.
"""

from __future__ import annotations

from collections.abc import Callable

from comparing import Difference, gap, on_purpose


def _listed(
    kind: Callable[[str, str], Difference], aspects: str, reason: str, *names: str
) -> dict[str, Difference]:
    return dict.fromkeys(names, kind(aspects, reason))


_GAPS = {
    **_listed(
        gap,
        "error rows",
        "CREATE TABLE without columns is refused",
        "create: no columns",
    ),
    **_listed(
        gap,
        "operation parameters metrics",
        "TRUNCATE TABLE is recorded as DELETE",
        "deletion vectors: truncate",
        "names mapped: truncate",
    ),
    **_listed(
        gap,
        "result",
        "OPTIMIZE of a clustered table tells of deletion vectors where there are none",
        "optimize result of clusters: first",
    ),
    **_listed(
        gap,
        "protocol parameters",
        "a shallow clone of a Parquet table has another writer version and source version",
        "clone of Parquet by name: shallow",
    ),
    **_listed(
        gap,
        "blind metrics",
        "writeTo(...).createOrReplace() of a new table says that it is a blind append",
        "new by a call: writeTo createOrReplace",
    ),
}

_ON_PURPOSE = {
    **_listed(
        on_purpose,
        "error",
        "SHOW CREATE TABLE works, which delta-spark refuses",
        "show: create table",
    ),
    **_listed(
        on_purpose,
        "error rows",
        "conditions may have subqueries, which delta-spark refuses",
        "delete: scalar subquery",
    ),
    **_listed(
        on_purpose,
        "error",
        "conditions may have subqueries, which delta-spark refuses",
        "delete: not in a subquery with nulls",
    ),
    **_listed(
        on_purpose,
        "error rows",
        "INSERT ... REPLACE USING works, which delta-spark refuses",
        "insert into partitions: replace using",
    ),
    **_listed(
        on_purpose,
        "error rows",
        "CREATE OR REPLACE ... CLONE replaces the rows of its target in one commit, as CREATE OR "
        "REPLACE does; delta-spark refuses a target that has rows",
        "clone: shallow or replace",
    ),
    **_listed(
        on_purpose,
        "error rows",
        "delta-spark lacks the text of its own error for a new column behind the name of the table",
        "merge evolves: set a new column by its table",
    ),
    **_listed(
        on_purpose,
        "parameters",
        "the history has the condition of OPTIMIZE as it was written",
        "optimize: where",
    ),
    **_listed(
        on_purpose,
        "error rows",
        "replaceWhere with an append is refused; delta-spark ignores the option",
        "save: replaceWhere with append",
    ),
}

DIFFERENCES: dict[str, Difference] = {**_GAPS, **_ON_PURPOSE}
