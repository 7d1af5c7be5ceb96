"""All ways to a table that a session has, in the order of the page `docs/apis.md`."""

from __future__ import annotations

import cases_delta_sql
import cases_delta_table
import cases_frames
import cases_python
import cases_refused
import cases_sql

CASES = [
    *cases_frames.CASES,
    *cases_sql.CASES,
    *cases_delta_sql.CASES,
    *cases_delta_table.CASES,
    *cases_python.CASES,
    *cases_refused.CASES,
]
