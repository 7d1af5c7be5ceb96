"""What survives the loss of power on a local disk: a choice, see docs/reliability.md.

A file survives once it is on disk (`fsync`) and so are the folders that lead to it. Object stores
answer only when that is so, and need no choice.
"""

from __future__ import annotations

import os
from enum import Enum

from lakebed.settings.setting_table import DURABILITY


class Durability(Enum):
    """The values are those of the storage option `durability`."""

    NONE = "none"
    """Whatever the operating system has written by then: a killed process loses nothing, either."""
    LOG = "log"
    """Commits and checkpoints. What they name may be lost where it was written just before."""
    ALL = "all"
    """Also whatever a commit names, before it is committed."""


DEFAULT = Durability.LOG
_LOG = "_delta_log/"
# Readers check these and do without them; syncing them would double the price of a commit.
_SPARE = (".crc", "/_last_checkpoint")


def is_of_log(path: str) -> bool:
    """Whether the table cannot be read without this object, or not as it was."""
    return path.startswith(_LOG) and not path.endswith(_SPARE)


def parse_durability(text: str) -> Durability:
    """ValueError if it is none of them."""
    return Durability(text.strip().lower())


def from_environment() -> Durability | None:
    """The environment's choice, where no option makes one."""
    chosen = DURABILITY.read_environment(os.environ)
    return None if chosen is None else Durability(chosen)
