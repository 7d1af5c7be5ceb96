"""Methods of PySpark that make tables by name, replaced; of both kinds of sessions.

`SparkSession.catalog`, `Catalog.createTable` and `DataFrame.writeTo` of Spark 4.0 to 4.3.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession


def before_catalog(do: Callable[[SparkSession], None]) -> None:
    """Calls `do` whenever somebody asks a classic session for its `catalog`."""
    found = inspect.getattr_static(SparkSession, "catalog")
    # A property, or one that keeps its value.
    original = getattr(found, "fget", None) or found.func

    def catalog(self: SparkSession) -> Any:
        do(self)
        if "catalog" not in vars(self):
            vars(self)["catalog"] = original(self)
        return vars(self)["catalog"]

    catalog.__doc__ = original.__doc__
    SparkSession.catalog = property(catalog)


def replace_create_table(catalog: Any, make: Callable[..., Any | None]) -> None:
    """Makes `createTable` of a class of catalogs give what `make` gives, unless that is None."""
    original = catalog.createTable

    def create_table(
        self: Any,
        tableName: str,
        path: str | None = None,
        source: str | None = None,
        schema: Any = None,
        description: str | None = None,
        **options: str,
    ) -> Any:
        made = make(self._sparkSession, tableName, path, source, schema, description, options)
        if made is not None:
            return made
        return original(self, tableName, path, source, schema, description, **options)

    create_table.__doc__ = original.__doc__
    catalog.createTable = create_table


def replace_table_writer(frames: Any, make: Callable[[Any, str, Any], Any | None]) -> None:
    """The same for `writeTo` of a class of DataFrames; `make` also gets Spark's own writer."""
    original = frames.writeTo

    def write_to(self: Any, table: str) -> Any:
        plain = original(self, table)
        made = make(self, table, plain)
        return plain if made is None else made

    write_to.__doc__ = original.__doc__
    frames.writeTo = write_to
