"""Whether a transaction can be ordered after a commit that came first.

PROTOCOL: Transaction Identifiers, Domain Metadata, Protocol Evolution; for the rest delta-spark's
rules, in its order. One function per rule; each gets the proposal, the version below the winning
commit and the winning commit, and gives the error or None.

Two differences from delta-spark, both towards fewer surprises: statistics count, not only partition
values, when a read predicate meets an added file; and a transaction that stages a `Txn`, or adds a
file again, depends on these as if it had read them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import pyarrow as pa

from lakebed.errors import (
    ConcurrentAppendError,
    ConcurrentDeleteDeleteError,
    ConcurrentDeleteReadError,
    ConcurrentDomainError,
    ConcurrentTransactionError,
    ConflictError,
    MetadataChangedError,
    ProtocolChangedError,
    UnsupportedFeatureError,
)
from lakebed.expressions.skipping import skip
from lakebed.expressions.tree import Expression
from lakebed.formats.file_actions import adds_to_table
from lakebed.formats.statistics import FileColumns
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Add, CommitInfo, Protocol, Remove, Txn
from lakebed.spec.column_mapping import mapping_mode
from lakebed.spec.features import FEATURES, check_writable, supported_features
from lakebed.transaction.isolation import IsolationLevel
from lakebed.transaction.metadata_changes import is_harmless
from lakebed.transaction.proposal import Proposal
from lakebed.transaction.reads import paths_of
from lakebed.transaction.row_tracking import DOMAIN as ROW_TRACKING_DOMAIN
from lakebed.transaction.winner import Winner

_SHOWN = 5
E = TypeVar("E", bound=ConflictError)
_REPEAT = "read the newest version of the table and repeat the operation"
Rule = Callable[[Proposal, Snapshot, Winner], ConflictError | None]


def find_conflict(proposal: Proposal, base: Snapshot, winner: Winner) -> ConflictError | None:
    """The first rule that `winner`, the commit on top of `base`, breaks for the proposal."""
    for rule in RULES:
        error = rule(proposal, base, winner)
        if error is not None:
            return error
    return None


def protocol_changed(
    proposal: Proposal, base: Snapshot, winner: Winner
) -> ProtocolChangedError | None:
    if winner.protocol is None:
        return _feature_drop(proposal, base, winner)
    try:
        metadata = winner.metadata or base.metadata
        check_writable(winner.protocol, metadata, handles=proposal.handles)
    except UnsupportedFeatureError as refusal:
        error = _error(ProtocolChangedError, winner, f"changed the protocol: {refusal.message}")
        error.__cause__ = refusal
        return error
    if proposal.protocol is not None:
        return _error(ProtocolChangedError, winner, "changed the protocol, and so does this commit")
    dropped = supported_features(base.protocol) - supported_features(winner.protocol)
    if dropped:
        return _error(ProtocolChangedError, winner, f"dropped {_features(dropped)}")
    unsafe = [name for name in _added(base.protocol, winner.protocol) if not _rebases(name)]
    if unsafe:
        return _error(
            ProtocolChangedError,
            winner,
            f"added {_features(unsafe)}, which this commit was not prepared for",
        )
    return None


def metadata_changed(
    proposal: Proposal, base: Snapshot, winner: Winner
) -> MetadataChangedError | None:
    if winner.metadata is None:
        return None
    if proposal.metadata is not None:
        return _error(MetadataChangedError, winner, "changed the metadata, and so does this commit")
    if is_harmless(base.metadata, winner.metadata, winner.protocol or base.protocol):
        return None
    return _error(MetadataChangedError, winner, "changed the schema or the properties of the table")


def domain_changed(proposal: Proposal, _: Snapshot, winner: Winner) -> ConcurrentDomainError | None:
    both = (proposal.domains & winner.domains) - {ROW_TRACKING_DOMAIN}
    if not both:
        return None
    names = ", ".join(sorted(both))
    return _error(ConcurrentDomainError, winner, f"changed the same metadata domain: {names}")


def transaction_repeated(
    proposal: Proposal, _: Snapshot, winner: Winner
) -> ConcurrentTransactionError | None:
    both = proposal.app_ids & winner.app_ids
    if not both:
        return None
    return _error(
        ConcurrentTransactionError,
        winner,
        f"has a transaction of the same application: {', '.join(sorted(both))}",
        hint="another run of the same job is at work; stop it, or check what it has committed",
    )


def files_appended(
    proposal: Proposal, base: Snapshot, winner: Winner
) -> ConcurrentAppendError | None:
    """Files that the reads would have covered."""
    if not _appends_matter(proposal, winner):
        return None
    seen = _covered(proposal, base, winner.adds)
    if not seen:
        return None
    return _file_error(
        ConcurrentAppendError, winner, "added files that this commit depends on", seen
    )


def files_deleted_after_read(
    proposal: Proposal, _: Snapshot, winner: Winner
) -> ConcurrentDeleteReadError | None:
    """Files that were read, or that would come back to life because they are committed again."""
    removed = paths_of(remove.path for remove in winner.removes)
    if not proposal.reads.whole_table:
        kept = _paths(proposal.adds) - _paths(proposal.removes)
        removed = [path for path in removed if path in proposal.reads.paths or path in kept]
    if not removed:
        return None
    return _file_error(
        ConcurrentDeleteReadError, winner, "removed files that this commit depends on", removed
    )


def files_deleted_twice(
    proposal: Proposal, _: Snapshot, winner: Winner
) -> ConcurrentDeleteDeleteError | None:
    both = sorted(_paths(proposal.removes) & _paths(winner.removes))
    if not both:
        return None
    return _file_error(
        ConcurrentDeleteDeleteError, winner, "removed files that this commit removes too", both
    )


RULES: Sequence[Rule] = (
    protocol_changed,
    metadata_changed,
    domain_changed,
    transaction_repeated,
    files_appended,
    files_deleted_after_read,
    files_deleted_twice,
)


def _feature_drop(
    proposal: Proposal, base: Snapshot, winner: Winner
) -> ProtocolChangedError | None:
    """A feature may be dropped only from a table that was looked through, and this is another."""
    if proposal.protocol is None:
        return None
    dropped = supported_features(base.protocol) - supported_features(proposal.protocol)
    if not dropped or all(isinstance(action, CommitInfo | Txn) for action in winner.actions):
        return None
    return _error(
        ProtocolChangedError, winner, f"may use {_features(dropped)}, which this commit drops"
    )


def _added(old: Protocol, new: Protocol) -> list[str]:
    return sorted(supported_features(new) - supported_features(old))


def _rebases(name: str) -> bool:
    return name in FEATURES and FEATURES[name].rebases


def _features(names: Iterable[str]) -> str:
    return f"the table feature(s) {', '.join(sorted(names))}"


def _appends_matter(proposal: Proposal, winner: Winner) -> bool:
    if proposal.isolation is IsolationLevel.SNAPSHOT or not winner.adds:
        return False
    lenient = proposal.isolation is IsolationLevel.WRITE_SERIALIZABLE and proposal.metadata is None
    return not (lenient and winner.is_blind_append)


def _covered(proposal: Proposal, base: Snapshot, adds: Sequence[Add]) -> list[str]:
    """The paths of the files that at least one read would have seen."""
    reads = proposal.reads
    if reads.whole_table or None in reads.predicates:
        return [add.path for add in adds]
    predicates = [predicate for predicate in reads.predicates if predicate is not None]
    if not predicates:
        return []
    columns = FileColumns(
        adds_to_table(adds),
        base.schema,
        base.partition_columns,
        mapping_mode(base.metadata.configuration),
    )
    masks = [_mask(predicate, columns, base) for predicate in predicates]
    return [add.path for add, kept in zip(adds, zip(*masks, strict=True), strict=True) if any(kept)]


def _mask(predicate: Expression, columns: FileColumns, base: Snapshot) -> list[bool]:
    kept: pa.BooleanArray = skip(predicate, columns, base.partition_columns)
    return [value is not False for value in kept.to_pylist()]


def _paths(actions: Iterable[Add | Remove]) -> set[str]:
    return set(paths_of(action.path for action in actions))


def _file_error(kind: type[E], winner: Winner, what: str, files: Sequence[str]) -> E:
    shown = ", ".join(files[:_SHOWN])
    rest = f" and {len(files) - _SHOWN} more" if len(files) > _SHOWN else ""
    return _error(kind, winner, f"{what}: {shown}{rest}", files=files)


def _error(
    kind: type[E],
    winner: Winner,
    what: str,
    *,
    files: Sequence[str] = (),
    hint: str = _REPEAT,
) -> E:
    operation = winner.operation or "an operation that did not give its name"
    return kind(
        f"version {winner.version} ({operation}) was committed first and {what}",
        version=winner.version,
        operation=winner.operation,
        files=files,
        hint=hint,
    )
