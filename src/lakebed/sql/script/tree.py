"""A script as frozen values: what the grammar makes of its text.

Statements, queries and conditions stay text. Labels are in small letters, conditions and SQLSTATEs
of handlers in capitals.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from lakebed.sql.statement import Slice


@dataclass(frozen=True)
class Plain:
    """A statement that says nothing about the flow of the script."""

    text: Slice


@dataclass(frozen=True)
class SetVariables:
    """`text` is what stands behind SET or SET VARIABLE."""

    text: Slice


@dataclass(frozen=True)
class Declare:
    """`text` is the whole statement. Each name may have several parts, which Spark refuses."""

    names: tuple[tuple[str, ...], ...]
    kind: Slice | None
    default: Slice | None
    replaces: bool
    text: Slice


@dataclass(frozen=True)
class Branch:
    """For CASE with a subject, the condition is the value that it is compared with."""

    condition: Slice
    body: Body


@dataclass(frozen=True)
class If:
    """IF, and CASE without a subject."""

    branches: tuple[Branch, ...]
    otherwise: Body


@dataclass(frozen=True)
class Case:
    subject: Slice
    branches: tuple[Branch, ...]
    otherwise: Body


@dataclass(frozen=True)
class While:
    label: str | None
    condition: Slice
    body: Body


@dataclass(frozen=True)
class Repeat:
    label: str | None
    body: Body
    until: Slice


@dataclass(frozen=True)
class Loop:
    label: str | None
    body: Body


@dataclass(frozen=True)
class For:
    label: str | None
    variable: str | None
    query: Slice
    body: Body


@dataclass(frozen=True)
class Leave:
    label: str


@dataclass(frozen=True)
class Iterate:
    label: str


@dataclass(frozen=True)
class Handler:
    """Catches SQLSTATEs and conditions, or `errors` of any kind, or that nothing is `not_found`."""

    is_exit: bool
    states: frozenset[str]
    conditions: frozenset[str]
    errors: bool
    not_found: bool
    body: Block


@dataclass(frozen=True)
class Block:
    """BEGIN ... END. `conditions` are those that it declares, with their SQLSTATEs."""

    label: str | None
    body: Body
    handlers: tuple[Handler, ...] = ()
    conditions: dict[str, str] = field(default_factory=dict)


Node = (
    Plain
    | SetVariables
    | Declare
    | If
    | Case
    | While
    | Repeat
    | Loop
    | For
    | Leave
    | Iterate
    | Block
)
Body = tuple[Node, ...]


def nodes(node: Node) -> Iterator[Node]:
    """A node and all that is inside of it, in the order of the text."""
    yield node
    for body in _bodies(node):
        for each in body:
            yield from nodes(each)


def expressions(node: Node) -> Iterator[Slice]:
    """Conditions and values of a node itself, without those of what is inside of it."""
    if isinstance(node, If | Case):
        if isinstance(node, Case):
            yield node.subject
        yield from (each.condition for each in node.branches)
    elif isinstance(node, While):
        yield node.condition
    elif isinstance(node, Repeat):
        yield node.until


def _bodies(node: Node) -> Iterator[Body]:
    if isinstance(node, Block):
        yield from ((each.body,) for each in node.handlers)
        yield node.body
    elif isinstance(node, If | Case):
        yield from (each.body for each in node.branches)
        yield node.otherwise
    elif isinstance(node, While | Repeat | Loop | For):
        yield node.body
