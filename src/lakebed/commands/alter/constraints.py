"""ADD and DROP CONSTRAINT (PROTOCOL: CHECK Constraints)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lakebed.arrow.scan import plan_scan, read_batches
from lakebed.commands.target.metadata_change import AlterTarget, Change, operation
from lakebed.errors import ConstraintViolationError, InvalidArgumentError, PredicateError
from lakebed.expressions import Coalesce, Literal, Not, parse_predicate, references
from lakebed.log.snapshot import Snapshot
from lakebed.spec.features import upgraded_for
from lakebed.spec.properties import CONSTRAINT_PREFIX
from lakebed.spec.schema import BOOLEAN

CountViolations = Callable[[Snapshot, str, str], int]
"""How many rows of a version do not meet a named condition: it is false or null for them."""
_RESERVED = "__char_varchar_length_check__"


def count_violations(snapshot: Snapshot, _: str, condition: str) -> int:
    """By reading the rows into Arrow. Only the columns of the condition are read."""
    try:
        holds = parse_predicate(condition, snapshot.schema)
    except PredicateError as error:
        error.hint = error.hint or "conditions that only Spark understands are added through Spark"
        raise
    fails = Not(Coalesce((holds, Literal(False, BOOLEAN)), BOOLEAN))
    columns = sorted({path[0] for path in references(holds)}) or [snapshot.schema.names[0]]
    return sum(batch.num_rows for batch in read_batches(plan_scan(snapshot, columns, fails)))


def add_constraint(
    target: AlterTarget, name: str, condition: str, *, count: CountViolations = count_violations
) -> Snapshot:
    """From now on every row must meet the condition; refused if one that is there does not.

    Rows that somebody adds while these are read are a conflict: they were not checked.
    """
    _check_arguments(name, condition)

    def plan(snapshot: Snapshot) -> Change:
        change = plan_add_constraint(snapshot, name, condition)
        _check_rows(snapshot, name, condition, count)
        return change

    return target.apply(plan)


def drop_constraint(target: AlterTarget, name: str, *, if_exists: bool = False) -> Snapshot:
    _check_arguments(name, "-")
    return target.apply(lambda snapshot: plan_drop_constraint(snapshot, name, if_exists))


def plan_add_constraint(snapshot: Snapshot, name: str, condition: str) -> Change:
    """The change, for rows that meet the condition."""
    found = _find(snapshot, name)
    if found is not None:
        raise InvalidArgumentError(
            f"the table has a constraint {name!r} already: {found[1]}",
            hint="drop it first, or choose another name",
            condition="DELTA_CONSTRAINT_ALREADY_EXISTS",
        )
    key = f"{CONSTRAINT_PREFIX}{name.lower()}"
    configuration = {**snapshot.metadata.configuration, key: condition}
    metadata = replace(snapshot.metadata, configuration=configuration)
    done = operation("ADD CONSTRAINT", name=name, expr=condition)
    return Change(done, metadata, upgraded_for(snapshot.protocol, metadata), reads_rows=True)


def plan_drop_constraint(snapshot: Snapshot, name: str, if_exists: bool) -> Change:
    found = _find(snapshot, name)
    if found is None and not if_exists:
        raise InvalidArgumentError(
            f"the table has no constraint {name!r}",
            hint=f"it has {sorted(snapshot.properties.constraints) or 'none'}; or give if_exists",
            condition="DELTA_CONSTRAINT_DOES_NOT_EXIST",
        )
    before = snapshot.metadata.configuration
    kept = {k: v for k, v in before.items() if found is None or k != found[0]}
    expression = {} if found is None else {"expr": found[1]}
    done = operation(
        "DROP CONSTRAINT", name=name, **expression, existed=str(found is not None).lower()
    )
    return Change(done, replace(snapshot.metadata, configuration=kept))


def _find(snapshot: Snapshot, name: str) -> tuple[str, str] | None:
    """The property of a constraint and its condition; names match in any case."""
    wanted = f"{CONSTRAINT_PREFIX}{name}".lower()
    entries = snapshot.metadata.configuration.items()
    return next(((key, sql) for key, sql in entries if key.lower() == wanted), None)


def _check_rows(snapshot: Snapshot, name: str, condition: str, count: CountViolations) -> None:
    violations = count(snapshot, name, condition)
    if violations:
        raise ConstraintViolationError(
            f"{violations} row(s) of the table do not meet the constraint {name} ({condition})",
            hint="nothing was changed; correct or delete these rows first",
            condition="DELTA_NEW_CHECK_CONSTRAINT_VIOLATION",
        )


def _check_arguments(name: Any, condition: Any) -> None:
    if not isinstance(name, str) or not name.strip() or name.lower() == _RESERVED:
        raise InvalidArgumentError(
            f"{name!r} is not a name for a constraint", hint='give a name such as "positive_price"'
        )
    if not isinstance(condition, str) or not condition.strip():
        raise InvalidArgumentError(
            f"{condition!r} is not a SQL condition", hint='give a text such as "price > 0"'
        )
