"""The data plane on Spark: its own readers and writers, driven from Python without a JAR."""
