"""Any history of a table: sequences of commits, and a plain model of what they come to.

The model is written from PROTOCOL: Action Reconciliation alone, oldest commit first, with a dict
per kind of action, and shares no code with the log.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from lakebed.spec.actions import (
    Action,
    Add,
    AddCdc,
    CommitInfo,
    DeletionVector,
    DomainMetadata,
    Metadata,
    Protocol,
    Remove,
    Txn,
)
from lakebed.spec.schema import (
    DATE,
    DOUBLE,
    LONG,
    STRING,
    TIMESTAMP,
    DataType,
    DecimalType,
    StructField,
    StructType,
    schema_to_json,
)
from testkit.tables.log_tables import DAY, NOW

WEEK = 7 * DAY
Key = tuple[str, str | None]


# --- the model ----------------------------------------------------------------------------------


@dataclass
class Model:
    """The state of a table after some commits."""

    protocol: Protocol | None = None
    metadata: Metadata | None = None
    transactions: dict[str, Txn] = field(default_factory=dict)
    domains: dict[str, DomainMetadata] = field(default_factory=dict)
    live: dict[Key, Add] = field(default_factory=dict)
    tombstones: dict[Key, Remove] = field(default_factory=dict)

    def commit(self, actions: Sequence[Action]) -> None:
        for action in actions:
            self._apply(action)

    def checkpoint(self, now_ms: int) -> None:
        """A checkpoint forgets what has expired."""
        settings = self.metadata.configuration if self.metadata else {}
        self.tombstones = {
            key: remove
            for key, remove in self.tombstones.items()
            if (remove.deletion_timestamp or 0) > now_ms - WEEK
        }
        if "delta.setTransactionRetentionDuration" in settings:
            self.transactions = {
                name: txn
                for name, txn in self.transactions.items()
                if txn.last_updated is not None and txn.last_updated > now_ms - DAY
            }

    def _apply(self, action: Action) -> None:
        if isinstance(action, Protocol):
            self.protocol = action
        elif isinstance(action, Metadata):
            self.metadata = action
        elif isinstance(action, Txn):
            self.transactions[action.app_id] = action
        elif isinstance(action, DomainMetadata):
            self.domains.pop(action.domain, None)
            if not action.removed:
                self.domains[action.domain] = action
        elif isinstance(action, Add):
            self.tombstones.pop(key_of(action), None)
            self.live[key_of(action)] = action
        elif isinstance(action, Remove):
            self.live.pop(key_of(action), None)
            self.tombstones[key_of(action)] = action


def key_of(action: Add | Remove) -> Key:
    """PROTOCOL: Add File and Remove File. A local path may be spelled as a URL."""
    path = action.path
    for prefix in ("file:///", "file:/"):
        if path.startswith(prefix):
            path = "/" + path.removeprefix(prefix)
            break
    vector = action.deletion_vector
    if vector is None:
        return path, None
    place = "" if vector.offset is None else f"@{vector.offset}"
    return path, f"{vector.storage_type}{vector.path_or_inline_dv}{place}"


# --- histories ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Table:
    """What stays the same in a history: the columns, and how they are stored."""

    schema: StructType
    partition_columns: tuple[str, ...]
    mapped: bool
    indexed: str | None

    def physical(self, name: str) -> str:
        return f"col-{name}" if self.mapped else name


COLUMNS: tuple[tuple[str, DataType], ...] = (
    ("id", LONG),
    ("name", STRING),
    ("price", DecimalType(10, 2)),
    ("ratio", DOUBLE),
    ("at", TIMESTAMP),
    ("day", DATE),
    ("inner", StructType((StructField("x", LONG), StructField("y", STRING)))),
)

READER_FEATURES = ("v2Checkpoint", "deletionVectors", "columnMapping", "timestampNtz")
WRITER_FEATURES = (*READER_FEATURES, "domainMetadata", "appendOnly", "invariants")
OPTIONAL_FEATURES = ("checkConstraints", "changeDataFeed", "rowTracking", "clustering")


@st.composite
def tables(draw: st.DrawFn) -> Table:
    mapped = draw(st.booleans())
    columns = draw(st.lists(st.sampled_from(COLUMNS), min_size=1, unique_by=lambda c: c[0]))
    partitions = [name for name, kind in columns if not isinstance(kind, StructType)]
    chosen = (
        draw(st.lists(st.sampled_from(partitions), max_size=2, unique=True)) if partitions else []
    )
    numbers = iter(range(1, 100))
    schema = StructType(tuple(_column(name, kind, mapped, numbers) for name, kind in columns))
    indexed = draw(st.sampled_from([None, "0", "1", "2"]))
    return Table(schema, tuple(chosen), mapped, indexed)


@st.composite
def histories(draw: st.DrawFn, most: int = 8) -> list[list[Action]]:
    """Commits of a table, version 0 first. Every commit by itself is valid by the protocol."""
    table = draw(tables())
    state = Model()
    commits: list[list[Action]] = []
    for version in range(draw(st.integers(1, most))):
        actions = _first(draw, table) if version == 0 else []
        actions += _changes(draw, table, state, version)
        state.commit(actions)
        commits.append([CommitInfo({"operation": "ANY", "n": version}), *actions])
    return commits


def _column(name: str, kind: DataType, mapped: bool, numbers: Any) -> StructField:
    if isinstance(kind, StructType):
        kind = StructType(tuple(_column(f.name, f.data_type, mapped, numbers) for f in kind))
    if not mapped:
        return StructField(name, kind)
    ids = {
        "delta.columnMapping.id": next(numbers),
        "delta.columnMapping.physicalName": f"col-{name}",
    }
    return StructField(name, kind, True, ids)


def _first(draw: st.DrawFn, table: Table) -> list[Action]:
    return [_protocol(draw), _metadata(draw, table)]


def _protocol(draw: st.DrawFn) -> Protocol:
    more = draw(st.lists(st.sampled_from(OPTIONAL_FEATURES), unique=True))
    return Protocol(3, 7, READER_FEATURES, (*WRITER_FEATURES, *more))


def _metadata(draw: st.DrawFn, table: Table) -> Metadata:
    configuration = {"delta.checkpointPolicy": draw(st.sampled_from(["classic", "v2"]))}
    if table.mapped:
        configuration["delta.columnMapping.mode"] = "name"
    style = draw(st.sampled_from(["both", "json", "struct"]))
    if style == "json":
        configuration["delta.checkpoint.writeStatsAsStruct"] = "false"
    if style == "struct":
        configuration["delta.checkpoint.writeStatsAsJson"] = "false"
    if draw(st.booleans()):
        configuration["delta.setTransactionRetentionDuration"] = "interval 1 day"
    if table.indexed is not None:
        configuration["delta.dataSkippingNumIndexedCols"] = table.indexed
    name = draw(st.none() | st.text(max_size=5))
    created = draw(st.none() | st.integers(0, NOW))
    text = schema_to_json(table.schema)
    return Metadata(
        "the-id", text, table.partition_columns, configuration, name=name, created_time=created
    )


def _changes(draw: st.DrawFn, table: Table, state: Model, version: int) -> list[Action]:
    """Some actions; no two about the same path, application or domain."""
    actions: list[Action] = []
    touched: set[str] = set()
    for step in draw(
        st.lists(st.sampled_from(["add", "remove", "again", "vector", "unknown"]), max_size=4)
    ):
        actions += _file_step(draw, table, state, touched, step, f"{version}-{len(actions)}")
    actions += draw(st.lists(transactions(), max_size=2, unique_by=lambda txn: txn.app_id))
    actions += draw(st.lists(domains(), max_size=2, unique_by=lambda domain: domain.domain))
    if version and draw(st.integers(0, 4)) == 0:
        actions.append(_metadata(draw, table))
    if version and draw(st.integers(0, 4)) == 0:
        actions.append(_protocol(draw))
    if draw(st.integers(0, 4)) == 0:
        actions.append(AddCdc("_change_data/x", {}, 1))
    return draw(st.permutations(actions))


def _file_step(
    draw: st.DrawFn, table: Table, state: Model, touched: set[str], step: str, unique: str
) -> list[Action]:
    if step in ("add", "unknown"):
        add = draw(files(table, unique))
        return [add] if step == "add" else [_removed(draw, add)]
    known = [*state.live.values()]
    if step == "again":
        known += [_revived(remove) for remove in state.tombstones.values()]
    known = [add for add in known if key_of(add)[0] not in touched]
    if not known:
        return []
    add = draw(st.sampled_from(known))
    touched.add(key_of(add)[0])
    if step == "remove":
        return [_removed(draw, add)]
    if step == "again":
        return _added_again(draw, table, state, add)
    vector = draw(vectors())
    if key_of(replace(add, deletion_vector=vector)) == key_of(add):
        return []
    return [_removed(draw, add), replace(add, deletion_vector=vector)]


def _added_again(draw: st.DrawFn, table: Table, state: Model, add: Add) -> list[Action]:
    """The same file with other words, or a removed one; never beside another vector of it."""
    others = [key for key in state.live if key[0] == key_of(add)[0] and key != key_of(add)]
    if others:
        return []
    fresh = draw(files(table, "again"))
    path = draw(st.sampled_from(_spellings(add.path)))
    return [replace(fresh, path=path, deletion_vector=add.deletion_vector)]


def _revived(remove: Remove) -> Add:
    return Add(remove.path, {}, 0, 0, True, deletion_vector=remove.deletion_vector)


def _removed(draw: st.DrawFn, add: Add) -> Remove:
    stamp = draw(st.none() | st.integers(NOW - WEEK - 2, NOW - WEEK + 2) | st.integers(0, NOW))
    if draw(st.booleans()):
        return Remove(add.path, True, stamp, deletion_vector=add.deletion_vector)
    return replace(Remove.of(add, timestamp=0), deletion_timestamp=stamp)


def _spellings(path: str) -> list[str]:
    plain = "/" + path.removeprefix("file:").lstrip("/")
    return [plain, f"file:{plain}", f"file://{plain}"] if path[:1] in "/f" else [path]


# --- single actions -----------------------------------------------------------------------------


PREFIXES = ("", "a%20b/", "name=%C3%BC/", "/far/away/", "file:///far/away/", "s3://other/table/")


@st.composite
def files(draw: st.DrawFn, table: Table, unique: str) -> Add:
    rows = {
        name: draw(values(table.schema.field(name).data_type)) for name in table.partition_columns
    }
    return Add(
        path=draw(st.sampled_from(PREFIXES)) + f"{unique}.parquet",
        partition_values={table.physical(name): value for name, value in rows.items()},
        size=draw(st.integers(0, 2**40)),
        modification_time=draw(st.integers(0, NOW)),
        data_change=draw(st.booleans()),
        stats=draw(st.none() | statistics(table)),
        tags=draw(
            st.none()
            | st.dictionaries(st.text(max_size=3), st.none() | st.text(max_size=3), max_size=2)
        ),
        deletion_vector=draw(st.none() | vectors()),
        base_row_id=draw(st.none() | st.integers(0, 2**40)),
        default_row_commit_version=draw(st.none() | st.integers(0, 100)),
        clustering_provider=draw(st.none() | st.just("liquid")),
    )


def values(kind: DataType) -> st.SearchStrategy[str | None]:
    """Partition values as text."""
    texts: dict[DataType, st.SearchStrategy[str]] = {
        LONG: st.integers(-(2**63), 2**63 - 1).map(str),
        STRING: st.text(st.characters(codec="utf-8"), min_size=1, max_size=4),
        DOUBLE: st.sampled_from(["0.5", "-1.25E10", "NaN"]),
        TIMESTAMP: st.sampled_from(["2024-01-31 12:30:00", "1999-12-31T23:59:59.123456Z"]),
        DATE: st.dates().map(str),
    }
    return st.none() | texts.get(kind, st.sampled_from(["1.50", "-99999999.99"]))


@st.composite
def statistics(draw: st.DrawFn, table: Table) -> str:
    """Of some of the columns, with one bound for both ends."""
    leaves = {f.name: f.data_type for f in table.schema if f.name not in table.partition_columns}
    bounds = {
        table.physical(name): _bound(draw, table, kind)
        for name, kind in leaves.items()
        if draw(st.booleans())
    }
    counts = {
        table.physical(name): {table.physical(f.name): 0 for f in kind}
        if isinstance(kind, StructType)
        else 3
        for name, kind in leaves.items()
    }
    whole = {"numRecords": draw(st.integers(0, 2**40)), "minValues": bounds, "maxValues": bounds}
    whole |= {"nullCount": counts, "tightBounds": draw(st.booleans())}
    kept = draw(st.sets(st.sampled_from(sorted(whole)), min_size=1))
    return json.dumps({name: part for name, part in whole.items() if name in kept})


def _bound(draw: st.DrawFn, table: Table, kind: DataType) -> Any:
    if isinstance(kind, StructType):
        return {table.physical(f.name): _bound(draw, table, f.data_type) for f in kind}
    bounds: dict[DataType, st.SearchStrategy[Any]] = {
        LONG: st.integers(-(2**63), 2**63 - 1),
        STRING: st.text(st.characters(codec="utf-8"), max_size=8),
        DOUBLE: st.floats(allow_nan=False, allow_infinity=False),
        TIMESTAMP: st.just("2024-02-03T04:05:06.789Z"),
        DATE: st.dates().map(str),
    }
    return draw(bounds.get(kind, st.just(12345678.91)))


def vectors() -> st.SearchStrategy[DeletionVector]:
    return st.builds(
        DeletionVector,
        storage_type=st.just("u"),
        path_or_inline_dv=st.sampled_from(["ab^-aqEH.-t@S}K{vb[*k^", "0rJ>R#Zp)TWm)Zh>pZ9W"]),
        size_in_bytes=st.integers(1, 1000),
        cardinality=st.integers(1, 10**10),
        offset=st.none() | st.integers(0, 100),
    )


def transactions() -> st.SearchStrategy[Txn]:
    moments = st.none() | st.sampled_from([NOW, NOW - DAY, NOW - DAY + 1, 0])
    return st.builds(
        Txn,
        app_id=st.sampled_from(["a", "b", "ü"]),
        version=st.integers(-5, 5),
        last_updated=moments,
    )


def domains() -> st.SearchStrategy[DomainMetadata]:
    return st.builds(
        DomainMetadata,
        domain=st.sampled_from(["delta.rowTracking", "mine", "thine"]),
        configuration=st.text(max_size=5),
        removed=st.booleans(),
    )
