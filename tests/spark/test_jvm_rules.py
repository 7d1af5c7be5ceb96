"""What of Spark's inside the rules of Lakebed stand on; a test names what breaks without it."""

from __future__ import annotations

from pyspark.sql import SparkSession

import lakebed
from lakebed.spark.internals.rules import install_rules


def test_the_compiler_of_spark_compiles_rules_and_the_optimizer_takes_them(
    spark: SparkSession,
) -> None:
    assert rule_names(spark) == ["lakebed.MetadataOnly"]


def test_enabling_twice_adds_no_second_rule(spark: SparkSession) -> None:
    install_rules(spark)
    assert rule_names(spark) == ["lakebed.MetadataOnly"]


def test_a_new_session_has_the_rules_once_it_is_enabled(spark: SparkSession) -> None:
    other = spark.newSession()
    assert rule_names(other) == []
    assert rule_names(lakebed.enable(other)) == ["lakebed.MetadataOnly"]


def test_rules_of_others_are_kept(spark: SparkSession) -> None:
    other = spark.newSession()
    mine = lakebed.enable(spark)._jsparkSession.experimental().extraOptimizations()
    experimental = other._jsparkSession.experimental()
    convert = "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation$"
    theirs = getattr(getattr(spark._jvm, convert), "MODULE$")
    getattr(experimental, "extraOptimizations_$eq")(mine.empty().appended(theirs))
    install_rules(other)
    assert rule_names(other) == [convert.rstrip("$"), "lakebed.MetadataOnly"]


def rule_names(session: SparkSession) -> list[str]:
    rules = session._jsparkSession.experimental().extraOptimizations()
    return [str(rules.apply(i).ruleName()) for i in range(rules.length())]
