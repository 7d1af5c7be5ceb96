"""The pages of the benchmark suite, from a handful of figures."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from suite.cli import PARTS, WORKLOADS
from suite.measures import Results, Series
from suite.report import targets
from suite.report.pages import write_pages
from suite.report.table import ratio_table
from suite.report.targets import most_allowed, verdicts, why
from suite.tpch import QUERIES, query_text
from suite.workloads import many_files, small_commits, streaming, tpch_load

ABOUT = {
    "date": "2026-01-31 12:00 UTC",
    "mode": "quick",
    "cpu": "a processor",
    "cores of each peer": 2,
    "memory of each Spark": "3g",
    "versions": {"lakebed": "0.1", "delta-spark": "4.4.0"},
    "skipped": {"polars": "it is not installed"},
}


@pytest.fixture
def results() -> Results:
    results = Results(dict(ABOUT))
    tpch, files = tpch_load.NAME, many_files.NAME
    results.of(tpch, tpch_load.TOTAL, "lakebed", axis="scale factor", x=1).samples = [12.0]
    results.of(tpch, tpch_load.TOTAL, "parquet", axis="scale factor", x=1).samples = [10.0]
    for number in QUERIES:
        for peer, seconds in (("lakebed", 2.0), ("parquet", 1.0)):
            name = f"query {number}"
            results.of(tpch, name, peer, axis="scale factor", x=1).samples = [seconds]
    for count in (1_000, 10_000):
        for peer, seconds in (("lakebed", 0.01), ("delta-spark", count / 1_000)):
            series = results.of(files, many_files.LIST, peer, axis="files", x=count)
            series.samples = [seconds, seconds * 1.1]
    results.of(files, many_files.ARROW_LIST, "lakebed", axis="files", x=1_000).samples = [0.03]
    results.of(files, many_files.ARROW_LIST, "deltalake", axis="files", x=1_000).samples = [0.01]
    for count in (10, 100):
        failed = results.of(small_commits.NAME, small_commits.APPEND, "lakebed", axis="c", x=count)
        failed.error = "it | broke"
    results.memory.append({"workload": files, "peer": "lakebed", "python": 5e6, "jvm": 7e6})
    results.problems.append("answers differ")
    return results


@pytest.fixture
def pages(results: Results, tmp_path: Path) -> tuple[str, str]:
    file = tmp_path / "quick.json"
    file.write_text(json.dumps(results.to_json()))
    written = write_pages(file, tmp_path / "docs")
    assert [page.name for page in written] == ["benchmarks.md", "benchmarks.html"]
    markdown, page = (page.read_text(encoding="utf-8") for page in written)
    return markdown, page


def test_the_pages_of_both_runs_name_each_other(results: Results, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    for mode in ("quick", "full", "quick"):
        results.about["mode"] = mode
        file = tmp_path / f"{mode}.json"
        file.write_text(json.dumps(results.to_json()))
        write_pages(file, docs)
    assert "(benchmarks_full.md)" in (docs / "benchmarks.md").read_text(encoding="utf-8")
    assert "(benchmarks.md)" in (docs / "benchmarks_full.md").read_text(encoding="utf-8")


def test_targets_are_judged_against_the_peer_that_they_name(results: Results) -> None:
    found = {(each.ours.measure, each.peer): each for each in verdicts(results)}
    total = found[tpch_load.TOTAL, "parquet"]
    assert not total.met
    assert total.word == "missed by 14%"
    assert found[many_files.LIST, "delta-spark"].met
    assert (many_files.ARROW_LIST, "deltalake") not in found


@pytest.mark.parametrize(
    ("measure", "peer", "most"),
    [
        (streaming.SMALL, "delta-spark", 0.7),
        (streaming.LARGE, "parquet", 1.05),
        (streaming.FIRST, "delta-spark", 0.2),
        (streaming.CATCH_UP, "delta-spark", 0.2),
    ],
)
def test_streams_have_targets_of_their_own(measure: str, peer: str, most: float) -> None:
    assert most_allowed(Series(streaming.NAME, measure, "lakebed"))[peer] == pytest.approx(most)


def test_the_page_tells_what_is_missed_and_where_a_peer_is_ahead(pages: tuple[str, str]) -> None:
    for page in pages:
        assert "missed by 14%" in page
        behind = page[page.index("Where a peer is ahead") :]
        assert behind.index("3.00") < behind.index("1.20")
        assert "deltalake" in behind


def test_the_page_tells_what_failed_or_was_left_out(pages: tuple[str, str]) -> None:
    for page in pages:
        assert "Polars was skipped: it is not installed" in page
        assert "answers differ" in page
    assert "it \\| broke" in pages[0]


def test_the_page_has_the_date_the_versions_and_the_exponents(pages: tuple[str, str]) -> None:
    markdown = pages[0]
    assert "2026-01-31 12:00 UTC" in markdown
    assert "delta-spark 4.4.0" in markdown
    row = next(line for line in markdown.splitlines() if "files: 1000 to 10000" in line)
    assert [cell.strip() for cell in row.split("|")[3:5]] == ["0.00", "1.00"]


def test_work_without_figures_has_no_growth(pages: tuple[str, str]) -> None:
    growth = pages[0][pages[0].index("## Growth") : pages[0].index("## Memory")]
    assert many_files.LIST in growth
    assert small_commits.APPEND not in growth


def test_every_row_of_a_table_has_as_many_cells_as_its_head(pages: tuple[str, str]) -> None:
    for table in re.findall(r"(?:^\|.*\n)+", pages[0], re.MULTILINE):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(widths) == 1


def test_the_plots_are_sound_xml_and_there_are_as_many_as_growing_measures(
    pages: tuple[str, str],
) -> None:
    plots = re.findall(r"<svg.*?</svg>", pages[1], re.DOTALL)
    titles = {ElementTree.fromstring(plot).attrib["aria-label"] for plot in plots}
    assert many_files.LIST in titles
    assert any(title.startswith("Queries at SF 1") for title in titles)
    assert len(plots) == 2
    assert "http" not in pages[1]


def test_the_printed_table_has_ratios_and_failures(results: Results) -> None:
    text = ratio_table(results)
    assert re.search(r"total of 22 queries +SF 1 +12 s +1\.20", text)
    assert "failed: it | broke" in text
    assert "PROBLEM: answers differ" in text
    assert "query 1 " not in text


def test_reasons_are_found_by_measure_and_peer() -> None:
    query = Series(tpch_load.NAME, "query 7", "lakebed", "scale factor", 1)
    assert "single queries" in why(query, "delta-spark")
    assert "engine of its own" in why(query, "duckdb")
    assert why(query, "parquet") == "not looked into yet"
    known = {
        series
        for workload in WORKLOADS.values()
        for series in vars(workload).values()
        if isinstance(series, str)
    }
    notes = json.loads(Path(targets.__file__).with_name("why.json").read_text(encoding="utf-8"))
    assert [n for n in notes if n.get("measure", "query *") not in {*known, "query *"}] == []


def test_every_workload_has_a_part_of_the_time() -> None:
    assert PARTS.keys() == WORKLOADS.keys()


def test_there_are_22_queries() -> None:
    assert tuple(range(1, 23)) == QUERIES
    assert all(query_text(number).startswith(("SELECT", "WITH")) for number in QUERIES)
