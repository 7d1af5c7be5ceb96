"""Damages the log of a table and looks at it, again and again: run by `test_mutated_log.py`.

    python foreign_damage.py FOLDER EXAMPLES

Prints how many damaged logs gave an answer. Ends with a traceback on any error that is not
Lakebed's, which includes running out of the memory that it is allowed.
"""

from __future__ import annotations

import faulthandler
import resource
import sys
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mutations import Accident, Refusal, accidents, log_files, look_at_damage

# Address space, of which Arrow's allocator and threads reserve far more than they use.
MEMORY = 8 * 2**30


def main(folder: str, examples: int) -> None:
    files = log_files(Path(folder))
    answers = 0

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(number=st.integers(0, 1000), accident=accidents, probes=st.booleans())
    def look_again(number: int, accident: Accident, probes: bool) -> None:
        nonlocal answers
        file = files[number % len(files)]
        found = look_at_damage(Path(folder), file, files, accident, probes=probes)
        answers += any(not isinstance(seen, Refusal) for seen in found.values())

    look_again()
    print(answers)


if __name__ == "__main__":
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    main(sys.argv[1], int(sys.argv[2]))
