"""Whether a store keeps the promise of `put_if_absent`.

Some servers ignore the condition of a conditional put: each of two writers is told that its commit
was created, and the second one has overwritten the first. One question finds these: creating an
object that exists has to be refused. It is asked with an object of a fixed name, which stays. Where
an earlier process has left it, the question is one request, otherwise two, and there is nothing to
clean up that a killed process could leave behind.

A refusal proves that the store looks at the condition, not that it decides atomically between
requests that arrive at the same moment: no number of requests could prove that.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from lakebed.errors import (
    BucketNotFoundError,
    ObjectExistsError,
    StorageError,
    StoreCredentialsError,
    StoreNotSafeError,
)

CONTENT = b"Lakebed has to be refused when it creates this object again. It may be deleted.\n"
TRIES = 5
PAUSE_SECONDS = 0.1


def refuses_second_put(create: Callable[[], None]) -> bool:
    """Whether the store refuses to create an object that exists; `create` tries to.

    Raises the last error of the store if it never gives a definite answer.
    """
    created = 0
    for attempt in range(TRIES):
        try:
            create()
        except ObjectExistsError:
            return True
        except StoreNotSafeError:
            return False
        except (BucketNotFoundError, StoreCredentialsError):
            raise
        except StorageError:
            # The object may be there or not. The next answer is as good in either case.
            if attempt == TRIES - 1:
                raise
            time.sleep(PAUSE_SECONDS * 2**attempt)
            continue
        created += 1
        if created == 2:
            return False
    raise StorageError(
        "the store created an object once and then gave no definite answer",
        hint="Try again: the commit was not made.",
    )
