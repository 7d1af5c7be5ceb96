"""SELECT over tables without Spark, by DuckDB, with files left out by Lakebed.

DuckDB tells what it makes of a query's text: a tree of JSON. Where a table stands alone or in inner
joins, what WHERE says of its columns and constants chooses the files that DuckDB gets to see. It
applies all of WHERE itself, so whatever is not understood here only costs time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

import pyarrow as pa

from lakebed.arrow.scan import ScanPlan, plan_scan, read_batches
from lakebed.errors import InvalidArgumentError, LakebedError, PredicateError
from lakebed.expressions import Expression, conjunction, parse_predicate
from lakebed.expressions.values import INTEGRAL, TEMPORAL
from lakebed.log.snapshot import Snapshot
from lakebed.spec.columns.column_metadata import length_limits
from lakebed.spec.schema import BOOLEAN, DOUBLE, STRING, DecimalType, StructField, StructType

Tree = dict[str, Any]


def select(query: str, tables: Mapping[str, Snapshot]) -> pa.Table:
    """The rows of a SELECT; `tables` are versions by the names that the query has for them."""
    try:
        import duckdb
    except ImportError as error:
        raise InvalidArgumentError(
            "SQL without Spark needs DuckDB", hint='install it: pip install "lakebed[sql]"'
        ) from error
    failures: list[LakebedError] = []
    with duckdb.connect(config={"python_enable_replacements": "false"}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        try:
            understood = Query(_tree(connection, query))
            for name, snapshot in tables.items():
                plan = understood.plan(name, snapshot)
                batches = _noted(read_batches(plan), failures)
                reader = pa.RecordBatchReader.from_batches(plan.schema, batches)
                once = understood.reads_once(name)
                connection.register(name, reader if once else reader.read_all())
            return connection.sql(query).to_arrow_table()
        except duckdb.Error as error:
            if failures:
                raise failures[0] from error
            raise InvalidArgumentError(f"DuckDB: {error}") from error


def _tree(connection: Any, query: str) -> Tree:
    (text,) = connection.execute("SELECT json_serialize_sql(?::VARCHAR)", [query]).fetchone()
    tree: Tree = json.loads(text)
    if tree.get("error") or len(tree.get("statements", ())) != 1:
        raise InvalidArgumentError(
            f"not a single SELECT: {tree.get('error_message', query)}",
            hint="rows are changed by delete, update and merge",
        )
    return tree


def _noted(
    batches: Iterator[pa.RecordBatch], failures: list[LakebedError]
) -> Iterator[pa.RecordBatch]:
    """An error that goes through DuckDB comes out as another one."""
    try:
        yield from batches
    except LakebedError as error:
        failures.append(error)
        raise


@dataclass(frozen=True)
class Query:
    """What can be told of a query by DuckDB's tree."""

    tree: Tree

    def plan(self, name: str, snapshot: Snapshot) -> ScanPlan:
        """The columns and files of a table that the query may need."""
        names = [each for each in snapshot.schema.names if self._may_name(each)]
        plan = plan_scan(
            snapshot, names or snapshot.schema.names[:1], self.predicate(name, snapshot.schema)
        )
        return replace(plan, read=plan.output, where=None)

    def count(self, name: str) -> int:
        return len([each for each in self._nodes if _is_table(each, name)])

    def reads_once(self, name: str) -> bool:
        """Whether a stream of the rows is enough. A WITH may be read as often as it is named, and a
        subquery for each row.
        """
        selects = [node for node in self._nodes if node.get("type") == "SELECT_NODE"]
        withs = any(node.get("cte_map", {}).get("map") for node in selects)
        return self.count(name) == 1 and len(selects) == 1 and not withs

    def predicate(self, name: str, schema: StructType) -> Expression | None:
        """What is true of all rows of the table that the query needs."""
        if self.count(name) != 1:
            return None
        for node in self._nodes:
            if node.get("type") == "SELECT_NODE":
                tables = _inner_tables(node["from_table"])
                found = [each for each in tables or () if _is_table(each, name)]
                if found and node["sample"] is None:
                    return _where(node, found[0], len(tables or ()) == 1, schema)
        return None

    @cached_property
    def _nodes(self) -> list[Tree]:
        found: list[Tree] = []
        pending: list[Any] = [self.tree]
        while pending:
            each = pending.pop()
            if isinstance(each, dict):
                found.append(each)
                pending += each.values()
            elif isinstance(each, list):
                pending += each
        return found

    @cached_property
    def _texts(self) -> set[str]:
        """All texts in the tree, among which all names are."""
        values = (value for node in self._nodes for value in node.values())
        flat = (
            each for value in values for each in (value if isinstance(value, list) else [value])
        )
        return {each.lower() for each in flat if isinstance(each, str)}

    @cached_property
    def _takes_all(self) -> bool:
        stars = any(node.get("class") == "STAR" for node in self._nodes)
        return stars or any(node.get("ref_type") == "NATURAL" for node in self._nodes)

    def _may_name(self, column: str) -> bool:
        return self._takes_all or column.lower() in self._texts


def _is_table(node: Tree, name: str) -> bool:
    if node.get("type") != "BASE_TABLE":
        return False
    return str(node["table_name"]).lower() == name.lower()


def _inner_tables(node: Tree) -> list[Tree] | None:
    """The tables of a FROM without whose rows no row comes out; None if there is anything else."""
    if node["type"] == "BASE_TABLE":
        is_plain = node["sample"] is None and not node["column_name_alias"]
        return [node] if is_plain else None
    if node["type"] != "JOIN" or node["join_type"] != "INNER":
        return None
    if node["ref_type"] not in ("REGULAR", "CROSS"):
        return None
    left, right = _inner_tables(node["left"]), _inner_tables(node["right"])
    return None if left is None or right is None else [*left, *right]


def _where(node: Tree, table: Tree, is_alone: bool, schema: StructType) -> Expression | None:
    """Names without a table are understood where it is the only one, and not those of SELECT."""
    alias = (table["alias"] or table["table_name"]).lower()
    shown = {str(each.get("alias")).lower() for each in node["select_list"]}
    found = []
    for part in _conjuncts(node["where_clause"]):
        column, sign, value = _comparison(part)
        names = [str(each) for each in column]
        is_own = (
            (len(names) == 1 and is_alone and names[0].lower() not in shown)
            or (len(names) == 2 and names[0].lower() == alias)
        )  # fmt: skip
        if not is_own or names[-1] not in schema:
            continue
        field = schema.field(names[-1])
        if not _is_compared_alike(field, value):
            continue
        quoted = "`" + field.name.replace("`", "``") + "`"
        try:
            found.append(parse_predicate(f"{quoted} {sign} ?", schema, [value]))
        except PredicateError:
            # A column with another collation, or a date that there is not.
            continue
    return conjunction(found) if found else None


def _is_compared_alike(field: StructField, value: Any) -> bool:
    """Whether DuckDB and Spark mean the same: not where one of them makes a float of a number, pads
    text, or reads it as something else.
    """
    kind = field.data_type
    if isinstance(value, bool):
        return kind == BOOLEAN
    if isinstance(value, int | Decimal):
        return kind in (*INTEGRAL, DOUBLE) or isinstance(kind, DecimalType)
    if kind == STRING:
        return not length_limits(field)
    return kind in TEMPORAL and _ISO.fullmatch(value) is not None


def _conjuncts(node: Tree | None) -> Iterator[Tree]:
    if node is None:
        return
    if node["type"] == "CONJUNCTION_AND":
        for each in node["children"]:
            yield from _conjuncts(each)
    elif node["type"] == "COMPARE_BETWEEN":
        sides = {"COMPARE_GREATERTHANOREQUALTO": "lower", "COMPARE_LESSTHANOREQUALTO": "upper"}
        for sign, side in sides.items():
            yield {"class": "COMPARISON", "type": sign, "left": node["input"], "right": node[side]}
    else:
        yield node


def _comparison(node: Tree) -> tuple[list[Any], str, Any]:
    """The names of a column, a sign and a constant; no names if it is anything else."""
    if node["class"] == "COMPARISON" and node["type"] in _SIGNS:
        sign, other = _SIGNS[node["type"]]
        for left, right, shown in ((node["left"], node["right"], sign),
                                   (node["right"], node["left"], other)):  # fmt: skip
            if left["class"] == "COLUMN_REF":
                value = _constant(right)
                if value is not None:
                    return left["column_names"], shown, value
    return [], "=", None


def _constant(node: Tree) -> Any:
    """None if it is none, or null."""
    if node["class"] == "CAST" and node["cast_type"]["id"] in ("DATE", "TIMESTAMP"):
        value = _constant(node["child"])
        is_time = isinstance(value, str) and _ISO.fullmatch(value) is not None
        return value if is_time and not node["try_cast"] else None
    if node["class"] != "CONSTANT" or node["value"]["is_null"]:
        return None
    value, kind = node["value"]["value"], node["value"]["type"]
    if kind["id"] in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "VARCHAR", "BOOLEAN"):
        return value
    if kind["id"] == "DECIMAL" and isinstance(value, int):
        return Decimal(value).scaleb(-kind["type_info"]["scale"])
    return None


_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}( [0-9]{2}:[0-9]{2}:[0-9]{2})?")
_SIGNS = {
    "COMPARE_EQUAL": ("=", "="),
    "COMPARE_LESSTHAN": ("<", ">"),
    "COMPARE_GREATERTHAN": (">", "<"),
    "COMPARE_LESSTHANOREQUALTO": ("<=", ">="),
    "COMPARE_GREATERTHANOREQUALTO": (">=", "<="),
}
"""As it is, and with its sides exchanged."""
