"""What the report says, as blocks that become Markdown and HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from suite.measures import LAKEBED, Results, Series, growth, ratio
from suite.report import figures, plots
from suite.report.table import by_measure, ratio_rows
from suite.report.targets import ahead, verdicts, why
from suite.tpch import QUERIES
from suite.workloads import tpch_load

NEAR = 1.02
"""A peer that is less ahead than this is even."""


@dataclass(frozen=True)
class Heading:
    text: str


@dataclass(frozen=True)
class Paragraph:
    text: str


@dataclass(frozen=True)
class Table:
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Plot:
    svg: str


Block = Heading | Paragraph | Table | Plot


def report(results: Results) -> list[Block]:
    return [
        *_beginning(results),
        *_where_behind(results),
        *_by_workload(results),
        *_growth(results),
        *_memory(results),
        *_times(results),
        *_failures(results),
        *_setting(results.about),
    ]


def _beginning(results: Results) -> list[Block]:
    about = results.about
    versions = ", ".join(
        f"{figures.PEERS[peer]} {version}"
        for peer, version in about.get("versions", {}).items()
        if peer != "parquet"
    )
    found = verdicts(results)
    missed = [each for each in found if not each.met]
    absent = [each for each in results.series if each.peer == "lakebed" and not each.samples]
    blocks: list[Block] = [
        Paragraph(
            f"Made by `./run bench{_flag(about)}` on {about['date']} in "
            f"{about.get('seconds', 0) / 60:.0f} minutes: "
            f"{about['cpu']}, {about['cores of each peer']} cores, Spark {about.get('spark')} with "
            f"{about['memory of each Spark']}; {versions}. All peers ran on this machine in this "
            "run, each in a process of its own, and took turns. Ratios are the result: the time "
            "of Lakebed by that of the peer, so below 1 Lakebed is faster. Times are medians."
        ),
        Paragraph(
            f"{len(found) - len(missed)} of {len(found)} comparisons with a target meet it."
            + (
                f" **{len(absent)} measures have no figure in this run**: they failed, or its "
                "time was over before them."
                if absent
                else ""
            )
            + (" Comparisons that do not:" if missed else "")
        ),
    ]
    if missed:
        rows = [
            [
                f"{each.ours.measure} {figures.size(each.ours)}".strip(),
                figures.PEERS[each.peer],
                figures.times(each.ratio),
                figures.times(each.most),
                each.word,
                why(each.ours, each.peer),
            ]
            for each in sorted(missed, key=lambda each: -each.ratio / each.most)
        ]
        blocks.append(Table(["work", "against", "ratio", "asked", "verdict", "why"], rows))
    for peer, reason in about.get("skipped", {}).items():
        blocks.append(Paragraph(f"{figures.PEERS[peer]} was skipped: {reason}"))
    return blocks


def _where_behind(results: Results) -> list[Block]:
    rows = [
        [
            f"{series.measure} {figures.size(series)}".strip(),
            figures.PEERS[peer],
            f"{value:.2f}",
            figures.seconds(series.median),
            why(series, peer, unknown=""),
        ]
        for series, peer, value in ahead(results)
        if value > NEAR and not series.measure.startswith("query ")
    ]
    title = Heading("Where a peer is ahead")
    if not rows:
        return [title, Paragraph("Nowhere in this run, single queries of TPC-H apart.")]
    return [
        title,
        Paragraph("By more than 2%, the farthest first; single queries of TPC-H are further down."),
        _without_empty(["work", "peer", "times as fast as Lakebed", "Lakebed", "why"], rows),
    ]


def _by_workload(results: Results) -> list[Block]:
    blocks: list[Block] = []
    headers, rows = ratio_rows(results)
    measures = {s.measure: s.workload for s in results.series if s.peer == LAKEBED}
    for name, (title, text) in figures.TITLES.items():
        mine = [row for row in rows if measures.get(row[0]) == name]
        if not mine:
            continue
        blocks += [Heading(title), Paragraph(text), _without_empty(headers, mine)]
        blocks += [Plot(svg) for svg in _plots(results, name)]
        if name == tpch_load.NAME:
            blocks += _queries(results)
    return blocks


def _queries(results: Results) -> list[Block]:
    headers, rows = ratio_rows(results, queries=True)
    scale = max((s.x or 0 for s in results.series if s.measure.startswith("query ")), default=0)
    rows = [row[:-2] for row in rows if row[1] == f"SF {scale:g}"]
    if not rows:
        return []
    return [
        Paragraph(f"The queries one by one, at scale factor {scale:g}:"),
        _without_empty(headers[:-2], rows),
        *(Plot(svg) for svg in _query_bars(results, scale)),
    ]


def _query_bars(results: Results, scale: float) -> list[str]:
    base = "parquet"
    names = [f"query {number}" for number in QUERIES]
    series = {}
    for peer in figures.peers_in(results):
        values = []
        for name in names:
            theirs = results.find(tpch_load.NAME, name, peer, scale)
            values.append(None if theirs is None else ratio(results, theirs, base))
        if peer != base and any(value is not None for value in values):
            series[peer] = values
    if not series:
        return []
    title = f"Queries at SF {scale:g}: time by that of raw Parquet on Spark (less is better)"
    return [plots.bars(title, [str(number) for number in QUERIES], series)]


def _plots(results: Results, workload: str) -> list[str]:
    """One for each measure that was made at several sizes."""
    found = []
    for (name, measure), each in results.measures().items():
        if name != workload or measure.startswith("query "):
            continue
        lines: dict[str, list[tuple[float, float]]] = {}
        for series in each:
            if series.x is not None and series.samples:
                lines.setdefault(series.peer, []).append((series.x, series.median))
        if len({x for points in lines.values() for x, _ in points}) > 1:
            found.append(plots.lines(measure, lines, x_label=each[0].axis or ""))
    return found


def _growth(results: Results) -> list[Block]:
    peers = figures.peers_in(results)
    rows = []
    for (_, measure), each in results.measures().items():
        if measure.startswith("query "):
            continue
        sizes = sorted({s.x for s in each if s.x})
        if len(sizes) < 2:
            continue
        cells = [_exponent([s for s in each if s.peer == peer]) for peer in peers]
        if not any(cells):
            continue
        rows.append([measure, f"{each[0].axis}: {sizes[0]:g} to {sizes[-1]:g}", *cells])
    if not rows:
        return []
    return [
        Heading("Growth"),
        Paragraph(
            "The exponent of time against size, fitted to the medians on logarithmic axes: 0 is "
            "the same time whatever the size, 1 is time in proportion. Where sizes are small, "
            "what every job costs anyway hides the growth."
        ),
        _without_empty(["work", "by", *(figures.PEERS[peer] for peer in peers)], rows),
    ]


def _exponent(series: Sequence[Series]) -> str:
    value = growth(series)
    return "" if value is None else f"{value:.2f}"


def _memory(results: Results) -> list[Block]:
    rows = []
    for each in results.memory:
        parts = {k: v for k, v in each.items() if k not in ("workload", "peer")}
        if not parts or not any(
            s.workload == each["workload"] and s.peer == each["peer"] and s.samples
            for s in results.series
        ):
            continue
        cells = [f"{parts[k] / 1e6:,.0f} MB" if k in parts else "" for k in ("python", "jvm")]
        title = figures.TITLES[each["workload"]][0]
        rows.append([title, figures.PEERS[each["peer"]], *cells])
    if not rows:
        return []
    return [
        Heading("Memory of the driver"),
        Paragraph(
            "The most that each process had resident during a workload. A JVM keeps what it once "
            "took, up to its limit."
        ),
        Table(["workload", "peer", "Python", "JVM"], rows),
    ]


def _times(results: Results) -> list[Block]:
    """The absolute times behind the ratios."""
    peers = figures.peers_in(results)
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for series in by_measure(results):
        if series.samples:
            row = cells.setdefault((series.measure, figures.size(series)), {})
            row[series.peer] = figures.with_spread(series)
    rows = [[*key, *(row.get(peer, "") for peer in peers)] for key, row in cells.items()]
    return [
        Heading("All times"),
        Paragraph("Medians, and the least and the most in parentheses."),
        _without_empty(["work", "size", *(figures.PEERS[peer] for peer in peers)], rows),
    ]


def _failures(results: Results) -> list[Block]:
    failed = [
        [f"{s.measure} {figures.size(s)}".strip(), figures.PEERS[s.peer], s.error]
        for s in results.series
        if s.error
    ]
    blocks: list[Block] = []
    if failed:
        blocks += [Heading("What failed"), Table(["work", "peer", "reason"], failed)]
    if results.problems:
        blocks.append(Heading("What did not go as it should"))
        blocks += [Paragraph(problem) for problem in results.problems]
    return blocks


def _setting(about: dict[str, Any]) -> list[Block]:
    rows = [
        [key, str(value)]
        for key, value in about.items()
        if key not in ("settings", "sizes", "versions", "skipped")
    ]
    rows += [[f"size: {key}", str(value)] for key, value in about.get("sizes", {}).items()]
    rows += [[f"setting: {key}", str(value)] for key, value in about.get("settings", {}).items()]
    return [Heading("Machine and settings"), Table(["", ""], rows)]


def _without_empty(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Columns that no row has anything in say nothing."""
    kept = [i for i in range(len(headers)) if any(row[i] for row in rows)]
    return Table([headers[i] for i in kept], [[row[i] for i in kept] for row in rows])


def _flag(about: dict[str, Any]) -> str:
    return "" if about["mode"] == "quick" else f" --{about['mode']}"
