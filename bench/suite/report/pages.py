"""The report as Markdown and as a page of HTML with plots, made from the figures of a run."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

from suite.measures import Results
from suite.report import figures
from suite.report.content import Block, Heading, Paragraph, Plot, Table, report

TITLE = "Benchmarks beside the peers"
COLOURS = {
    "lakebed": "#0b7285",
    "parquet": "#868e96",
    "delta-spark": "#e8590c",
    "deltalake": "#5f3dc4",
    "duckdb": "#e0a800",
    "polars": "#2b8a3e",
}
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 1040px; padding: 0 1rem;
  color: #212529; background: #fff; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.2rem; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 13px; display: block;
  overflow-x: auto; }
th, td { text-align: left; padding: .25rem .7rem; border-bottom: 1px solid #dee2e6; }
th { white-space: nowrap; } tr:hover td { background: #f1f3f5; }
td.missed { color: #c92a2a; font-weight: 600; } td.met { color: #2b8a3e; }
svg { max-width: 100%; height: auto; margin: .4rem .6rem .4rem 0; }
svg .title { font: 600 13px system-ui, sans-serif; } svg .tick, svg .label { font: 11px system-ui; }
svg text { fill: #343a40; } .grid { stroke: #e9ecef; } .axis { stroke: #868e96; }
.one { stroke: #212529; stroke-dasharray: 4 3; } .line { fill: none; stroke-width: 2; }
.key span { display: inline-block; margin-right: 1rem; }
.key i { display: inline-block; width: .8em; height: .8em; margin-right: .3em; }
"""


def write_pages(file: Path, docs: Path) -> list[Path]:
    """Beside each other in the folder of docs, under a name that tells the mode."""
    results = Results.from_json(json.loads(file.read_text(encoding="utf-8")))
    mode = results.about["mode"]
    name = "benchmarks" if mode == "quick" else f"benchmarks_{mode}"
    blocks = report(results)
    docs.mkdir(parents=True, exist_ok=True)
    pages = docs / f"{name}.md", docs / f"{name}.html"
    text = markdown(blocks, f"{name}.html", _other_run(mode, docs))
    pages[0].write_text(text, encoding="utf-8")
    pages[1].write_text(page(blocks, figures.peers_in(results)), encoding="utf-8")
    return list(pages)


def _other_run(mode: str, docs: Path) -> str:
    """A sentence about the page of the other run, if there is one."""
    if mode == "full" and (docs / "benchmarks.md").exists():
        return " The run of minutes: [benchmarks.md](benchmarks.md)."
    if mode == "quick" and (docs / "benchmarks_full.md").exists():
        return (
            " A longer run with larger tables, up to a million files: "
            "[benchmarks_full.md](benchmarks_full.md)."
        )
    return ""


def markdown(blocks: list[Block], plots: str, other_run: str = "") -> str:
    parts = [
        f"# {TITLE}",
        f"[The same with plots]({plots}). This page is made by a command: do not edit it. "
        f"Single benchmarks, with more detail: [benchmarks_single.md](benchmarks_single.md)."
        f"{other_run}",
    ]
    for block in blocks:
        if isinstance(block, Heading):
            parts.append(f"## {block.text}")
        elif isinstance(block, Paragraph):
            parts.append(block.text)
        elif isinstance(block, Table):
            parts.append(_markdown_table(block))
    return "\n\n".join(parts) + "\n"


def page(blocks: list[Block], peers: list[str]) -> str:
    colours = "".join(
        f".line.{name} {{ stroke: {colour}; }} .dot.{name}, .bar.{name} {{ fill: {colour}; }}\n"
        for name, colour in COLOURS.items()
    )
    key = "".join(
        f'<span><i style="background:{COLOURS[peer]}"></i>{figures.PEERS[peer]}</span>'
        for peer in peers
    )
    body, has_key = [f"<h1>{TITLE}</h1>"], False
    for block in blocks:
        if isinstance(block, Plot) and not has_key:
            body.append(f'<p class="key">{key}</p>')
        has_key = isinstance(block, Plot)
        body.append(_html(block))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{TITLE}</title>\n'
        f"<style>{STYLE}{colours}</style></head><body>\n" + "\n".join(body) + "\n</body></html>\n"
    )


def _html(block: Block) -> str:
    if isinstance(block, Heading):
        return f"<h2>{html.escape(block.text)}</h2>"
    if isinstance(block, Paragraph):
        text = re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(block.text))
        return f"<p>{text}</p>"
    if isinstance(block, Plot):
        return block.svg
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in block.headers)
    rows = "\n".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in block.rows)
    return f"<table><tr>{head}</tr>\n{rows}</table>"


def _cell(text: str) -> str:
    word = next((word for word in ("missed", "met") if text.startswith(word)), "")
    marked = f' class="{word}"' if word else ""
    return f"<td{marked}>{html.escape(text)}</td>"


def _markdown_table(table: Table) -> str:
    rows = [table.headers, ["---"] * len(table.headers), *table.rows]
    return "\n".join("| " + " | ".join(_plain(cell) for cell in row) + " |" for row in rows)


def _plain(cell: str) -> str:
    """No cell may end its row or its column, or be a link."""
    return re.sub(r"\s+", " ", cell).replace("|", "\\|").replace("](", "] (")
