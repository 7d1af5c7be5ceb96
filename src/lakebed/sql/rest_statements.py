"""Statements that Spark parses once a clause is taken out of them.

Spark gets slices of the text as they are, each at its place, with blanks around it: positions in
errors, and those of parameters, are the same as in the whole statement.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lakebed.sql.markers import find_markers
from lakebed.sql.statement import Slice, Statement


@dataclass(frozen=True, kw_only=True)
class RestStatement(Statement):
    """`without` are the clauses that Spark does not parse, `facts` what they say.

    `placeholder` is where the rest needs the name of a table instead.
    `parts` are parsed on their own: each by its name, behind words that make a query of it.
    """

    kind: str
    without: tuple[Slice, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)
    placeholder: int | None = None
    parts: Mapping[str, tuple[str, Slice]] = field(default_factory=dict)


def pieces(sql: str, statement: RestStatement) -> dict[str, Any]:
    """What Spark has to parse, for the Java class `Rest`."""
    gone = [_span(each) for each in statement.without]
    rest = [at for at in range(len(sql)) if not any(at in span for span in gone)]
    whole = _piece(sql, rest)
    if statement.placeholder is not None:
        text, at = str(whole["text"]), statement.placeholder
        whole["text"] = f"{text[:at]}s{text[at + 1 :]}"
    return {
        "kind": statement.kind,
        "facts": statement.facts,
        "rest": whole,
        "parts": {
            name: _behind(_piece(sql, _span(part)), words, part.position)
            for name, (words, part) in statement.parts.items()
        },
    }


def _span(part: Slice) -> range:
    return range(part.position, part.position + len(part.text))


def _piece(sql: str, kept: Iterable[int]) -> dict[str, Any]:
    """`marks` are the question marks in it, by their number in the whole statement."""
    places = set(kept)
    text = "".join(sign if at in places or sign == "\n" else " " for at, sign in enumerate(sql))
    questions = [each.position for each in find_markers(sql) if each.name is None]
    marks = [number for number, at in enumerate(questions) if at in places]
    return {"text": text, "marks": marks}


def _behind(piece: dict[str, Any], words: str, position: int) -> dict[str, Any]:
    """With words right before it, for which every statement has room."""
    start = position - len(words) - 1
    assert start >= 0
    text = str(piece["text"])
    return {**piece, "text": f"{' ' * start}{words} {text[position:]}"}
