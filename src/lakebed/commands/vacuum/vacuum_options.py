"""What a VACUUM is asked to do, and the settings of delta-spark that say the same."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lakebed.arrow.write.incoming import to_arrow_table
from lakebed.commands.vacuum.vacuum_streams import KnownStream
from lakebed.errors import InvalidArgumentError
from lakebed.settings.setting_table import RETENTION_CHECK, VACUUM_LITE, VACUUM_LOGGING
from lakebed.spec.properties import TableProperties

MODES = ("full", "lite")
_HOUR = 3_600_000
INVENTORY_COLUMNS = ("path", "length", "isDir", "modificationTime")


@dataclass(frozen=True)
class VacuumOptions:
    """`record` writes VACUUM START and VACUUM END commits, as delta-spark's logging does."""

    retention_hours: float | None = None
    dry_run: bool = False
    mode: str = "full"
    inventory: pa.Table | None = None
    enforce_retention: bool = True
    record: bool = True
    streams: tuple[KnownStream, ...] = ()
    """For the report: VACUUM keeps nothing for them."""

    @classmethod
    def of(cls, *, inventory: Any = None, **values: Any) -> VacuumOptions:
        """Checked: a wrong value changes nothing."""
        options = cls(**values, inventory=None if inventory is None else _inventory(inventory))
        mode = options.mode.lower() if isinstance(options.mode, str) else options.mode
        if mode not in MODES:
            raise InvalidArgumentError(
                f"mode={options.mode!r} is no mode of VACUUM", hint="give 'full' or 'lite'"
            )
        if mode == "lite" and inventory is not None:
            raise InvalidArgumentError(
                "VACUUM LITE takes its files from the log, not from an inventory",
                hint="leave out the mode or the inventory",
            )
        _check_hours(options.retention_hours)
        return cls(**{**vars(options), "mode": mode})


@dataclass(frozen=True)
class Retention:
    """How long files are kept after they were removed from the table, in milliseconds."""

    default_ms: int
    specified_ms: int | None = None

    @property
    def ms(self) -> int:
        return self.default_ms if self.specified_ms is None else self.specified_ms


def retention_of(options: VacuumOptions, properties: TableProperties) -> Retention:
    """By the argument or the table; an error if it is shorter than the table's own.

    Writers rely on the table's retention: a file that is written but not committed yet has only
    its age to protect it.
    """
    default = properties.deleted_file_retention_ms
    if options.retention_hours is None:
        return Retention(default)
    specified = round(options.retention_hours * _HOUR)
    if options.enforce_retention and specified < default:
        hours = -(-default // _HOUR)
        raise InvalidArgumentError(
            f"a retention of {options.retention_hours:g} hours is shorter than the table's "
            f"delta.deletedFileRetentionDuration, {hours} hours; files that are being written "
            "might be deleted",
            hint=f"give at least {hours} hours or, if nobody writes to the table now, turn the "
            f"check off: enforce_retention=False, or {RETENTION_CHECK.name} = false on Spark",
            condition="DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT",
        )
    return Retention(default, specified)


def settings_of(configuration: Mapping[str, str]) -> dict[str, Any]:
    """The options that the settings of a Spark session stand for."""
    return {
        "enforce_retention": RETENTION_CHECK.read(configuration),
        "record": VACUUM_LOGGING.read(configuration),
        "mode": "lite" if VACUUM_LITE.read(configuration) else "full",
    }


def _check_hours(hours: Any) -> None:
    if hours is None:
        return
    is_number = isinstance(hours, int | float) and not isinstance(hours, bool)
    if not is_number or not math.isfinite(hours) or hours < 0:
        raise InvalidArgumentError(
            f"{hours!r} is no retention",
            hint="give a number of hours from 0 on, such as 168",
            condition="DELTA_VACUUM_RETENTION_PERIOD_NEGATIVE",
        )


def _inventory(data: Any) -> pa.Table:
    table = to_arrow_table(data)
    missing = [name for name in INVENTORY_COLUMNS if name not in table.column_names]
    if missing:
        raise InvalidArgumentError(
            f"the inventory has no column {', '.join(missing)}",
            hint="its columns are path (a URI), length, isDir and modificationTime (milliseconds)",
            condition="DELTA_INVALID_INVENTORY_SCHEMA",
        )
    try:
        return pa.table(
            [table.column(name).cast(kind) for name, kind in _INVENTORY_SCHEMA.items()],
            names=list(_INVENTORY_SCHEMA),
        )
    except pa.ArrowException as error:
        raise InvalidArgumentError(
            f"the inventory has a column of another type: {error}",
            hint="path is text, length and modificationTime are whole numbers, isDir is a boolean",
        ) from error


_INVENTORY_SCHEMA = {
    "path": pa.string(),
    "length": pa.int64(),
    "isDir": pa.bool_(),
    "modificationTime": pa.int64(),
}
