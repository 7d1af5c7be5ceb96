"""The table of ratios that a run prints."""

from __future__ import annotations

from suite.measures import LAKEBED, Results, Series, ratio
from suite.report import figures
from suite.report.targets import verdicts


def ratio_rows(results: Results, *, queries: bool = False) -> tuple[list[str], list[list[str]]]:
    """Headers and rows: one for each measure at each size. Single queries only when asked for."""
    others = [peer for peer in figures.peers_in(results) if peer != LAKEBED]
    headers = ["work", "size", "Lakebed", *(f"/ {figures.PEERS[peer]}" for peer in others)]
    headers += ["asked", "verdict"]
    judged: dict[int, list[str]] = {}
    asked: dict[int, list[str]] = {}
    for verdict in verdicts(results):
        judged.setdefault(id(verdict.ours), []).append(verdict.word)
        bound = f"{figures.times(verdict.most)} of {figures.PEERS[verdict.peer]}"
        asked.setdefault(id(verdict.ours), []).append(bound)
    rows = []
    for series in by_measure(results):
        if series.peer != LAKEBED or series.measure.startswith("query ") != queries:
            continue
        if not series.samples:
            rows.append([series.measure, figures.size(series), f"failed: {series.error}"])
            rows[-1] += [""] * (len(headers) - 3)
            continue
        ratios = [ratio(results, series, peer) for peer in others]
        told = [_told(results, series, p, r) for p, r in zip(others, ratios, strict=True)]
        row = [series.measure, figures.size(series), figures.seconds(series.median), *told]
        row += ["; ".join(asked.get(id(series), [])), "; ".join(judged.get(id(series), []))]
        rows.append(row)
    return headers, rows


def by_measure(results: Results) -> list[Series]:
    """In the order in which measures came first, and by size within each."""
    first = list(results.measures())
    return sorted(
        results.series, key=lambda each: (first.index((each.workload, each.measure)), each.x or 0)
    )


def ratio_table(results: Results) -> str:
    """As text: times are Lakebed's, ratios are Lakebed's time by that of the peer."""
    headers, rows = ratio_rows(results)
    widths = [max(len(row[i]) for row in [headers, *rows]) for i in range(len(headers))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [headers, *rows]
    ]
    title = "Time of Lakebed by the time of each peer: below 1 Lakebed is faster"
    problems = [f"PROBLEM: {problem}" for problem in results.problems]
    return "\n".join([title, "", *lines, *problems])


def _told(results: Results, series: Series, peer: str, value: float | None) -> str:
    if value is not None:
        return figures.times(value)
    failed = [s for s in results.series if s.key == series.key and s.peer == peer and s.error]
    return "failed" if failed else ""
