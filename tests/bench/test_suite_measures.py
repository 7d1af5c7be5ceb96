"""Medians, ratios and exponents of the benchmark suite."""

from __future__ import annotations

import pytest

from suite.measures import Results, Series, exponent, growth, ratio, total


def test_a_ratio_is_that_of_the_medians() -> None:
    results = Results()
    ours = results.of("w", "m", "lakebed")
    ours.samples = [2.0, 1.0, 90.0]
    results.of("w", "m", "delta-spark").samples = [4.0]
    assert ratio(results, ours, "delta-spark") == 0.5
    assert ours.spread == (1.0, 90.0)


def test_there_is_no_ratio_to_a_peer_that_failed_or_is_missing() -> None:
    results = Results()
    ours = results.of("w", "m", "lakebed")
    ours.samples = [1.0]
    results.of("w", "m", "duckdb").error = "no"
    assert ratio(results, ours, "duckdb") is None
    assert ratio(results, ours, "polars") is None


def test_sizes_are_compared_with_the_same_size() -> None:
    results = Results()
    for x, seconds in ((10.0, 1.0), (100.0, 8.0)):
        results.of("w", "m", "lakebed", axis="files", x=x).samples = [1.0]
        results.of("w", "m", "deltalake", axis="files", x=x).samples = [seconds]
    ours = results.find("w", "m", "lakebed", 100.0)
    assert ours is not None
    assert ratio(results, ours, "deltalake") == 0.125


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 2.0])
def test_the_exponent_of_a_power_is_the_power(power: float) -> None:
    points = [(x, 3 * x**power) for x in (10.0, 1_000.0, 50_000.0)]
    assert exponent(points) == pytest.approx(power)


def test_one_size_has_no_exponent() -> None:
    assert exponent([(10, 1.0), (10, 2.0)]) is None
    assert growth([Series("w", "m", "lakebed", "files", 10, [1.0])]) is None


def test_a_size_of_nothing_is_left_out_of_the_fit() -> None:
    series = [
        Series("w", "m", "lakebed", "share", x, [y]) for x, y in ((0, 9.0), (1, 1.0), (10, 10.0))
    ]
    assert growth(series) == pytest.approx(1.0)


def test_a_total_sums_each_round() -> None:
    results = Results()
    results.of("w", "a", "lakebed").samples = [1.0, 10.0]
    results.of("w", "b", "lakebed").samples = [2.0, 20.0, 200.0]
    total(results, "w", ["a", "b"], "all")
    assert results.of("w", "all", "lakebed").samples == [3.0, 30.0]


def test_there_is_no_total_where_a_part_failed() -> None:
    results = Results()
    results.of("w", "a", "lakebed").samples = [1.0]
    results.of("w", "b", "lakebed").error = "out of memory"
    total(results, "w", ["a", "b"], "all")
    made = results.of("w", "all", "lakebed")
    assert made.samples == []
    assert made.error is not None
    assert "out of memory" in made.error


def test_results_survive_their_json() -> None:
    results = Results({"date": "today"}, memory=[{"peer": "lakebed"}], problems=["one"])
    results.of("w", "m", "lakebed", axis="files", x=10).samples = [0.125]
    assert Results.from_json(results.to_json()) == results


def test_memory_is_the_most_of_all_parts_of_a_workload() -> None:
    results = Results()
    results.note_memory("w", "lakebed", {"python": 5, "jvm": 7})
    results.note_memory("w", "lakebed", {"python": 9, "jvm": 3})
    assert results.memory == [{"workload": "w", "peer": "lakebed", "python": 9, "jvm": 7}]


def test_figures_name_no_paths_of_the_machine() -> None:
    results = Results({"skipped": {"polars": "no /home/somebody/.venv/bin/python"}})
    results.of("w", "m", "duckdb").error = "cannot read file:/tmp/tmp1234/part-0.parquet: gone"
    results.problems.append("w failed: '/root/x/y' and https://example.com/a/b 1/2")
    content = results.to_json()
    assert content["series"][0]["error"] == "cannot read (a path): gone"
    assert content["problems"] == ["w failed: '(a path)' and https://example.com/a/b 1/2"]
    assert content["about"]["skipped"] == {"polars": "no (a path)"}
