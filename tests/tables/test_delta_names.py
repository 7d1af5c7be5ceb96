"""Code for delta-spark needs another import and nothing else."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import lakebed
import lakebed.exceptions
import lakebed.tables
from lakebed.commands.alter.constraints import add_constraint
from lakebed.commands.alter.table_properties import set_properties
from lakebed.errors import ConflictError, RowConflictError
from testkit.other_writers import interrupted

# As delta-spark's documentation gives them.
EXCEPTIONS = [
    "ConcurrentAppendException",
    "ConcurrentDeleteDeleteException",
    "ConcurrentDeleteReadException",
    "ConcurrentTransactionException",
    "ConcurrentWriteException",
    "DeltaConcurrentModificationException",
    "MetadataChangedException",
    "ProtocolChangedException",
]
CLASSES = [
    "DeltaMergeBuilder",
    "DeltaOptimizeBuilder",
    "DeltaTable",
    "DeltaTableBuilder",
    "IdentityGenerator",
]

# Names in their order; those with a question mark can be left out, and `*` takes any number.
METHODS = {
    "DeltaTable": {
        "addFeatureSupport": "featureName",
        "alias": "aliasName",
        "clone": "target isShallow? replace? properties?",
        "cloneAtTimestamp": "timestamp target isShallow? replace? properties?",
        "cloneAtVersion": "version target isShallow? replace? properties?",
        "convertToDelta": "sparkSession identifier partitionSchema?",
        "create": "sparkSession?",
        "createIfNotExists": "sparkSession?",
        "createOrReplace": "sparkSession?",
        "delete": "condition?",
        "detail": "",
        "dropFeatureSupport": "featureName truncateHistory?",
        "forName": "sparkSession tableOrViewName",
        "forPath": "sparkSession path hadoopConf?",
        "generate": "mode",
        "history": "limit?",
        "isDeltaTable": "sparkSession identifier",
        "merge": "source condition",
        "optimize": "",
        "replace": "sparkSession?",
        "restoreToTimestamp": "timestamp",
        "restoreToVersion": "version",
        "toDF": "",
        "update": "condition? set?",
        "upgradeTableProtocol": "readerVersion writerVersion",
        "vacuum": "retentionHours?",
    },
    "DeltaTableBuilder": {
        "addColumn": (
            "colName dataType nullable? generatedAlwaysAs? generatedByDefaultAs? comment?"
        ),
        "addColumns": "cols",
        "clusterBy": "*cols",
        "comment": "comment",
        "execute": "",
        "location": "location",
        "partitionedBy": "*cols",
        "property": "key value",
        "tableName": "identifier",
    },
    "DeltaOptimizeBuilder": {
        "executeCompaction": "",
        "executeZOrderBy": "*cols",
        "where": "partitionFilter",
    },
    "DeltaMergeBuilder": {
        "execute": "",
        "whenMatchedDelete": "condition?",
        "whenMatchedUpdate": "condition? set?",
        "whenMatchedUpdateAll": "condition?",
        "whenNotMatchedBySourceDelete": "condition?",
        "whenNotMatchedBySourceUpdate": "condition? set?",
        "whenNotMatchedInsert": "condition? values?",
        "whenNotMatchedInsertAll": "condition?",
        "withSchemaEvolution": "",
    },
    "IdentityGenerator": {"__init__": "start? step?"},
}
ON_THE_CLASS = {
    "convertToDelta",
    "create",
    "createIfNotExists",
    "createOrReplace",
    "forName",
    "forPath",
    "isDeltaTable",
    "replace",
}


def test_every_exception_of_delta_is_there_and_a_conflict() -> None:
    assert sorted(lakebed.exceptions.__all__) == EXCEPTIONS
    kinds = [getattr(lakebed.exceptions, name) for name in EXCEPTIONS]
    assert all(issubclass(kind, ConflictError) for kind in kinds)
    assert len(set(kinds)) == len(kinds)
    assert issubclass(RowConflictError, lakebed.exceptions.ConcurrentDeleteDeleteException)


@pytest.mark.parametrize("name", CLASSES)
def test_every_class_of_delta_is_there(name: str) -> None:
    assert getattr(lakebed.tables, name).__doc__
    assert name in lakebed.tables.__all__


def test_the_list_of_methods_has_every_class() -> None:
    assert sorted(METHODS) == CLASSES


@pytest.mark.parametrize(
    ("owner", "name"), [(owner, name) for owner in METHODS for name in METHODS[owner]]
)
def test_methods_take_the_arguments_of_delta(owner: str, name: str) -> None:
    """Lakebed's own arguments come after them and can be left out."""
    found = getattr(getattr(lakebed.tables, owner), name)
    given = list(inspect.signature(found).parameters.values())
    if inspect.ismethod(found):
        assert name in ON_THE_CLASS
    else:
        assert name not in ON_THE_CLASS
        assert given.pop(0).name == "self"
    wanted = METHODS[owner][name].split()
    assert [shown(each) for each in given[: len(wanted)]] == wanted
    assert all(each.default is not each.empty for each in given[len(wanted) :])


def shown(parameter: inspect.Parameter) -> str:
    if parameter.kind is parameter.VAR_POSITIONAL:
        return f"*{parameter.name}"
    assert parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    return parameter.name if parameter.default is parameter.empty else f"{parameter.name}?"


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="nope"):
        _ = lakebed.tables.nope  # type: ignore[attr-defined]


def test_what_is_raised_is_caught_under_the_names_of_delta(tmp_path: Path) -> None:
    path, rows = tmp_path / "t", pa.table({"id": [1]})
    lakebed.write(path, rows)
    with pytest.raises(lakebed.exceptions.ConcurrentAppendException):
        add_constraint(interrupted(path, lambda: lakebed.write(path, rows)), "c", "id > 0")
    other = interrupted(path, lambda: lakebed.open(path).set_properties({"a": "1"}))
    with pytest.raises(lakebed.exceptions.MetadataChangedException):
        set_properties(other, {"b": "1"})


@pytest.mark.parametrize("module", ["lakebed.tables", "lakebed.exceptions", "lakebed.tables.table"])
def test_none_of_it_imports_spark_unasked(module: str) -> None:
    code = f"import sys, {module}; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_altering_a_table_imports_no_spark(tmp_path: Path) -> None:
    lakebed.write(tmp_path / "t", pa.table({"id": [1]}))
    code = (
        f"import sys, lakebed; t = lakebed.open({str(tmp_path / 't')!r}); "
        "t.add_columns({'a': 'int'}).set_properties({'x': 'y'}); "
        "sys.exit('pyspark' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
