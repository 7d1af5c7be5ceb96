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


# Gaps that are being closed: take the entry away once the comparison fails here.
_BEING_FIXED = {
    **_listed(
        gap,
        "blind",
        "being fixed: a write that reads its own table is no blind append",
        "insert: table keyword",
        "insert: select from itself",
        "insert: select from itself by path",
        "insert: select from itself in a subquery",
        "insert: select with order and limit",
        "frames after a change: write back append",
    ),
    **_listed(
        gap,
        "error rows",
        "being fixed: UPDATE and MERGE refuse values that do not fit, also without ANSI",
        "casts without ANSI: update with text that is no number",
        "casts without ANSI: update with too large a byte",
        "casts without ANSI: update with too large an int",
        "casts without ANSI: update with too wide a decimal",
        "casts without ANSI: update with text that is no date",
        "casts without ANSI: merge with text that is no number",
        "casts without ANSI: merge with too large a byte",
        "casts without ANSI: merge that inserts too large a byte",
        "casts without ANSI: merge that inserts text that is no number",
    ),
    **_listed(
        gap,
        "error rows",
        "being fixed: NULL for a struct with a NOT NULL field",
        "not null: insert null struct",
        "not null: update struct to null",
    ),
    **_listed(
        gap,
        "error rows",
        "being fixed: structs with other fields than the column's are not refused",
        "nested: update a struct with fewer fields",
        "nested: update a struct with more fields",
        "nested: insert more fields in an array",
    ),
    **_listed(
        gap,
        "result",
        "being fixed: statistics of columns with NaN",
        "NaN: greater after optimize",
        "NaN: greater in values",
    ),
    **_listed(
        gap,
        "schema",
        "being fixed: identity columns BY DEFAULT after explicit values",
        "identity by default: insert a value",
    ),
    **_listed(
        gap,
        "rows schema",
        "being fixed: identity columns BY DEFAULT after explicit values",
        "identity by default: insert after a value",
    ),
    **_listed(
        gap,
        "version",
        "being fixed: identity columns BY DEFAULT after explicit values",
        "identity by default: insert after a value and sync",
    ),
    **_listed(
        gap,
        "error rows",
        "being fixed: an append without the partition column",
        "save partitions: append without the partition column",
    ),
    **_listed(
        gap,
        "result",
        "being fixed: a DataFrame that runs after a change sees the newest version",
        "frames after a change: read after",
        "frames after a change: read after by name",
        "frames after a change: read after a delete",
        "frames after a change: read after an overwrite",
        "frames after a change: derive after",
        "frames after a change: derive after a delete",
        "frames after a change: join of versions",
        "frames after a change: cached",
        "frames after a change: cached and deleted",
        "frames after a change: temp view",
    ),
}

_GAPS = {
    **_listed(
        gap,
        "result",
        "DESCRIBE DETAIL has the name of a table without its catalog and database",
        "show detail: describe detail",
    ),
    **_listed(
        gap,
        "error rows",
        "storeAssignmentPolicy STRICT is not followed",
        "strict store assignment: insert long into int",
        "strict store assignment: update with a long",
    ),
    **_listed(
        gap,
        "operation",
        "tables that the DataFrame API creates or replaces by name have the operation WRITE",
        "save new: as table",
        "save: saveAsTable overwrite",
        "save: writeTo createOrReplace",
        "save new: as table with a path",
        "save new: writeTo create",
    ),
    **_listed(
        gap,
        "error rows",
        "CREATE TABLE without columns is refused",
        "create: no columns",
    ),
    **_listed(
        gap,
        "metrics",
        "replaceWhere on partitions does not count the rows that it deletes",
        "save partitions: replaceWhere",
        "insert into partitions: replace where a partition",
        "insert into partitions: overwrite a static partition",
    ),
    **_listed(
        gap,
        "error",
        "NULL is taken for a condition",
        "delete: null",
    ),
    **_listed(
        gap,
        "version operation metrics",
        "a write without rows commits an empty version",
        "insert: select of no rows",
        "dynamic overwrite: with no rows",
        "save: append nothing",
    ),
    **_listed(
        gap,
        "blind",
        "a shallow clone says that it is a blind append",
        "clone: shallow",
        "clone: shallow of a version",
        "clone: shallow with properties",
        "clone: shallow again",
        "clone: shallow if not exists",
        "clone: shallow by path",
    ),
}

_ON_PURPOSE = {
    **_listed(
        on_purpose,
        "error",
        "a name may be followed by @v and a version, which delta-spark does not parse",
        "time travel: version with at",
    ),
    **_listed(
        on_purpose,
        "error",
        "ADD COLUMN IF NOT EXISTS works, which delta-spark does not parse",
        "alter: add if not exists",
    ),
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
        "a value that does not fit its column is always refused; with storeAssignmentPolicy LEGACY "
        "delta-spark stores another value",
        "legacy store assignment: insert too large a byte",
        "legacy store assignment: insert text that is no number",
    ),
    **_listed(
        on_purpose,
        "error rows",
        "replaceWhere with an append is refused; delta-spark ignores the option",
        "save: replaceWhere with append",
    ),
    **_listed(
        on_purpose,
        "error rows",
        "a column can be renamed to its own name in other case",
        "column mapping: rename in other case",
    ),
}

DIFFERENCES: dict[str, Difference] = {**_BEING_FIXED, **_GAPS, **_ON_PURPOSE}
