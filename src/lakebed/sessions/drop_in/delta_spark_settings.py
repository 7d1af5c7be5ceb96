"""What becomes of the settings that a program makes for delta-spark.

Without delta-spark's JARs its classes do not exist, and Lakebed does not want them: two engines in
one session would both answer for Delta tables. Everything that is not delta-spark's stays.
"""

from __future__ import annotations

import logging
import re
import shlex
import sys
from collections.abc import Callable, Mapping

from lakebed.settings.setting_table import PYTHON, SERVER
from lakebed.spark.internals.connect.connect_server import RELATIONS, TABLE_CALLS

_LOG = logging.getLogger("lakebed")

EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
SESSION_CATALOG = "spark.sql.catalog.spark_catalog"

# None: the setting goes. Lakebed enables a session by itself, after it has started.
_REPLACED_BY: Mapping[str, str | None] = {
    EXTENSION: None,
    CATALOG: None,
    # Of a Spark Connect server with delta-spark's own protocol.
    "org.apache.spark.sql.connect.delta.DeltaRelationPlugin": None,
    "org.apache.spark.sql.connect.delta.DeltaCommandPlugin": None,
}

# delta-sharing is another data source and stays.
_PACKAGE = re.compile(r"io\.delta:delta-(?!sharing)\w")
_JAR = re.compile(
    r"(^|/)(io\.delta_)?delta-(spark|core|storage|contribs|iceberg|connect)[-_][^/]*$"
)

_PLUGINS = "spark.plugins"
_CONNECT_PLUGIN = "org.apache.spark.sql.connect.SparkConnectPlugin"
_CLASS_LISTS = (
    "spark.sql.extensions",
    RELATIONS,
    "spark.connect.extensions.command.classes",
)
_OF_SUBMIT = {"--packages": "spark.jars.packages", "--jars": "spark.jars"}


def lakebed_class(name: str) -> str | None:
    """The class that replaces one that a setting names; None if there is none."""
    return _REPLACED_BY.get(name, name)


def translate(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings for delta-spark as settings for Lakebed."""
    translated = {}
    for key, value in settings.items():
        new = _translate_value(key, value)
        if new is not None:
            translated[key] = new
    return {**translated, **_server_settings(translated)}


def _server_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """For the server that PySpark starts for `remote("local[*]")`: Lakebed starts it instead.

    Spark's plugin starts it with the context, before Lakebed's classes are there.
    """
    plugins = _names(settings.get(_PLUGINS, ""))
    if _CONNECT_PLUGIN not in plugins:
        return {}
    others = [name for name in plugins if name != _CONNECT_PLUGIN]
    relations = [*_names(settings.get(RELATIONS, "")), TABLE_CALLS]
    return {
        _PLUGINS: ",".join(others),
        RELATIONS: ",".join(relations),
        SERVER.name: "true",
        PYTHON.name: settings.get(PYTHON.name, sys.executable),
    }


def translate_submit_arguments(text: str) -> str:
    """The same for the arguments of spark-submit, as `PYSPARK_SUBMIT_ARGS` has them."""
    kept: list[str] = []
    tokens = iter(shlex.split(text))
    for token in tokens:
        option, equals, value = token.partition("=")
        if option not in ("--conf", "-c", *_OF_SUBMIT):
            kept.append(token)
            continue
        given = value if equals else next(tokens, "")
        new = _translate_argument(option, given)
        if new:
            kept += [option, new]
    return shlex.join(kept)


def _translate_argument(option: str, value: str) -> str | None:
    if option in _OF_SUBMIT:
        return _translate_value(_OF_SUBMIT[option], value)
    key, _, setting = value.partition("=")
    new = _translate_value(key, setting)
    return None if new is None else f"{key}={new}"


def _translate_value(key: str, value: str) -> str | None:
    if key in _CLASS_LISTS:
        return _each(value, lakebed_class)
    if key.startswith("spark.sql.catalog."):
        return lakebed_class(value)
    if key == "spark.jars.packages":
        return _each(value, lambda name: _left_out(name, _PACKAGE))
    if key == "spark.jars":
        return _each(value, lambda name: _left_out(name, _JAR))
    return value


def _each(value: str, translate_one: Callable[[str], str | None]) -> str | None:
    """A list with commas; None where nothing is left of what was there."""
    given = _names(value)
    kept = [new for new in map(translate_one, given) if new is not None]
    if kept == given:
        return value
    return ",".join(kept) or None


def _names(value: str | None) -> list[str]:
    return [name.strip() for name in (value or "").split(",") if name.strip()]


def _left_out(name: str, pattern: re.Pattern[str]) -> str | None:
    if not pattern.search(name):
        return name
    _LOG.info("%s is left out: Lakebed reads and writes Delta tables without it", name)
    return None
