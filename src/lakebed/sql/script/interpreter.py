"""Runs the tree of a script on a session of Spark Connect.

As Spark does it: an error goes to the handler of the innermost block that has one for it, when the
statement or condition fails. A CONTINUE handler goes on behind that statement, or behind the whole
IF, CASE or loop whose condition it was; an EXIT handler ends its block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TypeVar

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from lakebed.errors import LakebedError
from lakebed.sql.script import tree
from lakebed.sql.script.handlers import find_handler, is_no_error
from lakebed.sql.script.scopes import Frame, Scope
from lakebed.sql.script.statements import Run, Statements
from lakebed.sql.statement import Slice

T = TypeVar("T")


class Interpreter:
    def __init__(self, session: SparkSession, run: Run) -> None:
        self._statements = Statements(session, run)
        self._frame = Frame()

    def run(self, script: tree.Block) -> DataFrame:
        try:
            self._block(script)
        except BaseException:
            # What went wrong says more than that the server cannot be reached any more.
            with suppress(PySparkException):
                self._statements.restore()
            raise
        self._statements.restore()
        return self._statements.result()

    # --- nodes -----------------------------------------------------------------------------------

    def _body(self, body: tree.Body) -> None:
        for node in body:
            self._node(node)

    def _node(self, node: tree.Node) -> None:
        run = self._statements
        match node:
            case tree.Plain(text):
                self._attempt(lambda: run.run(self._frame.visible, text.text))
            case tree.SetVariables(text):
                self._attempt(lambda: run.set(self._frame.visible, text.text))
            case tree.Declare() as declare:
                self._attempt(lambda: run.declare(self._frame.visible, declare))
            case tree.Block():
                self._block(node)
            case tree.If():
                self._branches(node.branches, node.otherwise, self._holds)
            case tree.Case():
                self._case(node)
            case tree.For():
                self._for(node)
            case tree.Leave():
                raise _Leave(node.label)
            case tree.Iterate():
                raise _Iterate(node.label)
            case _:
                self._loop(node)

    def _block(self, block: tree.Block) -> None:
        scope = Scope(block.label, block.handlers)
        try:
            with self._inside(scope):
                self._body(block.body)
        except _Leave as jump:
            if jump.label != block.label:
                raise
        except _Exit as jump:
            if jump.scope is not scope:
                raise

    def _branches(
        self,
        branches: tuple[tree.Branch, ...],
        otherwise: tree.Body,
        holds: Callable[[Slice], bool | None],
    ) -> None:
        for branch in branches:
            found = holds(branch.condition)
            if found is None:
                return
            if found:
                self._body(branch.body)
                return
        self._body(otherwise)

    def _case(self, case: tree.Case) -> None:
        run = self._statements
        subject = self._attempt(lambda: run.kept(self._frame.visible, case.subject.text))
        if subject is not None:
            self._branches(case.branches, case.otherwise, partial(self._equals, subject))

    def _loop(self, loop: tree.While | tree.Repeat | tree.Loop) -> None:
        while True:
            if isinstance(loop, tree.While) and not self._holds(loop.condition):
                return
            if not self._turn(loop.label, loop.body):
                return
            # A condition that fails ends the loop too.
            if isinstance(loop, tree.Repeat) and self._holds(loop.until) is not False:
                return

    def _for(self, loop: tree.For) -> None:
        run = self._statements
        rows = self._attempt(lambda: run.rows(self._frame.visible, loop.query.text))
        if rows is None:
            return
        with self._inside(Scope(loop.variable)):
            for row in rows.each():
                self._attempt(partial(run.assign, self._frame.visible, rows, row))
                if not self._turn(loop.label, loop.body):
                    return

    def _turn(self, label: str | None, body: tree.Body) -> bool:
        """Once through the body of a loop; False if that leaves the loop."""
        try:
            self._body(body)
        except _Leave as jump:
            if jump.label != label:
                raise
            return False
        except _Iterate as jump:
            if jump.label != label:
                raise
        return True

    def _holds(self, condition: Slice) -> bool | None:
        run = self._statements
        return self._attempt(lambda: run.is_true(self._frame.visible, condition.text))

    def _equals(self, subject: str, value: Slice) -> bool | None:
        run = self._statements
        return self._attempt(lambda: run.is_true(self._frame.visible, f"{subject} = ({value})"))

    @contextmanager
    def _inside(self, scope: Scope) -> Iterator[None]:
        scopes = self._frame.scopes
        scopes.append(scope)
        try:
            yield
        finally:
            scopes.remove(scope)
            scope.end()

    # --- errors ----------------------------------------------------------------------------------

    def _attempt(self, do: Callable[[], T]) -> T | None:
        """None if it failed and a CONTINUE handler has run."""
        try:
            return do()
        except (LakebedError, PySparkException) as error:
            if not self._handle(error):
                raise
            return None

    def _handle(self, error: LakebedError | PySparkException) -> bool:
        found = find_handler(self._frame.catching, error)
        if found is None:
            return is_no_error(error)
        scope, handler = found
        before = self._frame
        self._frame = before.of_handler(scope)
        try:
            self._block(handler.body)
        except (_Leave, _Iterate):
            # Labels around a handler are out of its reach: this ends the handler alone.
            pass
        finally:
            self._frame = before
        if handler.is_exit:
            raise _Exit(scope) from None
        return True


class _Leave(Exception):
    def __init__(self, label: str) -> None:
        self.label = label


class _Iterate(Exception):
    def __init__(self, label: str) -> None:
        self.label = label


class _Exit(Exception):
    def __init__(self, scope: Scope) -> None:
        self.scope = scope
