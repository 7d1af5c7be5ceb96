"""What a VACUUM did, or would do, as a value that shows itself in terminals and notebooks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import pyarrow as pa

from lakebed.commands.vacuum.vacuum_streams import BROKEN_SCHEMA
from lakebed.log.listing.commit_times import utc_text
from lakebed.spec.version_ranges import spans_of
from lakebed.storage.store import ObjectMeta

_HOUR = 3_600_000
_SHOWN_SPANS = 20
_TIME = pa.timestamp("ms", tz="UTC")
LOST_SCHEMA = pa.schema([("version", pa.int64()), ("timestamp", _TIME), ("until", _TIME)])
FILES_SCHEMA = pa.schema([("path", pa.string()), ("size", pa.int64()), ("modified", _TIME)])


@dataclass(frozen=True, repr=False)
class VacuumResult:
    """Of a dry run: what would happen. Otherwise: what has happened.

    `lost_versions` could be read before and cannot be read after: each with the time from which
    and until which it was the newest, null where that is not known. `unreadable_versions` has also
    those that were unreadable before, of all versions that the log can rebuild. `broken_streams`
    are those of the given checkpoints that cannot go on.
    """

    url: str
    dry_run: bool
    mode: str
    retention_ms: int
    cut_off_ms: int
    objects: tuple[ObjectMeta, ...]
    num_folders: int
    lost_versions: pa.Table
    unreadable_versions: tuple[int, ...]
    pins: Mapping[str, int]
    seconds: float
    broken_streams: pa.Table = field(default_factory=BROKEN_SCHEMA.empty_table)

    @property
    def num_files(self) -> int:
        return len(self.objects)

    @property
    def size_in_bytes(self) -> int:
        """What the files take, and so what is freed."""
        return sum(found.size for found in self.objects)

    @property
    def paths(self) -> list[str]:
        """The files, relative to the table."""
        return [found.path for found in self.objects]

    @property
    def files(self) -> pa.Table:
        return pa.Table.from_arrays(_columns(self.objects), schema=FILES_SCHEMA)

    def __repr__(self) -> str:
        lines = [f"{self._title()} {self.url}"]
        lines += [f"  {name:<14}{value}" for name, value in self._facts()]
        spans = self._spans()
        lines.append(f"  {self._loses():<14}{self._lost_text()}")
        if spans:
            lines += [f"    {line}" for line in _aligned([_HEAD, *spans])]
        broken = self._broken()
        if broken:
            verb = "would break" if self.dry_run else "broke"
            lines.append(f"  {verb:<14}{_counted(len(broken), 'stream')}")
            lines += [f"    {line}" for line in _aligned([_BROKEN_HEAD, *broken])]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        facts = [*self._facts(), (self._loses(), self._lost_text())]
        rows = "".join(f"<tr>{_cell(name, 'th')}{_cell(value)}</tr>" for name, value in facts)
        spans = self._spans()
        head = "".join(_cell(name, "th") for name in _HEAD)
        body = "".join(f"<tr>{''.join(map(_cell, span))}</tr>" for span in spans)
        lost = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return (
            f"<div><strong>{escape(self._title())}</strong> <code>{escape(self.url)}</code>"
            f"<table>{rows}</table>{lost if spans else ''}{self._broken_html()}</div>"
        )

    def _broken_html(self) -> str:
        broken = self._broken()
        head = "".join(_cell(name, "th") for name in _BROKEN_HEAD)
        body = "".join(f"<tr>{''.join(map(_cell, each))}</tr>" for each in broken)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return table if broken else ""

    def _broken(self) -> list[tuple[str, str, str]]:
        return [
            (row["checkpoint"], str(row["version"]), _missing(row))
            for row in self.broken_streams.to_pylist()
        ]

    def _title(self) -> str:
        return "VACUUM DRY RUN" if self.dry_run else "VACUUM"

    def _facts(self) -> list[tuple[str, str]]:
        verb = "would delete" if self.dry_run else "deleted"
        facts = [
            ("mode", self.mode),
            (
                "retention",
                f"{self.retention_ms / _HOUR:g} hours, from {utc_text(self.cut_off_ms)} on",
            ),
            (verb, f"{_counted(self.num_files, 'file')} ({_size(self.size_in_bytes)})"),
        ]
        if self.pins:
            named = (f"{name} = {version}" for name, version in sorted(self.pins.items()))
            facts.append(("pinned", ", ".join(named)))
        return facts

    def _loses(self) -> str:
        return "would lose" if self.dry_run else "lost"

    def _lost_text(self) -> str:
        count = self.lost_versions.num_rows
        if not count:
            return "no version"
        can = "could no longer" if self.dry_run else "can no longer"
        return f"{_counted(count, 'version')} that {can} be read"

    def _spans(self) -> list[tuple[str, str, str]]:
        times = {row["version"]: row for row in self.lost_versions.to_pylist()}
        spans = spans_of(times)
        rows = []
        for first, last in spans[:_SHOWN_SPANS]:
            name = str(first) if first == last else f"{first} to {last}"
            rows.append((name, _moment(times[first]["timestamp"]), _moment(times[last]["until"])))
        if len(spans) > _SHOWN_SPANS:
            rows.append((f"... and {len(spans) - _SHOWN_SPANS} more", "", ""))
        return rows


_HEAD = ("versions", "from", "until")
_BROKEN_HEAD = ("stream", "read up to", "lacks")


def lost_table(versions: Iterable[int], time_of: Callable[[int], int | None]) -> pa.Table:
    ordered = sorted(versions)
    starts = [time_of(version) for version in ordered]
    ends = [time_of(version + 1) for version in ordered]
    columns = [ordered, starts, ends]
    arrays = [
        pa.array(column, pa.int64()).cast(kind)
        for column, kind in zip(columns, LOST_SCHEMA.types, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=LOST_SCHEMA)


def _missing(row: Mapping[str, Any]) -> str:
    if row["was_broken"]:
        return "what was removed before"
    found = [_counted(row["files"], "file")] if row["files"] else []
    if row["change_files"]:
        found.append(f"{_counted(row['change_files'], 'file')} of the change feed")
    if row["commits"]:
        found.append("commits")
    return ", ".join(found)


def _columns(objects: Sequence[ObjectMeta]) -> list[pa.Array]:
    times = pa.array([found.modified_ms for found in objects], pa.int64())
    return [
        pa.array([found.path for found in objects], pa.string()),
        pa.array([found.size for found in objects], pa.int64()),
        times.cast(_TIME),
    ]


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _moment(value: object) -> str:
    return "not known" if value is None else f"{value:%Y-%m-%d %H:%M:%S} UTC"


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _size(size: int) -> str:
    amount = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"


def _cell(text: str, kind: str = "td") -> str:
    return f"<{kind} style='text-align:left'>{escape(text)}</{kind}>"
