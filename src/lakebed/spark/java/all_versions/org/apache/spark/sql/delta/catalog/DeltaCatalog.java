package org.apache.spark.sql.delta.catalog;

/** The name that settings for delta-spark have in `spark.sql.catalog.spark_catalog`. */
public class DeltaCatalog extends lakebed.DeltaCatalog {}
