"""SQL text to statements that Lakebed runs itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from lakebed.sql.cursor import Cursor
from lakebed.sql.grammar.alter import (
    AddConstraint,
    DropConstraint,
    DropFeature,
    RefusedChange,
    SyncIdentity,
    parse_alter,
)
from lakebed.sql.grammar.copy_into import CopyStatement, parse_copy
from lakebed.sql.grammar.create import CloneTable, CreateTable, parse_create
from lakebed.sql.grammar.ctes import parse_with
from lakebed.sql.grammar.describe import (
    DescribeDetail,
    DescribeHistory,
    parse_comment,
    parse_describe,
    parse_show,
)
from lakebed.sql.grammar.drop import (
    UndropTable,
    parse_create_schema,
    parse_drop,
    parse_refresh,
    parse_rename,
    parse_show_create,
    parse_truncate,
    parse_undrop,
)
from lakebed.sql.grammar.insert import InsertStatement, parse_insert
from lakebed.sql.grammar.merge import MergeStatement, parse_merge
from lakebed.sql.grammar.multi_insert import parse_from
from lakebed.sql.grammar.row_changes import parse_delete, parse_update
from lakebed.sql.grammar.services import (
    ConvertStatement,
    FsckStatement,
    GenerateStatement,
    OptimizeStatement,
    ReorgStatement,
    RestoreStatement,
    VacuumStatement,
    parse_convert,
    parse_fsck,
    parse_generate,
    parse_optimize,
    parse_reorg,
    parse_restore,
    parse_sync_metadata,
    parse_vacuum,
)
from lakebed.sql.statement import Statement

Grammar = Callable[[Cursor], Statement | None]
"""Reads a statement from its first word on; None if it is none of ours."""

GRAMMARS: Mapping[str, tuple[Grammar, ...]] = {
    "ALTER": (parse_rename, parse_alter),
    "COMMENT": (parse_comment,),
    "CONVERT": (parse_convert,),
    "COPY": (parse_copy,),
    "DELETE": (parse_delete,),
    "DESC": (parse_describe,),
    "DESCRIBE": (parse_describe,),
    "FROM": (parse_from,),
    "FSCK": (parse_fsck,),
    "GENERATE": (parse_generate,),
    "INSERT": (parse_insert,),
    "MERGE": (parse_merge,),
    "MSCK": (parse_sync_metadata,),
    "OPTIMIZE": (parse_optimize,),
    "REFRESH": (parse_refresh,),
    "REORG": (parse_reorg,),
    "RESTORE": (parse_restore,),
    "SHOW": (parse_show_create, parse_show),
    "UPDATE": (parse_update,),
    "VACUUM": (parse_vacuum,),
    "WITH": (parse_with,),
    "CREATE": (parse_create, parse_create_schema),
    "DROP": (parse_drop,),
    "REPLACE": (parse_create,),
    "TRUNCATE": (parse_truncate,),
    "UNDROP": (parse_undrop,),
}
"""By the first word of the statement. The first grammar that knows it has it."""


def parse_statement(sql: str, values: Mapping[int, Any] | None = None) -> Statement | None:
    """None for queries, and for all that is left to Spark. `values`: see `Cursor`."""
    word = first_word(sql)
    if word == "FROM" and _INSERT.search(sql) is None:
        # Most are queries, which are Spark's.
        return None
    for grammar in GRAMMARS.get(word, ()):
        found = grammar(Cursor(sql, values))
        if found is not None:
            return found
    return None


_OURS = (
    *(AddConstraint, DropConstraint, DropFeature, RefusedChange, SyncIdentity),
    *(CloneTable, CopyStatement),
    *(DescribeDetail, DescribeHistory, UndropTable, ConvertStatement, FsckStatement),
    *(InsertStatement, MergeStatement),
    *(GenerateStatement, OptimizeStatement, ReorgStatement, RestoreStatement, VacuumStatement),
)
"""Statements that no Spark, or not all, can parse and run.

Of MERGE these are sources with names for their columns, with a version, and functions; of INSERT
those with IF NOT EXISTS, REPLACE ON, REPLACE USING and DEFAULT. Spark 4.0 has no constraints.
"""


def parse_own(sql: str, values: Mapping[int, Any] | None = None) -> Statement | None:
    """A statement that Spark's parser does not know; None for all others."""
    found = parse_statement(sql, values)
    has_checks = isinstance(found, CreateTable) and bool(found.checks)
    return found if isinstance(found, _OURS) or has_checks else None


def first_word(sql: str) -> str:
    """In capitals; comments before it are passed over."""
    found = _FIRST.match(sql)
    return "" if found is None else found[1].upper()


_SPACE = r"(?:\s|--[^\n]*(?:\n|$)|/\*(?:(?!/\*).)*?\*/)*"
_INSERT = re.compile(r"\bINSERT\b", re.IGNORECASE)
_FIRST = re.compile(rf"{_SPACE}(\w+)", re.DOTALL)
