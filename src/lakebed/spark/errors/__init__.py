"""Errors between Lakebed and Spark: from the JVM, from Python workers and from servers."""
