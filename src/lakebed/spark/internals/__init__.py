"""Every internal of Spark that Lakebed touches, and nothing else: Spark promises nothing about it.

Each use has a test in `test_spark_internals`, `test_write_internals`, `test_jvm_rules`,
`test_row_change_large`, `test_sql_queries` or `test_connect_internals` that says what breaks when
Spark changes it.
"""
