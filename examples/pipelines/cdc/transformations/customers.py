"""The customers as they are now: slowly changing dimension of type 1. Spark 4.2 or newer."""

from __future__ import annotations

from pyspark import pipelines as dp
from pyspark.sql import functions as F

dp.create_streaming_table("customers", format="delta")
dp.create_auto_cdc_flow(
    target="customers",
    source="customer_changes",
    keys=["id"],
    sequence_by="number",
    apply_as_deletes=F.expr("change = 'delete'"),
    except_column_list=["change"],
    stored_as_scd_type=1,
)
