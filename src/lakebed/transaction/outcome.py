"""How a commit ended, as a value: it is there, it cannot be, or no one can say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lakebed.errors import CommitUnknownError, ConflictError
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Action


@dataclass(frozen=True)
class Committed:
    """`snapshot` is the table with this commit; `attempts` counts the versions that were tried.

    `maintenance_errors` is what went wrong in the post-commit hooks: the commit stands, and later
    ones do that work again.
    """

    version: int
    snapshot: Snapshot = field(repr=False)
    attempts: int
    actions: tuple[Action, ...] = field(repr=False)
    maintenance_errors: Mapping[str, Exception] = field(default_factory=dict)

    def unwrap(self) -> Committed:
        return self


@dataclass(frozen=True)
class Conflict:
    """Certainly not committed. `error` names the commit that came first."""

    error: ConflictError
    attempts: int = 1

    def unwrap(self) -> Committed:
        raise self.error


@dataclass(frozen=True)
class Unknown:
    """The commit may be there as `version`, or may yet appear as it, and as no other version."""

    error: CommitUnknownError
    version: int

    def unwrap(self) -> Committed:
        raise self.error


Outcome = Committed | Conflict | Unknown
