"""A program that makes its own context. All settings for delta-spark come from outside."""

import sys

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

from delta.tables import DeltaTable
from stock.names import TABLE

context = SparkContext(conf=SparkConf().setAppName("stock"))
spark = SparkSession(context)
print(sys.argv[1:], spark.conf.get("spark.stock.shelf"), context.appName)

spark.sql(f"CREATE TABLE {TABLE} (item STRING, pieces INT) USING delta")
spark.sql(f"INSERT INTO {TABLE} VALUES ('nail', 3), ('screw', 5)")
spark.sql(
    f"MERGE INTO {TABLE} t USING (SELECT 'nail' AS item, 4 AS more) s ON t.item = s.item "
    "WHEN MATCHED THEN UPDATE SET pieces = t.pieces + s.more"
)

# Another session of the same context, the builder's, and a function in Python.
again = SparkSession.builder.config("spark.stock.floor", "2").getOrCreate()
other = again.newSession()
double = udf(lambda pieces: pieces * 2, "int")
rows = other.table(TABLE).select("item", double("pieces")).collect()
print(sorted(tuple(row) for row in rows))
print(DeltaTable.forName(other, TABLE).history().count(), again.conf.get("spark.stock.shelf"))

spark.stop()
second = SparkSession.builder.master("local[1]").getOrCreate()
print("second", second.conf.get("spark.lakebed.enabled"))
sys.exit(3)
