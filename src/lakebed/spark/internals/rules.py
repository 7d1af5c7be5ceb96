"""Classes of Java, such as rules of the optimizer, compiled in the driver by Spark's own compiler.

Tests are in `test_jvm_rules`.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from py4j.java_gateway import JavaClass
from pyspark.sql import SparkSession

METADATA_ONLY = "MetadataOnly"
DELTA_FILES = "DeltaFiles"
TABLE_FILES = "TableFiles"
DELTA_SCANS = "DeltaScans"
TABLE_WRITES = "TableWrites"
"""Java classes in the files of the same name."""


def install_rule(session: SparkSession, name: str) -> Any:
    """Appends a rule to the session's; copies of the session have it too. The rule as an object."""
    experimental = session._jsparkSession.experimental()
    known = experimental.extraOptimizations()
    names = {str(known.apply(i).ruleName()) for i in range(known.length())}
    rule = compiled(session, name)
    if f"{_PACKAGE}.{name}" not in names:
        getattr(experimental, "extraOptimizations_$eq")(known.appended(rule))
    return rule


def compiled(session: SparkSession, name: str) -> Any:
    """An instance of the class. It is compiled once for a JVM."""
    gateway = session.sparkContext._gateway
    rules = vars(gateway).setdefault("_lakebed_rules", {})
    if name not in rules:
        compiler = JavaClass("org.codehaus.janino.SimpleCompiler", gateway._gateway_client)()
        loaders = JavaClass("org.apache.spark.util.Utils", gateway._gateway_client)
        compiler.setParentClassLoader(
            loaders.getContextOrSparkClassLoader()
            if name not in _OVER
            else compiled(session, _OVER[name]).getClass().getClassLoader()
        )
        compiler.cook(files("lakebed.spark.internals").joinpath(f"{name}.java").read_text("utf-8"))
        found = compiler.getClassLoader().loadClass(f"{_PACKAGE}.{name}")
        java = gateway.jvm.java.lang
        constructor = found.getDeclaredConstructor(gateway.new_array(java.Class, 0))
        rules[name] = constructor.newInstance(gateway.new_array(java.Object, 0))
    return rules[name]


_OVER = {
    "DeltaScans": "TableFiles",
    "TableFiles": "DeltaFiles",
    "SqlRules": "SqlPlans",
    "SqlPlans": "CachedTables",
    "CachedTables": "TableNames",
    "TableNames": "Internals",
    "TableWrites": "Internals",
}
"""Which class another one is compiled on top of: it sees that one and those below."""
_PACKAGE = "lakebed"
