"""Spark sessions that know Delta tables: `spark.read`, `df.write` and how they are enabled."""
