"""The session of a JVM that runs already, as one of PySpark. Tests are in `test_spark_commands`."""

from __future__ import annotations

import signal

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession


def attached_session() -> SparkSession:
    """The port and the secret of the JVM's py4j server are in the environment."""
    gateway = launch_gateway()
    running = gateway.jvm.org.apache.spark.SparkContext.getOrCreate()
    java = gateway.jvm.JavaSparkContext.fromSparkContext(running)
    context = SparkContext(gateway=gateway, jsc=java, conf=SparkConf(_jconf=java.getConf()))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # PySpark has set it
    return SparkSession(context, gateway.jvm.lakebed.Bridge.session())
