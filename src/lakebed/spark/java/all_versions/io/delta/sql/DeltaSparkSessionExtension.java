package io.delta.sql;

import lakebed.DeltaExtensions;

/** The name that settings for delta-spark have in `spark.sql.extensions`. */
public class DeltaSparkSessionExtension extends DeltaExtensions {}
