"""What a commit says about itself in the history of the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Operation:
    """`name` and `parameters` as delta-spark has them: `Operation("WRITE", {"mode": "Append"})`.

    `changes_data` says what the operation is for, whatever this commit of it happens to do.
    `drops_features` allows a protocol with fewer features than the table has. `appends` is false
    where adding files is not an append, whatever the commit has read.
    """

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    changes_data: bool = True
    metrics: Mapping[str, Any] = field(default_factory=dict)
    user_metadata: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    drops_features: bool = False
    appends: bool = True
