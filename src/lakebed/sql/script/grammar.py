"""The grammar of scripts: text to a tree.

Follows `singleCompoundStatement` of Spark's grammar. What is inside of a statement is not read; the
server's parser has looked at it before anything is run.
"""

from __future__ import annotations

from collections.abc import Callable

from lakebed.errors import SqlError
from lakebed.expressions.tokens import Kind, Token
from lakebed.sql.cursor import Cursor
from lakebed.sql.script.declarations import (
    at_condition,
    at_handler,
    parse_condition,
    parse_triggers,
    parse_variables,
)
from lakebed.sql.script.labels import Labels
from lakebed.sql.script.pieces import expression, no_cursors, statement
from lakebed.sql.script.tree import (
    Block,
    Body,
    Branch,
    Case,
    Declare,
    For,
    Handler,
    If,
    Iterate,
    Leave,
    Loop,
    Node,
    Plain,
    Repeat,
    SetVariables,
    While,
)

_DEEPEST = 50
"""Python ends a recursion somewhere; scripts of people are far from it."""
_ENDS = ("END", "ELSE", "ELSEIF", "WHEN", "UNTIL")
_CURSORS = ("OPEN", "FETCH", "CLOSE")


def parse_script(sql: str) -> Block:
    return _Grammar(sql).script()


class _Grammar:
    def __init__(self, sql: str) -> None:
        self._cursor = Cursor(sql)
        self._labels = Labels(self._cursor)
        self._depth = 0
        self._labelled: dict[str, Callable[[str | None], Node]] = {
            "BEGIN": self._block,
            "WHILE": self._while,
            "REPEAT": self._repeat,
            "LOOP": self._loop,
            "FOR": self._for,
        }
        self._others: dict[str, Callable[[], Node]] = {
            "IF": self._if,
            "CASE": self._case,
            "LEAVE": self._leave,
            "ITERATE": self._iterate,
            "SET": self._set,
        }

    def script(self) -> Block:
        if self._cursor.peek().is_symbol(":"):
            raise self._cursor.error("the outermost BEGIN of a script takes no label")
        self._cursor.expect("BEGIN")
        block = self._rest_of_block(None)
        self._cursor.accept_symbol(";")
        if self._cursor.token.kind is not Kind.END:
            raise self._cursor.error(f"the script should end here, but there is {self._token}")
        return block

    @property
    def _token(self) -> Token:
        return self._cursor.token

    # --- statements ------------------------------------------------------------------------------

    def _body(self) -> Body:
        """Statements with a semicolon behind each, up to a word that ends the body."""
        found: list[Node] = []
        while not found or not self._cursor.at_any(*_ENDS):
            if self._cursor.at_any(*_ENDS):
                raise self._cursor.error(f"expected a statement, found {self._token}")
            found.append(self._statement())
            self._cursor.expect_symbol(";")
        return tuple(found)

    def _statement(self) -> Node:
        if self._cursor.at("DECLARE"):
            raise self._misplaced()
        if self._cursor.at_name and self._cursor.peek().is_symbol(":"):
            return self._with_label()
        word = self._token.text.upper() if self._token.kind is Kind.WORD else ""
        if word in self._labelled:
            self._cursor.next()
            return self._nested(lambda: self._labelled[word](None))
        if word in self._others:
            return self._nested(self._others[word])
        if word in _CURSORS:
            raise no_cursors(self._cursor)
        return Plain(statement(self._cursor))

    def _with_label(self) -> Node:
        begin = self._cursor.next()
        self._cursor.expect_symbol(":")
        word = self._cursor.accept_any(*self._labelled)
        if word is None:
            raise self._cursor.error(f"a label cannot be before {self._token}")
        label = self._labels.enter(begin, is_loop=word != "BEGIN")
        found = self._nested(lambda: self._labelled[word](label))
        self._labels.leave()
        return found

    def _nested(self, parse: Callable[[], Node]) -> Node:
        if self._depth >= _DEEPEST:
            raise self._cursor.error("the script is nested too deeply")
        self._depth += 1
        found = parse()
        self._depth -= 1
        return found

    def _set(self) -> Node:
        mark = self._cursor.mark()
        self._cursor.expect("SET")
        after = self._cursor.peek()
        if self._cursor.at_any("VAR", "VARIABLE") and not after.is_symbol("=", "."):
            self._cursor.next()
        elif self._cursor.at("CATALOG") and not after.is_symbol("=", "."):
            self._cursor.reset(mark)
            return Plain(statement(self._cursor))
        return SetVariables(statement(self._cursor))

    def _leave(self) -> Node:
        self._cursor.expect("LEAVE")
        return Leave(self._labels.target())

    def _iterate(self) -> Node:
        self._cursor.expect("ITERATE")
        return Iterate(self._labels.target(of_loop=True))

    # --- branches and loops ----------------------------------------------------------------------

    def _if(self) -> Node:
        self._cursor.expect("IF")
        branches = [self._branch()]
        while self._cursor.accept("ELSEIF"):
            branches.append(self._branch())
        return If(tuple(branches), self._otherwise("IF"))

    def _case(self) -> Node:
        self._cursor.expect("CASE")
        subject = None if self._cursor.at("WHEN") else expression(self._cursor, "WHEN")
        self._cursor.expect("WHEN")
        branches = [self._branch()]
        while self._cursor.accept("WHEN"):
            branches.append(self._branch())
        otherwise = self._otherwise("CASE")
        if subject is None:
            return If(tuple(branches), otherwise)
        return Case(subject, tuple(branches), otherwise)

    def _branch(self) -> Branch:
        condition = expression(self._cursor, "THEN")
        self._cursor.expect("THEN")
        return Branch(condition, self._body())

    def _otherwise(self, word: str) -> Body:
        found = self._body() if self._cursor.accept("ELSE") else ()
        self._cursor.expect("END", word)
        return found

    def _while(self, label: str | None) -> Node:
        condition = expression(self._cursor, "DO")
        self._cursor.expect("DO")
        body = self._body()
        self._end("WHILE", label)
        return While(label, condition, body)

    def _repeat(self, label: str | None) -> Node:
        body = self._body()
        self._cursor.expect("UNTIL")
        until = expression(self._cursor, "END")
        self._end("REPEAT", label)
        return Repeat(label, body, until)

    def _loop(self, label: str | None) -> Node:
        body = self._body()
        self._end("LOOP", label)
        return Loop(label, body)

    def _for(self, label: str | None) -> Node:
        variable = None
        if self._cursor.at_name and self._cursor.peek().is_word("AS"):
            variable = self._labels.enter(self._cursor.next(), is_loop=None)
            self._cursor.expect("AS")
        query = expression(self._cursor, "DO")
        self._cursor.expect("DO")
        body = self._body()
        if variable is not None:
            self._labels.leave()
        self._end("FOR", label)
        return For(label, variable, query, body)

    def _end(self, word: str, label: str | None) -> None:
        self._cursor.expect("END", word)
        self._labels.end(label)

    # --- blocks ----------------------------------------------------------------------------------

    def _block(self, label: str | None) -> Block:
        found = self._rest_of_block(label)
        self._labels.end(label)
        return found

    def _rest_of_block(self, label: str | None) -> Block:
        self._cursor.accept("NOT", "ATOMIC")
        variables: list[Declare] = []
        conditions: dict[str, str] = {}
        handlers: list[Handler] = []
        while self._cursor.at("DECLARE"):
            if at_handler(self._cursor):
                handlers.append(self._handler())
            elif handlers:
                raise self._misplaced()
            elif at_condition(self._cursor):
                parse_condition(self._cursor, conditions)
            else:
                variables.append(parse_variables(self._cursor))
            self._cursor.expect_symbol(";")
        statements = () if self._cursor.at("END") else self._body()
        self._cursor.expect("END")
        return Block(label, (*variables, *statements), tuple(handlers), conditions)

    def _handler(self) -> Handler:
        triggers = parse_triggers(self._cursor)
        if self._cursor.at("BEGIN") or self._cursor.peek().is_symbol(":"):
            body = self._statement()
        else:
            body = self._set() if self._cursor.at("SET") else Plain(statement(self._cursor))
        return triggers.handler(body if isinstance(body, Block) else Block(None, (body,)))

    def _misplaced(self) -> SqlError:
        return self._cursor.error(
            "declarations are at the beginning of BEGIN ... END, handlers last",
            hint="open a BEGIN ... END of its own for it",
        )
