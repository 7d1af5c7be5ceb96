"""How a table shows itself: a few lines in a terminal, a small page in a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lakebed.tables.table import Table

_SHOWN_COLUMNS = 30


def table_text(table: Table) -> str:
    lines = [f"Delta table {table.url}", *(f"  {name:<12}{value}" for name, value in facts(table))]
    lines.append("  columns")
    shown = table.schema.fields[:_SHOWN_COLUMNS]
    width = max((len(field.name) for field in shown), default=0)
    for field in shown:
        lines.append(f"    {field.name:<{width}}  {field.data_type}{_flags(table, field.name)}")
    hidden = len(table.schema.fields) - len(shown)
    if hidden:
        lines.append(f"    ... and {hidden} more")
    return "\n".join(lines)


def table_html(table: Table) -> str:
    head = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th>"
        f"<td style='text-align:left'>{escape(value)}</td></tr>"
        for name, value in facts(table)
    )
    rows = "".join(
        f"<tr><td style='text-align:left'>{escape(field.name)}</td>"
        f"<td style='text-align:left'>{escape(str(field.data_type))}</td>"
        f"<td style='text-align:left'>{escape(_flags(table, field.name).strip())}</td></tr>"
        for field in table.schema.fields
    )
    return (
        f"<div><strong>Delta table</strong> <code>{escape(table.url)}</code>"
        f"<table>{head}</table>"
        "<table><thead><tr><th style='text-align:left'>column</th>"
        "<th style='text-align:left'>type</th><th></th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def facts(table: Table) -> list[tuple[str, str]]:
    protocol = table.protocol
    features = sorted({*(protocol.reader_features or ()), *(protocol.writer_features or ())})
    found = [
        ("version", str(table.version)),
        ("files", f"{table.num_files:,} ({size_text(table.size_in_bytes)})"),
        ("partitions", ", ".join(table.partition_columns)),
        ("protocol", f"reader {protocol.min_reader_version}, writer {protocol.min_writer_version}"),
        ("features", ", ".join(features)),
        ("properties", ", ".join(f"{k}={v}" for k, v in sorted(table.properties.items()))),
        ("name", table.name or ""),
        ("description", table.description or ""),
    ]
    return [(name, value) for name, value in found if value]


def size_text(size: int) -> str:
    amount = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"


def _flags(table: Table, name: str) -> str:
    field = table.schema.field(name)
    flags = [] if field.nullable else ["not null"]
    if field.name in table.partition_columns:
        flags.append("partition")
    return f"  {', '.join(flags)}" if flags else ""
