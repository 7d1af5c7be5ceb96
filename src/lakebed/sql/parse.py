"""SQL text to statements that Lakebed runs itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from lakebed.sql.cursor import Cursor
from lakebed.sql.grammar.alter import parse_alter
from lakebed.sql.grammar.checks import parse_checks
from lakebed.sql.grammar.clone import parse_clone
from lakebed.sql.grammar.copy_into import parse_copy
from lakebed.sql.grammar.ctes import parse_with
from lakebed.sql.grammar.describe import parse_describe
from lakebed.sql.grammar.insert import parse_insert
from lakebed.sql.grammar.merge import parse_merge
from lakebed.sql.grammar.services import (
    parse_convert,
    parse_fsck,
    parse_generate,
    parse_optimize,
    parse_reorg,
    parse_restore,
    parse_sync_metadata,
    parse_undrop,
    parse_vacuum,
)
from lakebed.sql.statement import Statement

Grammar = Callable[[Cursor], Statement | None]
"""Reads a statement from its first word on; None if it is none of ours."""

GRAMMARS: Mapping[str, tuple[Grammar, ...]] = {
    "ALTER": (parse_alter,),
    "CONVERT": (parse_convert,),
    "COPY": (parse_copy,),
    "CREATE": (parse_clone, parse_checks),
    "DESC": (parse_describe,),
    "DESCRIBE": (parse_describe,),
    "FSCK": (parse_fsck,),
    "GENERATE": (parse_generate,),
    "INSERT": (parse_insert,),
    "MERGE": (parse_merge,),
    "MSCK": (parse_sync_metadata,),
    "OPTIMIZE": (parse_optimize,),
    "REORG": (parse_reorg,),
    "REPLACE": (parse_clone, parse_checks),
    "RESTORE": (parse_restore,),
    "UNDROP": (parse_undrop,),
    "VACUUM": (parse_vacuum,),
    "WITH": (parse_with,),
}
"""By the first word of the statement. The first grammar that knows it has it."""


def parse_own(sql: str, values: Mapping[int, Any] | None = None) -> Statement | None:
    """A statement that no Spark parses, or not all; None for all others. `values`: see `Cursor`.

    INSERT and MERGE always are found: only those that Spark could not parse are looked for here.
    """
    for grammar in GRAMMARS.get(first_word(sql), ()):
        found = grammar(Cursor(sql, values))
        if found is not None:
            return found
    return None


def first_word(sql: str) -> str:
    """In capitals; comments before it are passed over."""
    found = _FIRST.match(sql)
    return "" if found is None else found[1].upper()


_SPACE = r"(?:\s|--[^\n]*(?:\n|$)|/\*(?:(?!/\*).)*?\*/)*"
_FIRST = re.compile(rf"{_SPACE}(\w+)", re.DOTALL)
