"""Changing what a table is: properties, columns, constraints, clustering, features.

One module for each rule. None of them touches rows, unless a feature that is dropped leaves no
other way, and none needs Spark.
"""
