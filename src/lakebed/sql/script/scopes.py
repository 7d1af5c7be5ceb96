"""Scopes of a running script: which variables and handlers can be seen from where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lakebed.sql.script.tree import Handler


@dataclass(eq=False)
class Variable:
    """A local variable, or one of the session under the same name.

    `hidden` is the variable of the session that has its value while another one has its name;
    `default` is what SET v = DEFAULT gives it.
    """

    name: str
    hidden: str
    default: str = "NULL"
    is_alive: bool = True


@dataclass(eq=False)
class Scope:
    """A block, or a turn of FOR: its label is the name of the loop's variable then."""

    label: str | None
    handlers: Sequence[Handler] = ()
    variables: dict[str, Variable] = field(default_factory=dict)

    def end(self) -> None:
        for each in self.variables.values():
            each.is_alive = False


@dataclass(eq=False)
class Frame:
    """The script itself, or the body of a handler, which sees what is around the handler.

    `busy` are the blocks of the handlers that run: their handlers take no errors of each other.
    """

    around: tuple[Scope, ...] = ()
    busy: tuple[Scope, ...] = ()
    scopes: list[Scope] = field(default_factory=list)

    @property
    def visible(self) -> tuple[Scope, ...]:
        """From the outermost on."""
        return (*self.around, *self.scopes)

    @property
    def catching(self) -> list[Scope]:
        """Scopes whose handlers may take an error, from the innermost on."""
        return [each for each in reversed(self.visible) if each not in self.busy]

    def of_handler(self, scope: Scope) -> Frame:
        """For the body of a handler that a scope declares."""
        visible = self.visible
        return Frame(visible[: visible.index(scope) + 1], (*self.busy, scope))
