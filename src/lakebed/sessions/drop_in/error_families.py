"""Lakebed's errors as members of PySpark's families, which programs for delta-spark catch.

Many a program has `except AnalysisException` around the read of a table that may not be there.
Python looks at the bases of the class that is raised and at nothing else, so the classes get one
more. They cannot have it in `lakebed.errors`, which has to do without PySpark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.errors import (
    AnalysisException,
    IllegalArgumentException,
    PySparkException,
    UnsupportedOperationException,
)

import lakebed.errors as errors

_FAMILIES: Mapping[type[errors.LakebedError], tuple[type[Exception], ...]] = {
    errors.TableNotFoundError: (AnalysisException,),
    errors.TableExistsError: (AnalysisException,),
    errors.VersionNotFoundError: (AnalysisException,),
    errors.SchemaError: (AnalysisException,),
    errors.SqlTextError: (AnalysisException,),
    errors.TablePropertyError: (AnalysisException,),
    # delta-spark's Python raises Python's own errors, what is below it raises Spark's.
    errors.InvalidArgumentError: (
        AnalysisException,
        IllegalArgumentException,
        TypeError,
        ValueError,
    ),
    errors.UnsupportedFeatureError: (AnalysisException, UnsupportedOperationException),
    errors.AppendOnlyError: (UnsupportedOperationException,),
    errors.MultipleMatchesError: (UnsupportedOperationException,),
}


def join_families() -> Callable[[], None]:
    """Every error of Lakebed becomes a `PySparkException` too; what it returns takes that back."""
    joined = [kind for kind in vars(errors).values() if _is_below_the_root(kind)]
    for kind in joined:
        kind.__bases__ = (errors.LakebedError, *_FAMILIES.get(kind, (PySparkException,)))

    def leave() -> None:
        for kind in joined:
            kind.__bases__ = (errors.LakebedError,)

    return leave


def _is_below_the_root(kind: object) -> bool:
    return isinstance(kind, type) and kind.__bases__ == (errors.LakebedError,)
