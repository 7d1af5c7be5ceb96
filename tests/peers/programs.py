"""DataFrame calls that both engines run, each as a function of the session and of what is given."""

from __future__ import annotations

from typing import Any


def append(spark: Any, path: str, query: str) -> None:
    spark.sql(query).write.format("delta").mode("append").save(path)


def write_parquet(spark: Any, path: str, query: str, parts: list[str]) -> None:
    spark.sql(query).coalesce(1).write.partitionBy(*parts).parquet(path)


# --- writing -------------------------------------------------------------------------------------


def write(
    spark: Any,
    query: str,
    path: str | None = None,
    table: str | None = None,
    mode: str | None = None,
    parts: list[str] | None = None,
    clustered: list[str] | None = None,
    options: dict[str, str] | None = None,
) -> None:
    """`DataFrameWriter` with `save` to a path, or `saveAsTable`."""
    writer = spark.sql(query).write.format("delta").options(**(options or {}))
    if mode is not None:
        writer = writer.mode(mode)
    if parts:
        writer = writer.partitionBy(*parts)
    if clustered:
        writer = writer.clusterBy(*clustered)
    if table is not None:
        writer.saveAsTable(table)
    else:
        writer.save(path)


def insert_into(spark: Any, query: str, table: str, overwrite: bool = False) -> None:
    spark.sql(query).write.insertInto(table, overwrite=overwrite)


def write_to(
    spark: Any,
    query: str,
    table: str,
    do: str,
    condition: str | None = None,
    parts: list[str] | None = None,
    options: dict[str, str] | None = None,
    properties: dict[str, str] | None = None,
) -> None:
    """`DataFrameWriterV2`; `do` is the method that ends it."""
    from pyspark.sql.functions import col, expr

    writer = spark.sql(query).writeTo(table).options(**(options or {}))
    if do in ("create", "replace", "createOrReplace"):
        writer = writer.using("delta")
        for name, value in (properties or {}).items():
            writer = writer.tableProperty(name, value)
        if parts:
            writer = writer.partitionedBy(*map(col, parts))
    getattr(writer, do)(*([expr(condition)] if condition is not None else []))


def merge_into(spark: Any, query: str, table: str, condition: str) -> None:
    """`DataFrame.mergeInto`, with all columns of both."""
    from pyspark.sql.functions import expr

    merge = spark.sql(query).alias("s").mergeInto(table, expr(condition))
    merge.whenMatched().updateAll().whenNotMatched().insertAll().merge()


# --- reading -------------------------------------------------------------------------------------


def read(spark: Any, path: str, options: dict[str, str] | None = None, where: str = "true") -> Any:
    return spark.read.format("delta").options(**(options or {})).load(path).where(where)


def read_table(spark: Any, table: str, options: dict[str, str] | None = None) -> Any:
    return spark.read.options(**(options or {})).table(table)


def read_with_schema(spark: Any, path: str, schema: str) -> Any:
    return spark.read.format("delta").schema(schema).load(path)


def columns_of(spark: Any, table: str) -> list[list[str]]:
    return [[each.name, each.dataType, each.nullable] for each in spark.catalog.listColumns(table)]


def table_exists(spark: Any, table: str) -> bool:
    return bool(spark.catalog.tableExists(table))


def catalog_table(spark: Any, table: str) -> list[Any]:
    found = spark.catalog.getTable(table)
    return [found.name, found.catalog, found.namespace, found.tableType, found.isTemporary]


def view_of(spark: Any, table: str, view: str) -> None:
    spark.table(table).createOrReplaceTempView(view)


def history_columns(spark: Any, table: str) -> list[str]:
    return [str(name) for name in spark.sql(f"DESCRIBE HISTORY {table}").columns]


def columns_of_history(spark: Any, path: str) -> list[str]:
    return (
        [str(name) for name in _delta_table(spark, path).history().columns()]
        if (_is_delta_spark(spark))
        else list(_delta_table(spark, path).history().columns)
    )


def optimized(spark: Any, table: str, more: str = "") -> dict[str, Any]:
    """The result of OPTIMIZE without times, sizes, and how Spark cuts its tasks."""
    metrics = spark.sql(f"OPTIMIZE {table} {more}").collect()[0].metrics.asDict(recursive=True)
    return {name: value for name, value in _counts(metrics).items() if name not in _OF_A_RUN}


_OF_A_RUN = ("startTimeMs", "endTimeMs", "totalClusterParallelism", "totalScheduledTasks")


def _counts(metrics: dict[str, Any]) -> dict[str, Any]:
    sizes = ("min", "max", "avg", "totalSize", "size")
    return {
        name: _counts(value) if isinstance(value, dict) else value
        for name, value in metrics.items()
        if name not in sizes
    }


def input_files(spark: Any, path: str) -> int:
    return len(spark.read.format("delta").load(path).inputFiles())


# --- frames that outlive a change ----------------------------------------------------------------


def read_twice(spark: Any, path: str, statement: str, query: str | None = None) -> list[Any]:
    """The same DataFrame before and after a change of its table."""
    frame = spark.sql(query) if query else spark.read.format("delta").load(path)
    before = _rows(frame)
    spark.sql(statement)
    return [before, _rows(frame)]


def read_after(spark: Any, path: str, statement: str, query: str | None = None) -> Any:
    """A DataFrame that is first run after a change of its table."""
    frame = spark.sql(query) if query else spark.read.format("delta").load(path)
    spark.sql(statement)
    return _rows(frame)


def derive_after(spark: Any, path: str, statement: str, where: str) -> Any:
    """A DataFrame that is made of an older one after a change."""
    frame = spark.read.format("delta").load(path)
    spark.sql(statement)
    return [_rows(frame.where(where)), frame.count()]


def join_versions(spark: Any, path: str, statement: str) -> Any:
    """A DataFrame from before a change with one from after it."""
    before = spark.read.format("delta").load(path)
    spark.sql(statement)
    after = spark.read.format("delta").load(path)
    return [_rows(before.exceptAll(after)), _rows(after.exceptAll(before))]


def write_back(spark: Any, path: str, where: str, mode: str) -> None:
    """Rows of a table over the table that they come from."""
    spark.read.format("delta").load(path).where(where).write.format("delta").mode(mode).save(path)


def cached(spark: Any, path: str, statement: str) -> Any:
    """A cached DataFrame, and a new one, after a change."""
    frame = spark.read.format("delta").load(path).cache()
    try:
        before = frame.count()
        spark.sql(statement)
        return [before, _rows(frame), _rows(spark.read.format("delta").load(path))]
    finally:
        frame.unpersist(blocking=True)


def temp_view(spark: Any, path: str, statement: str, view: str) -> Any:
    spark.read.format("delta").load(path).createOrReplaceTempView(view)
    spark.sql(statement)
    return _rows(spark.table(view))


def _rows(frame: Any) -> list[Any]:
    return sorted((list(row) for row in frame.collect()), key=repr)


# --- DeltaTable ----------------------------------------------------------------------------------


def table_delete(spark: Any, path: str, condition: str | None = None) -> None:
    table = _delta_table(spark, path)
    if condition is None:
        table.delete()
    else:
        table.delete(condition)


def table_update(spark: Any, path: str, values: dict[str, str], condition: str) -> None:
    table = _delta_table(spark, path)
    if _is_delta_spark(spark):
        table.updateExpr(condition, values)
    else:
        table.update(condition, values)


def table_merge(
    spark: Any,
    path: str,
    query: str,
    condition: str,
    updates: dict[str, str] | None = None,
    inserts: dict[str, str] | None = None,
    deletes: str | None = None,
) -> None:
    """Clauses with values by expressions; without any, all columns are updated and inserted."""
    source = spark.sql(query).alias("s")
    table = _delta_table(spark, path).alias("t")
    if _is_delta_spark(spark):
        merge = _merged_in_java(table.merge(source._jdf, condition), updates, inserts, deletes)
    else:
        merge = table.merge(source, condition)
        if deletes is not None:
            merge = merge.whenMatchedDelete(deletes)
        if updates is not None:
            merge = merge.whenMatchedUpdate(set=updates)
        if inserts is not None:
            merge = merge.whenNotMatchedInsert(values=inserts)
        if updates is inserts is deletes is None:
            merge = merge.whenMatchedUpdateAll().whenNotMatchedInsertAll()
    merge.execute()


def table_restore(spark: Any, path: str, version: int) -> None:
    _delta_table(spark, path).restoreToVersion(version)


def table_compact(spark: Any, path: str, where: str | None = None) -> None:
    optimize = _delta_table(spark, path).optimize()
    if where is not None:
        optimize = optimize.where(where)
    optimize.executeCompaction()


def table_upgrade(spark: Any, path: str, reader: int, writer: int) -> None:
    _delta_table(spark, path).upgradeTableProtocol(reader, writer)


def table_feature(spark: Any, path: str, feature: str) -> None:
    _delta_table(spark, path).addFeatureSupport(feature)


def _merged_in_java(merge: Any, updates: Any, inserts: Any, deletes: str | None) -> Any:
    if deletes is not None:
        merge = merge.whenMatched(deletes).delete()
    if updates is not None:
        merge = merge.whenMatched().updateExpr(updates)
    if inserts is not None:
        merge = merge.whenNotMatched().insertExpr(inserts)
    if updates is inserts is deletes is None:
        merge = merge.whenMatched().updateAll().whenNotMatched().insertAll()
    return merge


def _delta_table(spark: Any, path: str) -> Any:
    """Of delta-spark the class in its JAR: its Python package is not installed."""
    if _is_delta_spark(spark):
        return spark._jvm.io.delta.tables.DeltaTable.forPath(spark._jsparkSession, path)
    import lakebed

    return lakebed.DeltaTable.forPath(spark, path)


def _is_delta_spark(spark: Any) -> bool:
    return "DeltaSparkSessionExtension" in (spark.conf.get("spark.sql.extensions", "") or "")
