"""What may be meant by the letters so far: words of SQL, tables and their columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

_WORD = re.compile(r"[\w.`]*$")
_NAME = re.compile(
    r"\b(?:FROM|JOIN|INTO|UPDATE|TABLE|USING|DESCRIBE|OPTIMIZE|VACUUM)\s+([\w.]+)", re.IGNORECASE
)
KEYWORDS = (  # noqa: SIM905 - it is easier to read
    "ADD ALL ALTER AND AS ASC BETWEEN BY CASE CAST CHECK CLONE CLUSTER COLUMN COLUMNS COMMENT "
    "CONSTRAINT CONVERT COPY CREATE CROSS DATABASE DATABASES DEEP DEFAULT DELETE DELTA DESC "
    "DESCRIBE DETAIL DISTINCT DROP DRY ELSE END EXCEPT EXISTS EXPLAIN EXTENDED FALSE "
    "FILEFORMAT FROM FSCK FULL GENERATE GROUP HAVING HISTORY HOURS IF IN INNER INSERT "
    "INTERSECT INTO IS JOIN LEFT LIKE LIMIT MATCHED MERGE NOT NULL OF ON OPTIMIZE OR ORDER "
    "OUTER OVERWRITE PARTITION PARTITIONED PARTITIONS PURGE RENAME REORG REPAIR REPLACE "
    "RESTORE RETAIN RIGHT RUN SELECT SET SHALLOW SHOW TABLE TABLES TBLPROPERTIES THEN "
    "TIMESTAMP TO TRUE TRUNCATE UNDROP UNION UNSET UPDATE USE USING VACUUM VALUES VERSION "
    "VIEW WHEN WHERE WITH ZORDER"
).split()


class SqlCompleter(Completer):
    """`tables` and `columns` ask the session; what they cannot tell is nothing to complete.

    `before` are the earlier lines of the statement.
    """

    def __init__(
        self,
        tables: Callable[[], Sequence[str]],
        columns: Callable[[str], Sequence[str]],
        before: Callable[[], str] = str,
    ) -> None:
        self._tables = tables
        self._columns = columns
        self._before = before

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterable[Completion]:  # noqa: ARG002
        found = _WORD.search(document.text_before_cursor)
        word = "" if found is None else found[0]
        if not word:
            return
        for text, kind in self._known(f"{self._before()}\n{document.text}", word):
            if text.lower().startswith(word.lower()) and text.lower() != word.lower():
                yield Completion(text, start_position=-len(word), display_meta=kind)

    def _known(self, text: str, word: str) -> Iterable[tuple[str, str]]:
        seen = list(dict.fromkeys(_NAME.findall(text)))
        if "." in word:
            table = word.rpartition(".")[0]
            yield from ((f"{table}.{name}", "column") for name in self._columns(table))
        for table in seen:
            yield from ((name, f"column of {table}") for name in self._columns(table))
        yield from ((name, "table") for name in self._tables())
        lower = word.islower()
        yield from ((each.lower() if lower else each, "") for each in KEYWORDS)
