"""How settings and options are read, and what the error says when that is not possible."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import InvalidArgumentError
from lakebed.settings import setting_table as table
from lakebed.settings.option_table import READ_OPTIONS, VERSION_AS_OF, WRITE_OPTIONS
from lakebed.settings.setting import Option, Setting

SETTINGS = [each for each in table.SETTINGS.values() if isinstance(each, Setting)]
OPTIONS = [*READ_OPTIONS.values(), *WRITE_OPTIONS.values()]


class Conf:
    def __init__(self, values: Mapping[str, str]) -> None:
        self.values = values
        self.calls = 0

    def get(self, key: str, default: str | None) -> str | None:
        self.calls += 1
        return self.values.get(key, default)


class Session:
    def __init__(self, values: Mapping[str, str]) -> None:
        self.conf = Conf(values)


@pytest.mark.parametrize(
    ("setting", "text", "value"),
    [
        (table.AUTO_MERGE, "true", True),
        (table.AUTO_MERGE, " TRUE ", True),
        (table.COLLECT_STATS, "False", False),
        (table.UNTRUSTED, "yes", True),
        (table.UNTRUSTED, "0", False),
        (table.DATA_PLANE, "Native", "native"),
        (table.STORE_ASSIGNMENT, "strict", "STRICT"),
        (table.AUTO_COMPACT_MIN_FILES, "7", 7),
        (table.OPTIMIZE_MAX_FILE_SIZE, "134217728", 128 << 20),
        (table.OPTIMIZE_MAX_FILE_SIZE, "128mb", 128 << 20),
        (table.OPTIMIZE_MAX_FILE_SIZE, "2 G", 2 << 30),
        (table.OPTIMIZE_LOCAL_BYTES, "0", 0),
        (table.OPTIMIZE_MAX_DELETED, "0.25", 0.25),
        (table.UNDROP_RETENTION, "interval 2 hours", 7_200_000),
        (table.ALLOWED_FUNCTIONS, " a, b.c,", ("a", "b.c")),
        (table.USER_METADATA, " by hand ", " by hand "),
        (table.USER_METADATA, "", ""),
    ],
)
def test_a_value_is_read_by_its_kind(setting: Setting[Any], text: str, value: object) -> None:
    assert setting.read({setting.name: text}) == value
    session = Session({setting.name: text})
    assert setting.of(session) == value
    assert session.conf.calls == 1


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_without_a_value_the_default_counts(setting: Setting[Any]) -> None:
    assert setting.read({}) == setting.default
    assert setting.of(Session({})) == setting.default


@pytest.mark.parametrize(
    ("setting", "text", "allowed"),
    [
        (table.AUTO_MERGE, "yes", "true or false"),
        (table.COLLECT_STATS, "0", "true or false"),
        (table.DATA_PLANE, "fast", "auto, native or workers"),
        (table.DURABILITY, "most", "none, log or all"),
        (table.AUTO_COMPACT_MIN_FILES, "0", "a whole number of at least 1"),
        (table.OPTIMIZE_MAX_FILE_SIZE, "0", "a size, such as 128mb"),
        (table.OPTIMIZE_MAX_FILE_SIZE, "-1", "a size, such as 128mb"),
        (table.OPTIMIZE_MAX_DELETED, "nan", "a number from 0 to 1"),
        (table.OPTIMIZE_MAX_DELETED, "half", "a number from 0 to 1"),
        (table.UNDROP_RETENTION, "1 month", "such as 'interval 30 days'"),
        (table.TXN_VERSION, "first", "a whole number"),
    ],
)
def test_a_wrong_value_is_an_error_that_says_what_is_allowed(
    setting: Setting[Any], text: str, allowed: str
) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        setting.read({setting.name: text})
    assert caught.value.message.startswith(f"{setting.name} is {text!r}: ")
    assert allowed in str(caught.value.hint)


def test_the_error_names_the_option_or_the_variable_that_has_the_value() -> None:
    with pytest.raises(InvalidArgumentError, match="versionAsOf is 'new'"):
        VERSION_AS_OF.read({"versionAsOf": "new"}.get)
    with pytest.raises(InvalidArgumentError, match="LAKEBED_DURABILITY is 'most'"):
        table.DURABILITY.read_environment({"LAKEBED_DURABILITY": "most"})
    assert table.DURABILITY.read_environment({"LAKEBED_DURABILITY": "ALL"}) == "all"
    assert table.DURABILITY.read_environment({"LAKEBED_DURABILITY": ""}) is None


def test_default_properties_are_those_of_the_prefix_unless_they_are_given() -> None:
    settings = {
        f"{table.DEFAULT_PROPERTIES.name}appendOnly": "true",
        f"{table.DEFAULT_PROPERTIES.name}checkpointInterval": "3",
        table.AUTO_MERGE.name: "true",
    }
    both = {"delta.appendOnly": "true", "delta.checkpointInterval": "3"}
    assert table.DEFAULT_PROPERTIES.read(settings) == both
    given = {"DELTA.appendonly": "false"}
    left = {"delta.checkpointInterval": "3"}
    assert table.DEFAULT_PROPERTIES.read(settings, but=given) == left


@given(st.sampled_from(SETTINGS), st.text())
def test_no_value_of_a_setting_gives_another_exception(setting: Setting[Any], text: str) -> None:
    with suppress(InvalidArgumentError):
        setting.read({setting.name: text})


@given(st.sampled_from(OPTIONS), st.text())
def test_no_value_of_an_option_gives_another_exception(option: Option[Any], text: str) -> None:
    with suppress(InvalidArgumentError):
        option.read({option.name: text}.get)
