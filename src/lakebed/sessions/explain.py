"""`lakebed.explain_scan`: what a query reads of its Delta tables, as a text or a small page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from pyspark.sql import DataFrame

from lakebed.errors import InvalidArgumentError
from lakebed.spark.internals import jvm as internals
from lakebed.spark.read.scan_reports import Predicate, ScanReport, scan_reports
from lakebed.tables.render import size_text


def explain_scan(df: DataFrame) -> ScanExplanation:
    """Says which files of Delta tables the DataFrame would read, and which it leaves out and why.

    Nothing is run. There is a report for each scan in the plan, in the order of the plan; print it,
    show it in a notebook, or use its fields.
    """
    if not isinstance(df, DataFrame) or not internals.is_classic(df.sparkSession):
        raise InvalidArgumentError(
            f"{type(df).__name__} is not a DataFrame of a session with a JVM of its own",
            hint="give the DataFrame of a classic, not a Spark Connect, application",
        )
    if df.isStreaming:
        raise InvalidArgumentError(
            "a stream has no scan before it runs",
            hint="explain the DataFrame that foreachBatch gives, or a batch read of the table",
        )
    return ScanExplanation(tuple(scan_reports(df)))


@dataclass(frozen=True, repr=False)
class ScanExplanation:
    """The scans of Delta tables in a plan. As text it is what a terminal shows."""

    scans: tuple[ScanReport, ...]

    def __len__(self) -> int:
        return len(self.scans)

    def __iter__(self) -> Iterator[ScanReport]:
        return iter(self.scans)

    def __getitem__(self, place: int) -> ScanReport:
        return self.scans[place]

    def __repr__(self) -> str:
        return "\n\n".join(map(_text, self.scans)) or _NOTHING

    def _repr_html_(self) -> str:
        shown = "".join(map(_html, self.scans))
        return shown or f"<div>{escape(_NOTHING)}</div>"


_NOTHING = (
    "No scan of a Delta table: the plan has none, or its answer is in the log of the table already."
)


def _facts(scan: ScanReport) -> list[tuple[str, str]]:
    """Names and values, without those that say nothing."""
    dynamic = ", or fewer: a filter is known only when the query runs" if scan.is_dynamic else ""
    found = [
        ("files", f"{scan.files_read:,} of {scan.files_listed:,} read{dynamic}"),
        ("", _counted(scan.files_pruned_by_partition, "pruned by partition")),
        ("", _counted(scan.files_skipped_by_statistics, "skipped by statistics")),
        ("", _counted(scan.files_with_deletion_vectors, "with a deletion vector")),
        ("bytes", f"{size_text(scan.bytes_read)} of {size_text(scan.bytes_total)}"),
        ("rows", _rows(scan)),
        ("columns", ", ".join(scan.columns_read) or "none"),
        ("row groups", " and ".join(scan.row_group_filters)),
    ]
    return [(name, value) for name, value in found if value]


def _counted(files: int, what: str) -> str:
    return f"{files:,} {what}" if files else ""


def _rows(scan: ScanReport) -> str:
    known = (scan.rows_read, scan.rows_total)
    read, total = ("unknown" if each is None else f"{each:,}" for each in known)
    return f"{read} of {total} in these files" if known != (None, None) else ""


def _effect(predicate: Predicate) -> str:
    """What a predicate did, in a few words."""
    spared = predicate.files_spared
    if spared is None:
        return predicate.note
    files = (
        f"leaves out {spared:,} files" if spared > 1 else f"leaves out {('no', 'one')[spared]} file"
    )
    return f"{files}: {predicate.note}" if predicate.note else files


def _text(scan: ScanReport) -> str:
    lines = [f"Delta scan of {scan.table}, version {scan.version}"]
    lines += [f"  {name:<12}{value}" for name, value in _facts(scan)]
    if scan.predicates:
        lines.append("  predicates")
    for each in scan.predicates:
        lines.append(f"    {_KINDS[each.kind]:<12}{each.sql}")
        lines.append(f"    {'':<12}  {_effect(each)}")
    return "\n".join(lines)


def _html(scan: ScanReport) -> str:
    facts = "".join(
        f"<tr><th style='{_LEFT}'>{escape(name)}</th>{_cell(value)}</tr>"
        for name, value in _facts(scan)
    )
    predicates = "".join(
        f"<tr>{_cell(_KINDS[each.kind])}<td style='{_LEFT}'><code>{escape(each.sql)}</code></td>"
        f"{_cell(_effect(each))}</tr>"
        for each in scan.predicates
    )
    header = "".join(f"<th style='{_LEFT}'>{name}</th>" for name in ("by", "predicate", "effect"))
    table = f"<table><thead><tr>{header}</tr></thead><tbody>{predicates}</tbody></table>"
    return (
        f"<div><strong>Delta scan</strong> <code>{escape(scan.table)}</code> "
        f"version {scan.version}{_bar(scan)}<table>{facts}</table>"
        f"{table if predicates else ''}</div>"
    )


def _bar(scan: ScanReport) -> str:
    """The files as a strip: what is read is dark."""
    total = scan.files_listed or 1
    parts = [
        (scan.files_read, "#1f6feb", "read"),
        (scan.files_skipped_by_statistics, "#a5d0ff", "skipped by statistics"),
        (scan.files_pruned_by_partition, "#e3e8ee", "pruned by partition"),
    ]
    strips = "".join(
        f"<div title='{files:,} {name}' style='width:{100 * files / total:.2f}%;"
        f"background:{colour}'></div>"
        for files, colour, name in parts
    )
    return f"<div style='display:flex;width:24em;height:.6em;margin:.4em 0'>{strips}</div>"


def _cell(text: str) -> str:
    return f"<td style='{_LEFT}'>{escape(text)}</td>"


_LEFT = "text-align:left"
_KINDS = {
    "partition": "partition",
    "statistics": "statistics",
    "dynamic": "dynamic",
    "rows": "rows only",
}
