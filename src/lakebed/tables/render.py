"""How a table shows itself: a few lines in a terminal, a small page in a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from lakebed.spec.actions import Protocol
from lakebed.spec.schema import StructField, StructType

_SHOWN_COLUMNS = 30


@dataclass(frozen=True)
class Facts:
    """What there is to say about a version of a table."""

    url: str
    version: int
    num_files: int
    size_in_bytes: int
    schema: StructType
    partition_columns: Sequence[str]
    properties: Mapping[str, str]
    protocol: Protocol
    name: str | None
    description: str | None

    def lines(self) -> list[tuple[str, str]]:
        """Names and values, without those that are empty."""
        protocol = self.protocol
        features = sorted({*(protocol.reader_features or ()), *(protocol.writer_features or ())})
        versions = f"reader {protocol.min_reader_version}, writer {protocol.min_writer_version}"
        found = [
            ("version", str(self.version)),
            ("files", f"{self.num_files:,} ({size_text(self.size_in_bytes)})"),
            ("partitions", ", ".join(self.partition_columns)),
            ("protocol", versions),
            ("features", ", ".join(features)),
            ("properties", ", ".join(f"{k}={v}" for k, v in sorted(self.properties.items()))),
            ("name", self.name or ""),
            ("description", self.description or ""),
        ]
        return [(name, value) for name, value in found if value]

    def flags(self, field: StructField) -> str:
        flags = [] if field.nullable else ["not null"]
        if field.name in self.partition_columns:
            flags.append("partition")
        return ", ".join(flags)


def table_text(facts: Facts) -> str:
    lines = [f"Delta table {facts.url}", *(f"  {name:<12}{value}" for name, value in facts.lines())]
    lines.append("  columns")
    shown = facts.schema.fields[:_SHOWN_COLUMNS]
    width = max((len(field.name) for field in shown), default=0)
    for field in shown:
        line = f"    {field.name:<{width}}  {field.data_type}  {facts.flags(field)}"
        lines.append(line.rstrip())
    hidden = len(facts.schema.fields) - len(shown)
    if hidden:
        lines.append(f"    ... and {hidden} more")
    return "\n".join(lines)


def table_html(facts: Facts) -> str:
    head = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th>{_cell(value)}</tr>"
        for name, value in facts.lines()
    )
    rows = "".join(
        f"<tr>{_cell(field.name)}{_cell(str(field.data_type))}{_cell(facts.flags(field))}</tr>"
        for field in facts.schema.fields
    )
    return (
        f"<div><strong>Delta table</strong> <code>{escape(facts.url)}</code>"
        f"<table>{head}</table>"
        "<table><thead><tr><th style='text-align:left'>column</th>"
        "<th style='text-align:left'>type</th><th></th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def size_text(size: int) -> str:
    amount = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"


def _cell(text: str) -> str:
    return f"<td style='text-align:left'>{escape(text)}</td>"
