"""Random sequences on one table, each step by an engine drawn at random.

A plain model of the rows says what the table has to have after each step, to both engines. In the
end it is also read by a reader that is neither. LAKEBED_PEER_SEEDS is how many sequences there are
of each kind of table.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from engines import Engine, Peers, conf, sql
from log_state import log_state
from neutral_reader import neutral_rows
from short_form import these_in_short

SEEDS = int(os.environ.get("LAKEBED_PEER_SEEDS", "1"))
STEPS = 14

Value = int | str | None
Row = dict[str, Value]

_VECTORS = {"delta.enableDeletionVectors": "true"}
_NO_VECTORS = {"delta.enableDeletionVectors": "false"}
_MAPPING = {"delta.columnMapping.mode": "name"}
_FEED = {"delta.enableChangeDataFeed": "true"}
_TRACKING = {"delta.enableRowTracking": "true"}


@dataclass(frozen=True)
class Kind:
    """How a table is made."""

    name: str
    properties: dict[str, str]
    partitioned: bool = False

    @property
    def has_feed(self) -> bool:
        return "delta.enableChangeDataFeed" in self.properties


KINDS = [
    Kind("plain", _NO_VECTORS),
    Kind("vectors", _VECTORS),
    Kind("partitions", _NO_VECTORS, partitioned=True),
    Kind("mapping", {**_NO_VECTORS, **_MAPPING}),
    Kind("feed", {**_NO_VECTORS, **_FEED}),
    Kind("vectors and feed in partitions", {**_VECTORS, **_FEED}, partitioned=True),
    Kind("all", {**_VECTORS, **_MAPPING, **_FEED, **_TRACKING}, partitioned=True),
]


@dataclass
class Model:
    """What the table has to have, now and at earlier versions."""

    path: Path
    columns: list[str]
    rows: list[Row] = field(default_factory=list)
    versions: dict[int, tuple[list[str], list[Row]]] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)

    def remember(self) -> None:
        copies = [dict(row) for row in self.rows]
        self.versions[log_state(self.path).version] = (list(self.columns), copies)

    def expected(self) -> list[list[Value]]:
        rows = [[row.get(name) for name in self.columns] for row in self.rows]
        return sorted(rows, key=repr)


@dataclass(frozen=True)
class Condition:
    """In SQL, and as a function that gives None where SQL gives NULL."""

    text: str
    holds: Callable[[Row], bool | None]


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("kind", these_in_short(KINDS, "all"), ids=lambda kind: kind.name)
def test_both_engines_agree_with_the_model_after_each_turn(
    kind: Kind, seed: int, peers: Peers, tmp_path: Path
) -> None:
    draw = random.Random(f"{kind.name} {seed}")
    model = Model(tmp_path / "table", ["id", "s", "v", "p"])
    _turn(peers, draw, model, _create(kind, model))
    _turn(peers, draw, model, _append(draw, model))
    for _ in range(STEPS):
        name = draw.choice([step for step in _STEPS if not (kind.has_feed and step == "vacuum")])
        _turn(peers, draw, model, _STEPS[name](draw, model))
    _check_the_feed(kind, peers, model)
    assert neutral_rows(model.path) == model.expected(), "\n".join(model.steps)


def _turn(peers: Peers, draw: random.Random, model: Model, statements: list[str]) -> None:
    """One step by one engine, then both read."""
    engine = draw.choice(peers.engines)
    model.steps += [f"{engine.name}: {statement}" for statement in statements]
    _run(engine, model, statements)
    model.remember()
    read = [sql(f"SELECT * FROM delta.`{model.path}`")]
    for reader, [answer] in zip(peers.engines, peers.both(read, read), strict=True):
        about = "\n".join([*model.steps, f"read by {reader.name}"])
        assert answer.error is None, f"{about}\n{answer.error}"
        assert answer.content["columns"] == model.columns, about
        assert answer.rows == model.expected(), about


def _run(engine: Engine, model: Model, statements: list[str]) -> None:
    check = "spark.databricks.delta.retentionDurationCheck.enabled"
    steps = [conf({check: "false"}), *(sql(text, must=True) for text in statements)]
    last = engine.run(steps)[-1]
    assert last.error is None, "\n".join([*model.steps, str(last)])


def _check_the_feed(kind: Kind, peers: Peers, model: Model) -> None:
    if not kind.has_feed:
        return
    columns = "id, s, v, p, _change_type, _commit_version"
    query = [sql(f"SELECT {columns} FROM table_changes_by_path('{model.path}', 0)")]
    [ours], [theirs] = peers.both(query, query)
    assert ours.rows == theirs.rows, "\n".join(model.steps)


# --- steps ---------------------------------------------------------------------------------------


def _create(kind: Kind, model: Model) -> list[str]:
    # Checkpoints often enough that some steps start from one.
    properties = {**kind.properties, "delta.checkpointInterval": "4"}
    listed = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
    parts = "PARTITIONED BY (p)" if kind.partitioned else ""
    return [
        f"CREATE TABLE {_table(model)} (id INT, s STRING, v INT, p INT) USING delta {parts} "
        f"TBLPROPERTIES ({listed})"
    ]


def _append(draw: random.Random, model: Model) -> list[str]:
    rows = [_row(draw, draw.randrange(40)) for _ in range(draw.randint(1, 6))]
    model.rows += rows
    return [f"INSERT INTO {_table(model)} (id, s, v, p) VALUES {_values(rows)}"]


def _update(draw: random.Random, model: Model) -> list[str]:
    condition = _condition(draw)
    for row in model.rows:
        if condition.holds(row):
            row["s"] = "up"
            row["v"] = None if row["v"] is None else int(row["v"]) + 1
    return [f"UPDATE {_table(model)} SET s = 'up', v = v + 1 WHERE {condition.text}"]


def _move(draw: random.Random, model: Model) -> list[str]:
    """To another partition, where there are any."""
    condition = _condition(draw)
    for row in model.rows:
        if condition.holds(row):
            row["p"] = 2
    return [f"UPDATE {_table(model)} SET p = 2 WHERE {condition.text}"]


def _delete(draw: random.Random, model: Model) -> list[str]:
    condition = _condition(draw)
    model.rows = [row for row in model.rows if not condition.holds(row)]
    return [f"DELETE FROM {_table(model)} WHERE {condition.text}"]


def _merge(draw: random.Random, model: Model) -> list[str]:
    source = [_row(draw, key) for key in draw.sample(range(40), draw.randint(1, 8))]
    by_key = {row["id"]: row for row in source}
    by_source = draw.random() < 0.3
    keys = {row["id"] for row in model.rows}
    kept = []
    for row in model.rows:
        if row["id"] in by_key:
            kept.append({**row, "v": by_key[row["id"]]["v"]})
        elif not (by_source and isinstance(row["v"], int) and row["v"] > 60):
            kept.append(row)
    model.rows = [*kept, *(row for row in source if row["id"] not in keys)]
    clause = "WHEN NOT MATCHED BY SOURCE AND t.v > 60 THEN DELETE" if by_source else ""
    return [
        f"MERGE INTO {_table(model)} t USING (SELECT * FROM VALUES {_values(source)} "
        "AS v(id, s, v, p)) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.v = s.v "
        f"WHEN NOT MATCHED THEN INSERT (id, s, v, p) VALUES (s.id, s.s, s.v, s.p) {clause}"
    ]


def _overwrite(draw: random.Random, model: Model) -> list[str]:
    rows = [_row(draw, key) for key in range(draw.randint(3, 12))]
    model.rows = rows
    nulls = "".join(", NULL" for _ in model.columns[4:])
    values = ", ".join(f"({_literals(row)}{nulls})" for row in rows)
    return [f"INSERT OVERWRITE {_table(model)} VALUES {values}"]


def _replace_where(draw: random.Random, model: Model) -> list[str]:
    low = draw.randrange(40)
    rows = [_row(draw, low + step) for step in range(draw.randint(1, 3))]
    kept = [row for row in model.rows if not (isinstance(row["id"], int) and row["id"] >= low)]
    model.rows = [*kept, *rows]
    nulls = "".join(", NULL" for _ in model.columns[4:])
    values = ", ".join(f"({_literals(row)}{nulls})" for row in rows)
    return [f"INSERT INTO {_table(model)} REPLACE WHERE id >= {low} VALUES {values}"]


def _optimize(draw: random.Random, model: Model) -> list[str]:
    order = draw.choice(["", " ZORDER BY (id, v)"])
    return [f"OPTIMIZE {_table(model)}{order}"]


def _purge(draw: random.Random, model: Model) -> list[str]:  # noqa: ARG001
    return [f"REORG TABLE {_table(model)} APPLY (PURGE)"]


def _restore(draw: random.Random, model: Model) -> list[str]:
    """To an earlier version: Lakebed refuses the newest, as there is nothing to do."""
    earlier = sorted(model.versions)[:-1]
    if not earlier:
        return _append(draw, model)
    version = draw.choice(earlier)
    columns, rows = model.versions[version]
    model.columns, model.rows = list(columns), [dict(row) for row in rows]
    return [f"RESTORE TABLE {_table(model)} TO VERSION AS OF {version}"]


def _add_column(draw: random.Random, model: Model) -> list[str]:  # noqa: ARG001
    name = f"c{len(model.columns)}"
    model.columns.append(name)
    return [f"ALTER TABLE {_table(model)} ADD COLUMN {name} INT"]


def _vacuum(draw: random.Random, model: Model) -> list[str]:  # noqa: ARG001
    """Afterwards no earlier version can be restored."""
    model.versions.clear()
    return [f"VACUUM {_table(model)} RETAIN 0 HOURS"]


_STEPS: dict[str, Callable[[random.Random, Model], list[str]]] = {
    "append": _append,
    "update": _update,
    "move": _move,
    "delete": _delete,
    "merge": _merge,
    "overwrite": _overwrite,
    "replace where": _replace_where,
    "optimize": _optimize,
    "purge": _purge,
    "restore": _restore,
    "add column": _add_column,
    "vacuum": _vacuum,
}


# --- values --------------------------------------------------------------------------------------


def _table(model: Model) -> str:
    return f"delta.`{model.path}`"


def _row(draw: random.Random, key: int) -> Row:
    return {
        "id": key,
        "s": draw.choice(["a", "b", "", "ü'ß", None]),
        "v": draw.choice([None, draw.randrange(100)]),
        "p": draw.choice([0, 1, None]),
    }


def _values(rows: list[Row]) -> str:
    """With types for columns that may have only NULLs."""
    return ", ".join(f"({_literals(row)})" for row in rows)


def _literals(row: Row) -> str:
    types = {"id": "INT", "s": "STRING", "v": "INT", "p": "INT"}
    return ", ".join(f"CAST({_literal(row[name])} AS {types[name]})" for name in types)


def _literal(value: Value) -> str:
    if value is None:
        return "NULL"
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "\\'") + "'"


def _condition(draw: random.Random) -> Condition:
    number = draw.randrange(40)
    rest = draw.randrange(3)
    return draw.choice(
        [
            Condition(f"id % 3 = {rest}", lambda row: _int(row["id"]) % 3 == rest),
            Condition(f"v > {number}", lambda row: _greater(row["v"], number)),
            Condition(f"NOT (v > {number})", lambda row: _not(_greater(row["v"], number))),
            Condition("s IS NULL", lambda row: row["s"] is None),
            Condition("s = 'a'", lambda row: None if row["s"] is None else row["s"] == "a"),
            Condition("p = 1", lambda row: None if row["p"] is None else row["p"] == 1),
            Condition("p IS NULL", lambda row: row["p"] is None),
            Condition(f"id < {number} AND p <=> 0", lambda row: _below(row, number)),
        ]
    )


def _below(row: Row, number: int) -> bool:
    return _int(row["id"]) < number and row["p"] == 0


def _greater(value: Value, number: int) -> bool | None:
    return None if value is None else _int(value) > number


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _int(value: Value) -> int:
    assert isinstance(value, int)
    return value
