"""Conflicts of commits as delta-spark's Python has them: a class for each, and none above them.

The drop-in shows them as `delta.exceptions`. A conflict that Lakebed raises is one of them too.
"""

from __future__ import annotations

from pyspark.errors import PySparkException

__all__ = [
    "ConcurrentAppendException",
    "ConcurrentDeleteDeleteException",
    "ConcurrentDeleteReadException",
    "ConcurrentTransactionException",
    "ConcurrentWriteException",
    "DeltaConcurrentModificationException",
    "MetadataChangedException",
    "ProtocolChangedException",
]


class DeltaConcurrentModificationException(PySparkException):
    """Another commit came first. In delta-spark the others are not of this class; all conflicts
    that Lakebed raises are."""


class ConcurrentWriteException(PySparkException):
    """Another commit wrote to the table after it was read."""


class MetadataChangedException(PySparkException):
    """Another commit changed the schema or the properties of the table."""


class ProtocolChangedException(PySparkException):
    """Another commit changed the protocol of the table."""


class ConcurrentAppendException(PySparkException):
    """Another commit added files that the operation would have read."""


class ConcurrentDeleteReadException(PySparkException):
    """Another commit removed files that the operation has read."""


class ConcurrentDeleteDeleteException(PySparkException):
    """Another commit removed files that the operation removes."""


class ConcurrentTransactionException(PySparkException):
    """Another commit has the same application transaction."""
