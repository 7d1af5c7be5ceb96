"""Conflicts of commits under the names that delta-spark has for them.

These are Lakebed's own errors: `except ConcurrentAppendException` catches what Lakebed raises. Each
is a `lakebed.LakebedError`, with the commit that came first and what to do next.
"""

from lakebed.errors import ConcurrentAppendError as ConcurrentAppendException
from lakebed.errors import ConcurrentDeleteDeleteError as ConcurrentDeleteDeleteException
from lakebed.errors import ConcurrentDeleteReadError as ConcurrentDeleteReadException
from lakebed.errors import ConcurrentTransactionError as ConcurrentTransactionException
from lakebed.errors import ConcurrentWriteError as ConcurrentWriteException
from lakebed.errors import ConflictError as DeltaConcurrentModificationException
from lakebed.errors import MetadataChangedError as MetadataChangedException
from lakebed.errors import ProtocolChangedError as ProtocolChangedException

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
