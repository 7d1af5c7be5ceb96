"""The options of reads and writes: `columns` and `where` of a read, and settings of Hadoop.

Workers also read the columns and files that a query does not need: Spark does not tell a Python
data source which columns it needs, and the filters that it pushes from 4.1 on cannot be trusted
(see `workers.data_source`). These options do it by hand. On the native plane they change only the
result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from lakebed.arrow.scan import pick_columns
from lakebed.errors import InvalidArgumentError
from lakebed.settings.option_table import COLUMNS, WHERE
from lakebed.spec.schema import StructType


@dataclass(frozen=True)
class ScanOptions:
    """`others` are the rest, under the names that the user gave."""

    columns: tuple[str, ...] | None
    where: str | None
    others: Mapping[str, str]

    @classmethod
    def of(cls, options: Mapping[str, str]) -> ScanOptions:
        known = {key.lower(): value for key, value in options.items()}
        text = COLUMNS.read(known.get)
        others = {k: v for k, v in options.items() if k.lower() not in (COLUMNS.name, WHERE.name)}
        return cls(None if text is None else _names(text), WHERE.read(known.get), others)

    @property
    def columns_text(self) -> str:
        """The names as `of` reads them."""
        return orjson.dumps(self.columns).decode()

    def picked(self, schema: StructType) -> StructType:
        """The columns to give back, as the table spells them."""
        return schema if self.columns is None else pick_columns(schema, self.columns)


def hadoop_options(options: Mapping[str, str]) -> dict[str, str]:
    """Those that say how Hadoop reaches the store, under its own names."""
    names = {key.removeprefix("spark.hadoop."): value for key, value in options.items()}
    return {name: value for name, value in names.items() if name.startswith(("fs.", "dfs."))}


def _names(text: str) -> tuple[str, ...]:
    """`id, price`, or a JSON list for names with commas in them."""
    if not text.lstrip().startswith("["):
        return tuple(name.strip() for name in text.split(",") if name.strip())
    try:
        names = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InvalidArgumentError(
            f"the option columns, {text!r}, is not a list of names",
            hint='write id, price or ["id", "price"]',
        ) from error
    return tuple(names)
