"""Rules of Lakebed in Spark's optimizer, compiled in the driver by the compiler that Spark has.

Tests are in `test_jvm_rules`.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from py4j.java_gateway import JavaClass
from pyspark.sql import SparkSession

RULES = ("MetadataOnly",)
"""Java classes in the files of the same name."""


def install_rules(session: SparkSession) -> None:
    """Appends the rules to the session's; copies of the session have them too."""
    experimental = session._jsparkSession.experimental()
    known = experimental.extraOptimizations()
    names = {str(known.apply(i).ruleName()) for i in range(known.length())}
    for name in RULES:
        if f"{_PACKAGE}.{name}" not in names:
            known = known.appended(_compiled(session, name))
    getattr(experimental, "extraOptimizations_$eq")(known)


def _compiled(session: SparkSession, name: str) -> Any:
    """An instance of the class. It is compiled once for a JVM."""
    gateway = session.sparkContext._gateway
    rules = vars(gateway).setdefault("_lakebed_rules", {})
    if name not in rules:
        compiler = JavaClass("org.codehaus.janino.SimpleCompiler", gateway._gateway_client)()
        loaders = JavaClass("org.apache.spark.util.Utils", gateway._gateway_client)
        compiler.setParentClassLoader(loaders.getContextOrSparkClassLoader())
        compiler.cook(files("lakebed.spark.internals").joinpath(f"{name}.java").read_text("utf-8"))
        found = compiler.getClassLoader().loadClass(f"{_PACKAGE}.{name}")
        java = gateway.jvm.java.lang
        constructor = found.getDeclaredConstructor(gateway.new_array(java.Class, 0))
        rules[name] = constructor.newInstance(gateway.new_array(java.Object, 0))
    return rules[name]


_PACKAGE = "lakebed"
