"""SQL text to typed expressions.

The grammar is the part of Spark's own that says something about one row: a general SQL parser binds
`a = b IN (1)` and `1L` differently and keeps no position for operators, while the meaning of a
predicate decides which rows are deleted. Precedence, literals and implicit casts are Spark's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lakebed.errors import EvaluationError, InvalidArgumentError, PredicateError, SchemaError
from lakebed.expressions.coercion import (
    Term,
    arithmetic,
    cast_to,
    comparison,
    membership,
    to_condition,
    to_text,
    unify,
)
from lakebed.expressions.evaluator.comparison import like_parts
from lakebed.expressions.parser.function_calls import Call, concat, negation, resolve
from lakebed.expressions.parser.operands import number_literal, resolve_column
from lakebed.expressions.parser.scope import Sides
from lakebed.expressions.parser.tokens import Kind, Token, tokenize
from lakebed.expressions.tree import (
    TRUE,
    And,
    Case,
    Expression,
    IsNotNull,
    IsNull,
    Like,
    Literal,
    Not,
    Or,
    literal,
)
from lakebed.spec.columns.sql_types import parse_sql_type
from lakebed.spec.schema import (
    BINARY,
    BOOLEAN,
    DATE,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    DataType,
    StructType,
)


def parse_predicate(sql: str, schema: StructType | Sides, values: Sequence[Any] = ()) -> Expression:
    """A condition on the rows of a table, such as the text after WHERE.

    `values` are those of its parameters, in the order of their markers.
    """
    return to_condition(_parse(sql, schema, values)).expression


def parse_expression(sql: str, schema: StructType | Sides) -> Expression:
    """A value computed from a row: of a generated column, or of a CHECK constraint."""
    return _parse(sql, schema).expression


def _parse(sql: str, schema: StructType | Sides, values: Sequence[Any] = ()) -> Term:
    parser = _Parser(sql, schema, values)
    term = parser.expression(_OR)
    parser.finish()
    return term


# How strongly operators bind; a higher number binds first.
_NO_OPERATOR, _OR, _AND, _NOT, _PREDICATE = range(5)
_COMPARISON, _ADDITION, _MULTIPLICATION, _UNARY = range(5, 9)
_COMPARISONS = {
    "=": "=",
    "==": "=",
    "<>": "<>",
    "!=": "<>",
    "<": "<",
    "<=": "<=",
    ">": ">",
    ">=": ">=",
    "<=>": "<=>",
    "!<": ">=",
    "!>": "<=",
}
_WORDS = {"OR": _OR, "AND": _AND, "DIV": _MULTIPLICATION}
_SYMBOLS = {
    **dict.fromkeys(_COMPARISONS, _COMPARISON),
    **dict.fromkeys(("+", "-", "||"), _ADDITION),
    **dict.fromkeys(("*", "/", "%"), _MULTIPLICATION),
}
_PREDICATES = ("IS", "IN", "LIKE", "BETWEEN", "NOT", "RLIKE", "REGEXP", "ILIKE")
_RESERVED = (*_PREDICATES, "AND", "OR", "CASE", "WHEN", "THEN", "ELSE", "END", "SELECT", "FROM")
_TYPED_LITERALS = {
    "DATE": DATE,
    "TIMESTAMP": TIMESTAMP,
    "TIMESTAMP_LTZ": TIMESTAMP,
    "TIMESTAMP_NTZ": TIMESTAMP_NTZ,
}
# Deeper nesting would use up Python's stack, here or when the expression is evaluated.
_MAX_DEPTH = 100


class _Parser:
    """Precedence climbing. Each method stands before its first token and leaves after its last."""

    def __init__(self, sql: str, schema: StructType | Sides, values: Sequence[Any] = ()) -> None:
        if not isinstance(sql, str):
            raise PredicateError(f"a predicate is SQL text, not {type(sql).__name__}")
        self.sql = sql
        self.schema = schema
        self.tokens = tokenize(sql)
        self.values = list(values)
        self.index = 0
        self.depth = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.index]

    # --- operators -----------------------------------------------------------------------------

    def expression(self, least: int) -> Term:
        """An expression of operators that bind at least as strongly as `least`."""
        before = self.depth
        self.descend()
        # A condition that starts with NOT is no operand of anything but AND and OR.
        most = _AND if self.at_not() else _UNARY
        left = self.operand(least)
        while True:
            strength = self.strength()
            if strength == _NO_OPERATOR or not least <= strength <= most:
                break
            left = self.operation(left, strength)
            # A predicate ends a value: what follows `a IS NULL` can only be AND or OR.
            most = _NOT if strength == _PREDICATE else strength
        self.depth = before
        return left

    def strength(self) -> int:
        token = self.token
        if token.kind is Kind.WORD:
            word = token.text.upper()
            return _PREDICATE if word in _PREDICATES else _WORDS.get(word, _NO_OPERATOR)
        return _SYMBOLS.get(token.text, _NO_OPERATOR) if token.kind is Kind.SYMBOL else _NO_OPERATOR

    def operation(self, left: Term, strength: int) -> Term:
        if strength in (_OR, _AND):
            return self.connection(left, strength)
        if strength == _PREDICATE:
            return self.predicate(left)
        if self.token.is_symbol("||"):
            return self.concatenation(left)
        self.descend()
        operator = self.advance()
        right, at = self.expression(strength + 1), self.at(operator)
        if strength == _COMPARISON:
            symbol = _COMPARISONS[operator.text]
            return replace(at, expression=comparison(symbol, left, right, at))
        return replace(at, expression=arithmetic(operator.text.lower(), left, right, at))

    def connection(self, left: Term, strength: int) -> Term:
        """A chain of ANDs, or of ORs, as one node: chains can be long."""
        word, node = ("OR", Or) if strength == _OR else ("AND", And)
        operands = [to_condition(left).expression]
        while self.take_word(word):
            operands.append(to_condition(self.expression(strength + 1)).expression)
        flat = [
            part for each in operands for part in (each.children if type(each) is node else [each])
        ]
        return left.become(node(tuple(flat)))

    def concatenation(self, left: Term) -> Term:
        operator, arguments = self.token, [left]
        while self.take_symbol("||"):
            arguments.append(self.expression(_MULTIPLICATION))
        return left.become(concat(Call("||", arguments, self.sql, operator.position)))

    def operand(self, least: int) -> Term:
        token = self.token
        if self.at_not():
            if least > _NOT:
                raise self.unexpected("a value", "Put the condition into parentheses.")
            self.advance()
            operand = to_condition(self.expression(_NOT))
            return replace(self.at(token), expression=Not(operand.expression))
        if token.is_symbol("-", "+"):
            return self.signed()
        return self.postfix(self.primary())

    def at_not(self) -> bool:
        return self.token.is_word("NOT") or self.token.is_symbol("!")

    def signed(self) -> Term:
        sign = self.advance()
        if sign.text == "-" and self.token.kind is Kind.NUMBER:
            return self.postfix(self.number(sign))
        operand = self.expression(_UNARY)
        number = negation(operand)
        return replace(self.at(sign), expression=number if sign.text == "-" else number.children[0])

    # --- predicates ----------------------------------------------------------------------------

    def predicate(self, left: Term) -> Term:
        start = self.token
        if self.take_word("IS"):
            return left.become(self.is_predicate(left))
        negated = self.take_word("NOT")
        word = self.token.text.upper() if self.token.kind is Kind.WORD else ""
        build = {"IN": self.in_list, "LIKE": self.like, "BETWEEN": self.between}.get(word)
        if build is None:
            raise self.unsupported_predicate(word, start)
        self.advance()
        found = build(left)
        return left.become(Not(found) if negated else found)

    def is_predicate(self, left: Term) -> Expression:
        negated = self.take_word("NOT")
        if self.take_word("DISTINCT"):
            self.expect_word("FROM")
            same = comparison("<=>", left, self.expression(_COMPARISON), left)
            return same if negated else Not(same)
        if self.take_word("NULL", "UNKNOWN"):
            return (IsNotNull if negated else IsNull)(left.expression)
        truth = self.token
        if not self.take_word("TRUE", "FALSE"):
            raise self.unexpected("NULL, TRUE, FALSE or DISTINCT FROM")
        value = Literal(truth.is_word("TRUE"), BOOLEAN)
        right = replace(self.at(truth), expression=value)
        same = comparison("<=>", to_condition(left), right, left)
        return Not(same) if negated else same

    def in_list(self, left: Term) -> Expression:
        at = self.at(self.token)
        self.expect_symbol("(")
        self.refuse_subquery()
        options = self.arguments()
        if not options:
            raise at.error("IN needs at least one value")
        return membership(left, options, at)

    def between(self, left: Term) -> Expression:
        at = self.at(self.token)
        if self.token.is_word("SYMMETRIC", "ASYMMETRIC"):
            raise self.unexpected("a value")
        low = self.expression(_COMPARISON)
        self.expect_word("AND")
        high = self.expression(_COMPARISON)
        return And((comparison(">=", left, low, at), comparison("<=", left, high, at)))

    def like(self, left: Term) -> Expression:
        pattern = self.expression(_COMPARISON)
        escape = self.escape() if self.take_word("ESCAPE") else "\\"
        if not isinstance(pattern.expression, Literal):
            raise pattern.error("the pattern of LIKE must be a constant")
        text = to_text(pattern).expression
        assert isinstance(text, Literal)
        if text.value is None:
            return Literal(None, BOOLEAN)
        try:
            like_parts(text.value, escape)
        except EvaluationError as error:
            raise pattern.error(error.message, error.hint) from error
        return Like(to_text(left).expression, text.value, escape)

    def escape(self) -> str:
        token = self.token
        if token.kind is not Kind.STRING or len(token.text) != 1:
            raise self.unexpected("a string of one character")
        return self.advance().text

    def unsupported_predicate(self, word: str, start: Token) -> PredicateError:
        if word in ("RLIKE", "REGEXP", "ILIKE"):
            hint = "Use LIKE; lower(a) LIKE 'x%' ignores case."
            return self.at(start).error(f"{word} is not supported", hint)
        return self.unexpected("IN, LIKE or BETWEEN")

    # --- values --------------------------------------------------------------------------------

    def primary(self) -> Term:
        token = self.token
        if token.kind is Kind.NUMBER:
            return self.number(None)
        if token.kind is Kind.STRING:
            return self.string()
        if token.kind is Kind.BINARY:
            digits = self.advance().text
            value = bytes.fromhex(digits if len(digits) % 2 == 0 else "0" + digits)
            return self.constant(token, value, BINARY)
        if token.is_symbol("("):
            return self.parenthesized()
        if token.is_symbol("?", ":") and self.values:
            return self.parameter()
        if token.kind is Kind.QUOTED:
            return self.column()
        if token.kind is Kind.WORD:
            return self.word()
        raise self.unexpected("a value")

    def number(self, sign: Token | None) -> Term:
        token = self.advance()
        at = self.at(sign or token)
        return replace(at, expression=number_literal(token.text, sign is not None, at))

    def string(self) -> Term:
        token = self.advance()
        if self.token.kind is Kind.STRING:
            hint = "Write a quote inside a string as \\', and one string instead of two."
            raise self.at(self.token).error("two strings in a row", hint)
        return self.constant(token, token.text, STRING)

    def parameter(self) -> Term:
        token = self.advance()
        if token.is_symbol(":"):
            self.advance()
        value = self.values.pop(0)
        if value is None:
            return self.constant(token, None, VOID)
        try:
            return replace(self.at(token), expression=literal(value))
        except InvalidArgumentError as error:
            raise self.at(token).error(error.message) from error

    def parenthesized(self) -> Term:
        start = self.advance()
        self.refuse_subquery()
        inner = self.expression(_OR)
        if self.token.is_symbol(","):
            raise self.at(start).error("a list of values is only possible after IN")
        self.expect_symbol(")")
        return replace(inner, position=start.position, char_length=None)

    def word(self) -> Term:
        token = self.token
        word, following = token.text.upper(), self.tokens[self.index + 1]
        if word in ("TRUE", "FALSE"):
            return self.constant(self.advance(), word == "TRUE", BOOLEAN)
        if word == "NULL":
            return self.constant(self.advance(), None, VOID)
        if word == "CASE":
            return self.case()
        if word in _TYPED_LITERALS and following.kind is Kind.STRING:
            self.advance()
            return cast_to(self.string(), _TYPED_LITERALS[word])
        if word == "INTERVAL" and following.kind in (Kind.STRING, Kind.NUMBER):
            raise self.at(token).error(
                "intervals are not supported", "date_add(date, days) moves a date."
            )
        if following.is_symbol("(") and word not in ("IN", "AND", "OR"):
            return self.call()
        if word in _RESERVED:
            raise self.unexpected("a value", f"A column of that name is written `{token.text}`.")
        return self.column()

    def call(self) -> Term:
        name = self.advance()
        self.advance()
        if name.is_word("EXISTS"):
            self.refuse_subquery()
        if name.is_word("CAST"):
            return replace(self.at(name), expression=self.cast())
        if name.is_word("TRY_CAST"):
            raise self.at(name).error("TRY_CAST is not supported", "Use CAST.")
        if self.token.is_symbol("*") or self.token.is_word("DISTINCT"):
            # Only aggregates take these; the error says so.
            resolve(Call(name.text, [], self.sql, name.position))
        call = Call(name.text, self.arguments(), self.sql, name.position)
        return replace(self.at(name), expression=resolve(call))

    def cast(self) -> Expression:
        operand = self.expression(_OR)
        self.expect_word("AS")
        target = self.type_name()
        self.expect_symbol(")")
        return cast_to(operand, target).expression

    def case(self) -> Term:
        start = self.advance()
        subject = None if self.token.is_word("WHEN") else self.expression(_OR)
        conditions, values = [], []
        while self.take_word("WHEN"):
            conditions.append(self.case_condition(subject))
            self.expect_word("THEN")
            values.append(self.expression(_OR))
        if not values:
            raise self.unexpected("WHEN")
        has_else = self.take_word("ELSE")
        values += [self.expression(_OR)] if has_else else []
        self.expect_word("END")
        unified = unify(values, "CASE")
        results = [each.expression for each in unified]
        otherwise = results.pop() if has_else else None
        branches = tuple(zip(conditions, results, strict=True))
        return replace(self.at(start), expression=Case(branches, otherwise, unified[0].data_type))

    def case_condition(self, subject: Term | None) -> Expression:
        term = self.expression(_OR)
        if subject is None:
            return to_condition(term).expression
        return comparison("=", subject, term, term)

    def column(self) -> Term:
        first = self.advance()
        names = [first]
        while self.token.is_symbol(".") and self.tokens[self.index + 1].kind in _NAMES:
            self.advance()
            names.append(self.advance())
        if isinstance(self.schema, Sides):
            return self.schema.resolve(names, self.sql)
        return resolve_column(self.schema, names, self.sql)

    def postfix(self, term: Term) -> Term:
        while self.take_symbol("::"):
            term = cast_to(term, self.type_name())
        if self.token.is_symbol("[", ".", "->", ":"):
            raise self.at(self.token).error(
                "elements of arrays, maps and variants are not supported in predicates"
            )
        return term

    def type_name(self) -> DataType:
        name = self.token
        if name.kind is not Kind.WORD:
            raise self.unexpected("the name of a type")
        self.advance()
        end = name.end
        if self.take_symbol("("):
            while self.token.kind is Kind.NUMBER or self.token.is_symbol(","):
                self.advance()
            end = self.token.end
            self.expect_symbol(")")
        try:
            data_type = parse_sql_type(self.sql[name.position : end])
        except SchemaError as error:
            raise self.at(name).error(error.message) from error
        is_text = str(data_type).startswith(("char(", "varchar("))
        return STRING if is_text else data_type

    # --- tokens --------------------------------------------------------------------------------

    def arguments(self) -> list[Term]:
        """Expressions up to the closing parenthesis."""
        found: list[Term] = []
        while not self.take_symbol(")"):
            if found:
                self.expect_symbol(",")
            found.append(self.expression(_OR))
        return found

    def refuse_subquery(self) -> None:
        if self.token.is_word("SELECT", "WITH", "VALUES", "FROM", "TABLE"):
            following = self.tokens[self.index + 1]
            if not self.token.is_word("SELECT") and following.kind not in (Kind.WORD, Kind.QUOTED):
                return
            raise self.at(self.token).error(
                "subqueries are not supported in predicates",
                "Run the query first, then put its values into the predicate.",
            )

    def advance(self) -> Token:
        token = self.token
        self.index += token.kind is not Kind.END
        return token

    def take_word(self, *words: str) -> bool:
        found = self.token.is_word(*words)
        self.index += found
        return found

    def take_symbol(self, symbol: str) -> bool:
        found = self.token.is_symbol(symbol)
        self.index += found
        return found

    def expect_word(self, word: str) -> None:
        if not self.take_word(word):
            raise self.unexpected(word)

    def expect_symbol(self, symbol: str) -> None:
        if not self.take_symbol(symbol):
            raise self.unexpected(repr(symbol))

    def finish(self) -> None:
        if self.token.kind is not Kind.END:
            raise self.unexpected("the end")

    def descend(self) -> None:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            message = f"expressions are nested more than {_MAX_DEPTH} deep"
            raise self.at(self.token).error(message)

    def constant(self, token: Token, value: object, data_type: DataType) -> Term:
        return replace(self.at(token), expression=Literal(value, data_type))

    def at(self, token: Token) -> Term:
        return Term(TRUE, self.sql, token.position)

    def unexpected(self, wanted: str, hint: str | None = None) -> PredicateError:
        if len(self.tokens) == 1:
            return self.at(self.token).error("the predicate is empty", hint)
        return self.at(self.token).error(f"expected {wanted}, found {self.token}", hint)


_NAMES = (Kind.WORD, Kind.QUOTED)
