"""Statements in a script that no parser of Spark's knows, such as OPTIMIZE."""

from __future__ import annotations

from lakebed.errors import LakebedError
from lakebed.sql.parameters import with_names
from lakebed.sql.parse import parse_statement
from lakebed.sql.script.grammar import parse_script
from lakebed.sql.script.tree import Plain, nodes


def has_own_statements(script: str) -> bool:
    """Spark reads a script as a whole, and would refuse one that has them."""
    try:
        texts = [each.text for each in nodes(parse_script(script)) if isinstance(each, Plain)]
        found = [parse_statement(with_names(each.text)) for each in texts]
    except LakebedError:
        # Spark is to say what is wrong with it.
        return False
    return any(each is not None and each.is_ours for each in found)
