"""Whether a transaction can be ordered after a commit that came first.

PROTOCOL: Transaction Identifiers, Domain Metadata, Protocol Evolution; for the rest delta-spark's
rules, in its order. One function per rule; each gets the proposal, the version below the winning
commit, the winning commit and a reader of deletion vectors, and gives the error or None.

Differences from delta-spark, all towards fewer surprises:

- Statistics count, not only partition values, when a read predicate meets an added file; then the
  rows of the file, if it is small.
- A transaction that stages a `Txn`, or adds a file again, depends on these as if it had read them.
- Rows that were marked in a file conflict only with a change of the same rows: `row_conflicts` says
  why, and the rules for whole files leave marked files to it. It comes before them, since "the same
  row was changed" is the most exact thing to say.
- A file that a commit adds again with the same rows or fewer adds nothing: whatever a predicate
  would find in it now, it found before.

`read_whole_table` still means every row: to such a transaction each row that goes is in the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

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
from lakebed.formats.statistics.file_statistics import FileColumns
from lakebed.log.listing.file_keys import file_key, spellings
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Add, CommitInfo, Protocol, Txn
from lakebed.spec.columns.column_mapping import mapping_mode
from lakebed.spec.feature_table import FEATURES
from lakebed.spec.features import check_writable, supported_features
from lakebed.transaction.conflicts.conflict_errors import conflict, file_conflict
from lakebed.transaction.conflicts.metadata_changes import is_harmless
from lakebed.transaction.conflicts.row_conflicts import rows_changed_twice
from lakebed.transaction.isolation import IsolationLevel
from lakebed.transaction.proposal import Proposal
from lakebed.transaction.read_set import paths_of
from lakebed.transaction.row_marks import Vectors
from lakebed.transaction.row_tracking import DOMAIN as ROW_TRACKING_DOMAIN
from lakebed.transaction.winner import Winner

_MOST_BYTES = 16 << 20
"""Of new files that are looked into."""

Rule = Callable[[Proposal, Snapshot, Winner, Vectors], ConflictError | None]


def find_conflict(
    proposal: Proposal, base: Snapshot, winner: Winner, vectors: Vectors
) -> ConflictError | None:
    """The first rule that `winner`, the commit on top of `base`, breaks for the proposal."""
    for rule in RULES:
        error = rule(proposal, base, winner, vectors)
        if error is not None:
            return error
    return None


def protocol_changed(
    proposal: Proposal, base: Snapshot, winner: Winner, _: Vectors
) -> ProtocolChangedError | None:
    if winner.protocol is None:
        return _feature_drop(proposal, base, winner)
    try:
        metadata = winner.metadata or base.metadata
        check_writable(winner.protocol, metadata, handles=proposal.handles)
    except UnsupportedFeatureError as refusal:
        error = conflict(ProtocolChangedError, winner, f"changed the protocol: {refusal.message}")
        error.__cause__ = refusal
        return error
    if proposal.protocol is not None:
        return conflict(
            ProtocolChangedError, winner, "changed the protocol, and so does this commit"
        )
    dropped = supported_features(base.protocol) - supported_features(winner.protocol)
    if dropped:
        return conflict(ProtocolChangedError, winner, f"dropped {_features(dropped)}")
    unsafe = [name for name in _added(base.protocol, winner.protocol) if not _rebases(name)]
    if unsafe:
        return conflict(
            ProtocolChangedError,
            winner,
            f"added {_features(unsafe)}, which this commit was not prepared for",
        )
    return None


def metadata_changed(
    proposal: Proposal, base: Snapshot, winner: Winner, _: Vectors
) -> MetadataChangedError | None:
    if winner.metadata is None:
        return None
    if proposal.metadata is not None:
        return conflict(
            MetadataChangedError, winner, "changed the metadata, and so does this commit"
        )
    if is_harmless(base.metadata, winner.metadata, winner.protocol or base.protocol):
        return None
    return conflict(
        MetadataChangedError, winner, "changed the schema or the properties of the table"
    )


def domain_changed(
    proposal: Proposal, _: Snapshot, winner: Winner, __: Vectors
) -> ConcurrentDomainError | None:
    both = (proposal.domains & winner.domains) - {ROW_TRACKING_DOMAIN}
    if not both:
        return None
    names = ", ".join(sorted(both))
    return conflict(ConcurrentDomainError, winner, f"changed the same metadata domain: {names}")


def transaction_repeated(
    proposal: Proposal, _: Snapshot, winner: Winner, __: Vectors
) -> ConcurrentTransactionError | None:
    both = proposal.app_ids & winner.app_ids
    if not both:
        return None
    return conflict(
        ConcurrentTransactionError,
        winner,
        f"has a transaction of the same application: {', '.join(sorted(both))}",
        hint="another run of the same job is at work; stop it, or check what it has committed",
    )


def files_appended(
    proposal: Proposal, base: Snapshot, winner: Winner, vectors: Vectors
) -> ConcurrentAppendError | None:
    """Files that the reads would have covered."""
    if not _appends_matter(proposal, winner):
        return None
    seen = _covered(proposal, base, winner.adds)
    if proposal.row_level:
        seen = _with_new_rows(seen, base, winner, vectors)
    if not seen or _are_no_matches(proposal, base, seen):
        return None
    files = [add.path for add in seen]
    return file_conflict(
        ConcurrentAppendError, winner, "added files that this commit depends on", files
    )


def files_deleted_after_read(
    proposal: Proposal, _: Snapshot, winner: Winner, __: Vectors
) -> ConcurrentDeleteReadError | None:
    """Files that were read, or that would come back to life because they are committed again."""
    removed = paths_of(remove.path for remove in winner.removes)
    if not proposal.reads.whole_table:
        depends = proposal.reads.paths | (set(paths_of(proposal.adds)) - proposal.removed_paths)
        if proposal.row_level:
            depends -= proposal.marked_paths
        removed = [path for path in removed if path in depends]
    if not removed:
        return None
    return file_conflict(
        ConcurrentDeleteReadError, winner, "removed files that this commit depends on", removed
    )


def files_deleted_twice(
    proposal: Proposal, _: Snapshot, winner: Winner, __: Vectors
) -> ConcurrentDeleteDeleteError | None:
    both = sorted(proposal.removed_paths & winner.removed_paths)
    if not both:
        return None
    return file_conflict(
        ConcurrentDeleteDeleteError, winner, "removed files that this commit removes too", both
    )


RULES: Sequence[Rule] = (
    protocol_changed,
    metadata_changed,
    domain_changed,
    transaction_repeated,
    rows_changed_twice,
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
    return conflict(
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


def _covered(proposal: Proposal, base: Snapshot, adds: Sequence[Add]) -> list[Add]:
    """The files that at least one read would have seen."""
    reads = proposal.reads
    if reads.whole_table or None in reads.predicates:
        return list(adds)
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
    return [add for add, kept in zip(adds, zip(*masks, strict=True), strict=True) if any(kept)]


def _mask(predicate: Expression, columns: FileColumns, base: Snapshot) -> list[bool]:
    kept: pa.BooleanArray = skip(predicate, columns, base.partition_columns)
    return [value is not False for value in kept.to_pylist()]


def _are_no_matches(proposal: Proposal, base: Snapshot, adds: Sequence[Add]) -> bool:
    """Whether a look into the files shows that no read would have found a row there.

    To plan the work again takes a scan or more, to look into small files much less.
    """
    reads, may_match = proposal.reads, proposal.may_match
    if may_match is None or reads.whole_table or None in reads.predicates:
        return False
    if sum(add.size for add in adds) > _MOST_BYTES:
        return False
    predicates = [predicate for predicate in reads.predicates if predicate is not None]
    return not any(may_match(base, adds, predicate) for predicate in predicates)


def _with_new_rows(
    adds: Sequence[Add], base: Snapshot, winner: Winner, vectors: Vectors
) -> list[Add]:
    """Without the files that were there before with at least the same rows.

    Vectors can also shrink: a RESTORE brings rows back. They are read only if nothing else says
    that there are new rows.
    """
    old = dict(zip(paths_of(remove.path for remove in winner.removes), winner.removes, strict=True))
    named = list(zip(paths_of(adds), adds, strict=True))
    others = [add for path, add in named if path not in old]
    new = [add for add in others if add.data_change]
    if not new and others:
        live = _live_keys(base, [add.path for add in others])
        new = [add for add in others if file_key(*_parts(add)) not in live]
    if new:
        return new
    again = [(old[path], add) for path, add in named if path in old]
    return [add for was, add in again if vectors.rows(was).difference(vectors.rows(add))]


def _live_keys(base: Snapshot, paths: Sequence[str]) -> set[str]:
    """Those of the named files that the version below has, each with its vector."""
    names = [name for path in paths for name in spellings(path)]
    files = base.files(["path", "deletionVector"])
    if not files.num_rows:
        return set()
    known = files.filter(pc.is_in(files.column("path"), value_set=pa.array(names, pa.string())))
    return {file_key(row["path"], row["deletionVector"]) for row in known.to_pylist()}


def _parts(add: Add) -> tuple[str, dict[str, object] | None]:
    vector = add.deletion_vector
    return add.path, None if vector is None else vector.to_json()
