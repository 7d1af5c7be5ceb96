"""The findings about a table, as a value that shows itself in terminals and notebooks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

import pyarrow as pa

from lakebed.commands.health.finding import Finding, Severity, counted, size_text
from lakebed.errors import InvalidArgumentError

_WIDTH = 100
_MARKS = {
    Severity.OK: ("ok", "green", "#1a7f37"),
    Severity.INFO: ("info", "cyan", "#0969da"),
    Severity.WARNING: ("warning", "yellow", "#9a6700"),
    Severity.PROBLEM: ("problem", "bold red", "#cf222e"),
}
SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("severity", pa.string()),
        ("message", pa.string()),
        ("mend", pa.string()),
        ("numbers", pa.map_(pa.string(), pa.float64())),
    ]
)


@dataclass(frozen=True, repr=False)
class Health:
    """What was looked at, the worst first. `health["small files"]` is one of the findings."""

    url: str
    version: int
    num_files: int
    size_in_bytes: int
    findings: tuple[Finding, ...]

    @property
    def severity(self) -> Severity:
        """That of the worst finding."""
        return max((each.severity for each in self.findings), key=lambda each: each.rank)

    def __getitem__(self, topic: str) -> Finding:
        found = next((each for each in self.findings if each.topic == topic), None)
        if found is None:
            topics = ", ".join(each.topic for each in self.findings)
            raise InvalidArgumentError(f"nothing is known about {topic!r}", hint=f"try: {topics}")
        return found

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def to_arrow(self) -> pa.Table:
        """One row for each finding."""
        rows = [
            {
                "topic": each.topic,
                "severity": each.severity.value,
                "message": each.message,
                "mend": each.mend,
                "numbers": [(name, float(value)) for name, value in each.numbers.items()],
            }
            for each in self.findings
        ]
        return pa.Table.from_pylist(rows, schema=SCHEMA)

    def __repr__(self) -> str:
        lines = [f"Health of {self.url}", f"  {self._facts()}"]
        width = max(len(each.topic) for each in self.findings)
        for each in self.findings:
            lead = f"  {_MARKS[each.severity][0]:<8}{each.topic:<{width}}  "
            lines += _wrapped(lead, each.message)
            if each.mend is not None:
                lines += _wrapped(f"{' ' * (len(lead) - 3)}-> ", each.mend)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(_html_row(each) for each in self.findings)
        heads = "".join(f"<th style='text-align:left'>{head}</th>" for head in _HEADS)
        return (
            f"<div><strong>Health of</strong> <code>{escape(self.url)}</code>"
            f"<div>{escape(self._facts())}</div>"
            f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
        )

    def __rich__(self) -> Any:
        """For rich's console, which alone calls this: who has no rich needs none."""
        from rich.table import Table
        from rich.text import Text

        table = Table(title=f"Health of {self.url}", caption=self._facts(), show_lines=True)
        for head in _HEADS:
            table.add_column(head, overflow="fold")
        for each in self.findings:
            mark, colour, _ = _MARKS[each.severity]
            cells = (each.topic, each.message, each.mend or "")
            table.add_row(Text(mark, style=colour), *map(Text, cells))
        return table

    def _facts(self) -> str:
        files = counted(self.num_files, "file")
        return f"version {self.version}, {files}, {size_text(self.size_in_bytes)}"


_HEADS = ("", "what", "found", "mend")


def _html_row(finding: Finding) -> str:
    mark, _, colour = _MARKS[finding.severity]
    mend = f"<code>{escape(finding.mend)}</code>" if finding.mend else ""
    cells = (
        f"<strong style='color:{colour}'>{mark}</strong>",
        escape(finding.topic),
        escape(finding.message),
        mend,
    )
    style = "text-align:left;vertical-align:top;white-space:normal"
    return f"<tr>{''.join(f'<td style={style!r}>{cell}</td>' for cell in cells)}</tr>"


def _wrapped(lead: str, text: str) -> list[str]:
    """The text after the lead, wrapped to the width of a terminal and aligned."""
    lines, line = [], lead
    for word in text.split():
        if len(line) + len(word) > _WIDTH and len(line) > len(lead):
            lines.append(line.rstrip())
            line = " " * len(lead)
        line += f"{word} "
    return [*lines, line.rstrip()]
