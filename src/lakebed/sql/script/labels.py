"""Labels of blocks and loops while a script is parsed: which there are, and that they fit."""

from __future__ import annotations

from lakebed.errors import SqlError
from lakebed.expressions.tokens import Kind, Token
from lakebed.sql.cursor import Cursor


class Labels:
    """Those around the place that is parsed, from the outermost on."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._known: list[tuple[str, bool | None]] = []

    def enter(self, token: Token, *, is_loop: bool | None) -> str:
        """`is_loop` is None for the variable of FOR: a name like a label, but not to jump to."""
        label = token.text.lower()
        if any(label == each for each, _ in self._known):
            raise self._cursor.error(f"the label {token.text} is taken already", token)
        self._known.append((label, is_loop))
        return label

    def leave(self) -> None:
        self._known.pop()

    def end(self, label: str | None) -> None:
        """A label behind END, if there is one: it must be that of the beginning."""
        if not self._cursor.at_name:
            return
        token = self._cursor.next()
        if token.text.lower() != label:
            raise self._cursor.error(f"the beginning does not have the label {token.text}", token)

    def target(self, *, of_loop: bool = False) -> str:
        """The label that LEAVE or ITERATE names."""
        if self._cursor.token.kind not in (Kind.WORD, Kind.QUOTED):
            raise self._cursor.error(f"expected a label, found {self._cursor.token}")
        token = self._cursor.next()
        for label, is_loop in self._known:
            if label == token.text.lower() and is_loop is not None:
                if of_loop and not is_loop:
                    raise self._wrong(
                        "ITERATE is for loops, and this is the label of a block", token
                    )
                return label
        raise self._wrong(f"there is no label {token.text} around this statement", token)

    def _wrong(self, message: str, token: Token) -> SqlError:
        return self._cursor.error(message, token)
