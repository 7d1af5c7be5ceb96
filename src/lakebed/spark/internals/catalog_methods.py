"""Methods of PySpark about tables by name, replaced; of both kinds of sessions.

`SparkSession.catalog`, methods of `Catalog`, and `DataFrame.writeTo` of Spark 4.0 to 4.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any


def replace_catalog_methods(catalog: Any, answers: Mapping[str, Callable[..., Any]]) -> None:
    """Puts answers in the place of methods. They get Spark's own, then the session."""
    for name, answer in answers.items():
        # Some methods are not in all versions of Spark.
        if hasattr(catalog, name):
            setattr(catalog, name, _answering(getattr(catalog, name), answer))


def _answering(original: Callable[..., Any], answer: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        def plain(*given: Any) -> Any:
            return original(self, *given)

        return answer(plain, self._sparkSession, *args, **kwargs)

    return method


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
