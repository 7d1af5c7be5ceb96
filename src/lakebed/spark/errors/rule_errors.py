"""Rows that break a rule of the table: from a message of Spark's to an error of Lakebed's.

The rule is checked by the tasks of a job, with `raise_error`; what reaches the user is somewhere in
Spark's message, between two marks.
"""

from __future__ import annotations

import re

from lakebed.errors import ConstraintViolationError


def rule_message(rule: str) -> tuple[str, str]:
    """What the message of a broken rule has before and after the row."""
    return f"{_BEGIN}a row breaks the {rule}: ", _END


def broken_rule(message: str) -> ConstraintViolationError | None:
    """The error that a message of Spark's is about."""
    found = _RULE.search(message)
    if found is None:
        return None
    names = (name for start, name in _CONDITIONS.items() if found[1].startswith(start))
    return ConstraintViolationError(
        found[1], hint="nothing was written; correct the rows", condition=next(names, None)
    )


_CONDITIONS = {
    "a row breaks the NOT NULL of ": "DELTA_NOT_NULL_CONSTRAINT_VIOLATED",
    "a row breaks the condition ": "DELTA_REPLACE_WHERE_MISMATCH",
}
"""Beginnings of messages, and what delta-spark calls them; the others are constraints."""
_BEGIN, _END = "[CONSTRAINT_VIOLATION] ", " (rule of the table)"
_RULE = re.compile(f"{re.escape(_BEGIN)}(.*?){re.escape(_END)}", re.DOTALL)
