"""References to columns of one DataFrame, as an expression names it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from pyspark.sql import Column


@dataclass(frozen=True)
class Reference:
    """A column of a DataFrame. `frame` is Spark's number of the DataFrame, if it is known.

    `column` is Spark's number of the column itself, which DataFrames share with those that they are
    derived from. Only a classic session has it; on Spark Connect `path` goes on to fields inside of
    the column, and may begin with the alias of the DataFrame.
    """

    path: tuple[str, ...]
    frame: int | None
    column: int | None = None


Translate: TypeAlias = Callable[[Reference], Column]
