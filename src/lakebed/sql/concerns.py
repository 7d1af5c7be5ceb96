"""Whether a statement is about Delta tables, before it is run, on Spark Connect."""

from __future__ import annotations

from pyspark.sql import SparkSession

from lakebed.spark.session_catalog import find
from lakebed.sql.nested import NestedStatements
from lakebed.sql.parameters import with_names
from lakebed.sql.table_positions import table_positions, without_version


def concerns_delta(session: SparkSession, text: str) -> bool:
    """Views count: there may be Delta tables in them."""
    if NestedStatements().claims(session, text):
        return True
    for place in table_positions(with_names(text)):
        if place.arguments is not None:
            return True
        names = dict.fromkeys([place.parts, without_version(place.parts)[0]])
        found = (find(session, each) for each in names)
        if any(entry is not None and (entry.is_delta or entry.is_view) for entry in found):
            return True
    return False
