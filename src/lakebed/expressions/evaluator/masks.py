"""Masks of files: true where something may hold, false where it cannot.

Null stands for not knowing, and so does None for all files together. Masks are only joined, never
inverted, so not knowing is as good as true at the end.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

# A boolean array with a value per file, a boolean scalar for all files, or None.
Mask = Any

NEVER = pa.scalar(False)


def all_of(*masks: Mask) -> Mask:
    """Where all may hold at once."""
    known = [each for each in masks if each is not None]
    return reduce(pc.and_kleene, known) if known else None


def any_of(*masks: Mask) -> Mask:
    """Where one of them may hold."""
    if any(each is None for each in masks):
        return None
    return reduce(pc.or_kleene, masks, NEVER)


def is_never(mask: Mask) -> bool:
    """Whether it is certain that it holds nowhere."""
    if mask is None or isinstance(mask, pa.Scalar):
        return mask is not None and mask.as_py() is False
    return not pc.any(pc.fill_null(mask, True), min_count=0).as_py()


def keep(mask: Mask, files: int) -> pa.BooleanArray:
    """The mask with a value for every file, true where nothing is known."""
    if mask is None:
        return pa.repeat(pa.scalar(True), files)
    if isinstance(mask, pa.Scalar):
        return pa.repeat(pa.scalar(mask.as_py() is not False), files)
    return pc.fill_null(mask, True)
