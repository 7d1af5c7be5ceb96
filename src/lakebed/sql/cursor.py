"""A place in the tokens of a statement, and how grammars move it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from lakebed.errors import InvalidArgumentError, PredicateError, SqlError
from lakebed.expressions.parser.tokens import Kind, Token, tokenize
from lakebed.spec.columns.column_names import split_name
from lakebed.sql.markers import is_named_marker
from lakebed.sql.statement import AsOf, Slice, TableRef

_OPENING = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


class Cursor:
    """Words are compared without regard to case. What is accepted is passed.

    `values` are those of parameters, by the positions of their markers. Without them it is only
    to be found out which statement it is: a marker then stands for itself, or for 0.
    """

    def __init__(self, sql: str, values: Mapping[int, Any] | None = None) -> None:
        self.sql = sql
        self._values = values
        try:
            self._tokens = tokenize(sql)
        except PredicateError as error:
            message = str(error).split("\n")[0]
            raise SqlError(message, sql=sql, position=error.position) from error
        self._at = 0

    @property
    def token(self) -> Token:
        return self._tokens[self._at]

    @property
    def position(self) -> int:
        return self.token.position

    @property
    def is_at_end(self) -> bool:
        """Semicolons at the end belong to it."""
        rest = self._tokens[self._at :]
        return all(token.kind is Kind.END or token.is_symbol(";") for token in rest)

    @property
    def at_name(self) -> bool:
        return self.token.kind in (Kind.WORD, Kind.QUOTED)

    def passed(self, mark: int) -> list[Token]:
        """The tokens from a place up to here."""
        return self._tokens[mark : self._at]

    def peek(self, ahead: int = 1) -> Token:
        return self._tokens[min(self._at + ahead, len(self._tokens) - 1)]

    def next(self) -> Token:
        found = self.token
        if found.kind is not Kind.END:
            self._at += 1
        return found

    def mark(self) -> int:
        """A place to go back to."""
        return self._at

    def reset(self, mark: int) -> None:
        self._at = mark

    def at(self, *words: str) -> bool:
        """Whether these words come next, one after the other."""
        return all(self.peek(i).is_word(word) for i, word in enumerate(words))

    def at_any(self, *words: str) -> bool:
        return self.token.is_word(*words)

    def accept(self, *words: str) -> bool:
        """Passes all of the words, or none."""
        if not self.at(*words):
            return False
        self._at += len(words)
        return True

    def accept_any(self, *words: str) -> str | None:
        """Passes one of the words; which, in capitals."""
        if not self.token.is_word(*words):
            return None
        return self.next().text.upper()

    def expect(self, *words: str) -> None:
        for word in words:
            if not self.accept(word):
                raise self.error(f"expected {word}, found {self.token}")

    def at_symbol(self, *symbols: str) -> bool:
        return self.token.is_symbol(*symbols)

    def accept_symbol(self, symbol: str) -> bool:
        if not self.token.is_symbol(symbol):
            return False
        self._at += 1
        return True

    def expect_symbol(self, symbol: str) -> None:
        if not self.accept_symbol(symbol):
            raise self.error(f"expected {symbol!r}, found {self.token}")

    def expect_end(self) -> None:
        if not self.is_at_end:
            raise self.error(f"the statement should end here, but there is {self.token}")

    def identifier(self, what: str = "a name") -> str:
        if not self.at_name:
            raise self.error(f"expected {what}, found {self.token}")
        return self.next().text

    def parts(self, what: str = "a name") -> tuple[str, ...]:
        """Names with dots between them."""
        found = [self.identifier(what)]
        while self.accept_symbol("."):
            found.append(self.identifier(what))
        return tuple(found)

    def table(self) -> TableRef:
        position = self.position
        if self.at("IDENTIFIER") and self.peek().is_symbol("("):
            return TableRef(self._computed_name(), position)
        return TableRef(self.parts("the name of a table"), position)

    def table_or_path(self) -> TableRef:
        """Some statements also take a path in quotes."""
        if self.token.kind is not Kind.STRING and not self.at_marker:
            return self.table()
        position = self.position
        return TableRef(("delta", self.string()), position)

    def string(self, what: str = "a string") -> str:
        """Strings that stand side by side are one, as in Spark; a quote may be doubled."""
        if self.at_marker:
            return str(self._given(what, str))
        if self.token.kind is not Kind.STRING:
            raise self.error(f"expected {what} in quotes, found {self.token}")
        last = self.next()
        text = last.text
        while self.token.kind is Kind.STRING:
            quote = self.sql[last.end - 1]
            doubled = last.end == self.position and quote == self.sql[self.position]
            last = self.next()
            text += f"{quote}{last.text}" if doubled else last.text
        return text

    def integer(self, what: str = "a whole number") -> int:
        if self.at_marker:
            return int(self._given(what, int))
        token = self.token
        if token.kind is not Kind.NUMBER or not _is_whole(token.text):
            raise self.error(f"expected {what}, found {token}")
        self.next()
        return int(token.text)

    def number(self, what: str) -> float:
        """Of a parameter."""
        return float(self._given(what, int, float, Decimal))

    @property
    def at_marker(self) -> bool:
        """Whether a parameter comes next: `:name`, or a question mark."""
        return self.at_symbol("?") or is_named_marker(self._tokens, self._at)

    def parameter(self) -> Any:
        """Passes a marker; its value, or its text if values are not known yet."""
        first = self.next()
        last = first if first.is_symbol("?") else self.next()
        if self._values is None:
            return self.sql[first.position : last.end]
        return self._values[first.position]

    def _given(self, what: str, *kinds: type) -> Any:
        token, value = self.token, self.parameter()
        if self._values is None:
            return value if str in kinds else 0
        if isinstance(value, bool) or not isinstance(value, kinds):
            raise self.error(f"expected {what}, but the value of the parameter is {value!r}", token)
        return value

    def _computed_name(self) -> tuple[str, ...]:
        """IDENTIFIER of strings and parameters, also of several with || between them."""
        token = self.next()
        self.expect_symbol("(")
        name = self.string("a name")
        while self.accept_symbol("||"):
            name += self.string("a name")
        self.expect_symbol(")")
        if self._values is None:
            return (name,)
        try:
            parts = split_name(name)
        except InvalidArgumentError as error:
            raise self.error(error.message, token) from error
        if not all(parts):
            raise self.error(f"{name!r} is not a name", token)
        return tuple(parts)

    def as_of(self) -> AsOf | None:
        """[FOR] [SYSTEM_]VERSION AS OF n, [FOR] [SYSTEM_]TIMESTAMP AS OF expression."""
        mark = self.mark()
        self.accept("FOR")
        kind = self.accept_any("VERSION", "SYSTEM_VERSION", "TIMESTAMP", "SYSTEM_TIME")
        if kind is None or not self.accept("AS", "OF"):
            self.reset(mark)
            return None
        if kind.endswith("VERSION"):
            return AsOf(version=self._version())
        return AsOf(timestamp=self.expression())

    def enclosed(self) -> Slice:
        """What is inside of the parentheses that begin here, as text; passes both of them."""
        opening = self.token
        self.expect_symbol("(")
        start, depth = self.position, 1
        while depth:
            token = self.token
            if token.kind is Kind.END:
                raise self.error("this parenthesis is not closed", opening)
            depth += _OPENING.get(token.text, 0) if token.kind is Kind.SYMBOL else 0
            self.next()
        end = self._tokens[self._at - 1].position
        return Slice(self.sql[start:end].strip(), start)

    def until(self, *stops: str | Sequence[str]) -> Slice:
        """The text up to one of the stops, or to the end of the statement. It may be empty.

        A stop is a word or several that follow each other; "," is one too. What is in
        parentheses, or between CASE and END, is passed over.
        """
        wanted = [[stop] if isinstance(stop, str) else list(stop) for stop in stops]
        start = last = self.position
        depth = cases = 0
        while not self.is_at_end:
            token = self.token
            if depth == 0 and cases == 0 and any(self._stops(each) for each in wanted):
                break
            if token.kind is Kind.SYMBOL:
                depth += _OPENING.get(token.text, 0)
            if depth < 0:
                break
            if not self._is_field():
                cases += token.is_word("CASE")
                cases -= token.is_word("END") and cases > 0
            last = token.end
            self.next()
        return Slice(self.sql[start:last].strip(), start)

    def expression(self, *stops: str | Sequence[str]) -> Slice:
        """Like `until`, but there must be something."""
        found = self.until(*stops)
        if not found.text:
            raise self.error(f"expected an expression, found {self.token}")
        return found

    def rest(self) -> Slice:
        """All that is left of the statement."""
        start = last = self.position
        while not self.is_at_end:
            last = self.next().end
        return Slice(self.sql[start:last], start)

    def error(self, message: str, token: Token | None = None, hint: str | None = None) -> SqlError:
        where = token or self.token
        return SqlError(message, sql=self.sql, position=where.position, hint=hint)

    def _version(self) -> int:
        if self.at_marker:
            return self._given_version()
        if self.token.kind is not Kind.STRING:
            return self.integer("the number of a version")
        token = self.next()
        if not _is_whole(token.text):
            raise self.error(f"{token.text!r} is not the number of a version", token)
        return int(token.text)

    def _given_version(self) -> int:
        token, value = self.token, self.parameter()
        if self._values is None:
            return 0
        is_number = isinstance(value, int) and not isinstance(value, bool) and value >= 0
        if not is_number and not (isinstance(value, str) and _is_whole(value)):
            raise self.error(f"{value!r} is not the number of a version", token)
        return int(value)

    def _stops(self, words: list[str]) -> bool:
        if words[0] == ",":
            return self.at_symbol(",")
        return self.at(*words) and not self._is_field()

    def _is_field(self) -> bool:
        """A word behind a dot is a name, whatever it says."""
        return self._at > 0 and self._tokens[self._at - 1].is_symbol(".")


def _is_whole(text: str) -> bool:
    """Digits, and not more of them than any version or count has."""
    return text.isascii() and text.isdigit() and len(text) <= 18
