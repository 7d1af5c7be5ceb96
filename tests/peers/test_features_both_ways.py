"""Tables of every feature, written by one engine, changed by the other, and changed back.

Both directions run side by side: Lakebed begins one table and delta-spark its twin, then each
changes the other's. After each turn both engines and a neutral reader have to read the same rows of
each table, and the twins have the same schema, protocol and properties in their logs. At the end
both engines give the same details of a table, and the same answers to the queries of its feature.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from cases.feature_differences import FEATURE_DIFFERENCES
from cases.features import FEATURES, Feature
from comparing import Differing, Tally, differing_answers, differing_logs
from engines import Answer, Peers, Step, conf, sql
from log_state import log_state
from neutral_reader import neutral_rows
from short_form import in_short

COUNT = 30
"""How many features there are at least."""
EVERY = 6
"""Of the features every so manieth is in the short form."""
_LOG_ASPECTS = ("schema", "partitioning", "protocol", "properties")
_DETAILS = (
    "format",
    "partitionColumns",
    "clusteringColumns",
    "properties",
    "minReaderVersion",
    "minWriterVersion",
    "tableFeatures",
)


@pytest.mark.parametrize("feature", in_short(FEATURES, EVERY), ids=lambda feature: feature.name)
def test_feature(feature: Feature, peers: Peers, tally: Tally, tmp_path: Path) -> None:
    twins = [tmp_path / "begun by lakebed", tmp_path / "begun by delta-spark"]
    settings = dict(feature.conf)
    if settings:
        peers.both(*[[conf(settings)]] * 2)
    try:
        differing = _turns(feature, peers, twins)
    finally:
        if settings:
            peers.both(*[[conf(dict.fromkeys(settings))]] * 2)
        shutil.rmtree(tmp_path)
    known = FEATURE_DIFFERENCES.get(feature.name)
    tally.settle(f"feature: {feature.name}", differing, known)


def test_there_are_enough_features_and_each_has_a_name_of_its_own() -> None:
    names = Counter(feature.name for feature in FEATURES)
    assert [name for name, count in names.items() if count > 1] == []
    assert len(FEATURES) >= COUNT


def test_every_listed_difference_is_one_of_a_feature() -> None:
    assert set(FEATURE_DIFFERENCES) - {feature.name for feature in FEATURES} == set()


def _turns(feature: Feature, peers: Peers, twins: Sequence[Path]) -> Differing:
    """Begun, changed by the other engine, changed back; how the twins differ, by aspect."""
    differing: Differing = {}
    turns = [
        (*feature.create, *feature.fill),
        (*feature.before.get(1, ()), *feature.changes),
        (*feature.before.get(2, ()), *feature.changes),
    ]
    for number, statements in enumerate(turns):
        places = twins if number != 1 else [twins[1], twins[0]]
        _run(peers, [_written(statements, place, number) for place in places])
        rows = [_check_alike(feature, peers, twin, number) for twin in twins]
        if number == 2 and feature.queries:
            differing.update(_differing_queries(feature, peers, twins[0]))
        if rows[0] != rows[1]:
            differing["rows"] = (rows[0], rows[1])
        differing.update(_differing_twins(twins))
    return differing


def _differing_twins(twins: Sequence[Path]) -> Differing:
    """What the logs of both say; how wide the gaps of identity values are depends on the tasks."""
    states = [log_state(twin) for twin in twins]
    for state in states:
        mark = r'(?<="delta.identity.highWaterMark":)-?\d+'
        state.metadata["schemaString"] = re.sub(mark, "0", state.metadata["schemaString"])
    found = differing_logs(*states)
    return {name: found[name] for name in _LOG_ASPECTS if name in found}


def _run(peers: Peers, statements: Sequence[Sequence[str]]) -> None:
    """Each engine its own statements, at the same time; all must succeed."""
    steps = [[sql(text, must=True) for text in each] for each in statements]
    answers = peers.both(*steps)
    for engine, texts, given in zip(peers.engines, statements, answers, strict=True):
        failed = [f"{texts[n]}\n{answer}" for n, answer in enumerate(given) if answer.error]
        assert not failed, f"{engine.name}: {failed[0]}"


def _check_alike(feature: Feature, peers: Peers, table: Path, turn: int) -> object:
    """Both engines and the neutral reader see the same; the rows that twins have in common."""
    questions = _questions(feature, table, last=turn == 2)
    ours, theirs = peers.both(*[questions] * 2)
    about = f"{feature.name}, turn {turn}, {table.name}"
    for question, one, other in zip(questions, ours, theirs, strict=True):
        assert _comparable(one) == _comparable(other), (
            f"{about}: {question['sql']}\nLakebed {one}\ndelta-spark {other}"
        )
    common = _common(ours[0])
    if feature.neutral is None:
        assert neutral_rows(table, "id, v") == common, f"{about}: the neutral reader"
    return common


def _questions(feature: Feature, table: Path, *, last: bool) -> list[Step]:
    """What took long to ask is asked at the end: it is about all turns."""
    texts = [f"SELECT {feature.shown} FROM {{t}}"]
    questions = [sql(text, must=True) for text in _written(texts, table, 0)]
    detail = [sql(f"DESCRIBE DETAIL delta.`{table}`", _DETAILS, must=True)]
    return [*questions, *(detail if last else [])]


def _differing_queries(feature: Feature, peers: Peers, table: Path) -> Differing:
    questions = [sql(text) for text in _written(feature.queries, table, 0)]
    ours, theirs = peers.both(*[questions] * 2)
    for one, other in zip(ours, theirs, strict=True):
        found = differing_answers(one, other)
        if found or one.error:
            return {"queries": (str(one), str(other))}
    return {}


def _comparable(answer: Answer) -> object:
    assert answer.error is None, answer.error
    return answer.content["columns"], answer.content["types"], answer.rows


def _common(answer: Answer) -> list[list[object]]:
    """The columns that every table has: the others may be random or drawn."""
    places = [answer.content["columns"].index(name) for name in ("id", "v")]
    return sorted(([row[place] for place in places] for row in answer.rows), key=repr)


def _written(statements: Sequence[str], table: Path, turn: int) -> list[str]:
    """With the paths in place of the placeholders."""
    other = table.with_name(f"{table.name} source")
    names = {"t": f"delta.`{table}`", "s": f"delta.`{other}`", "path": table, "other": other}
    return [text.format(n=turn, **names) for text in statements]
