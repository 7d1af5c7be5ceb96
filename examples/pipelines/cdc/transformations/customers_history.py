"""The customers with their history: slowly changing dimension of type 2. Spark 4.3 or newer."""

from __future__ import annotations

from pyspark import pipelines as dp
from pyspark.sql import functions as F

dp.create_streaming_table("customers_history", format="delta")
dp.create_auto_cdc_flow(
    target="customers_history",
    source="customer_changes",
    keys=["id"],
    sequence_by="number",
    apply_as_deletes=F.expr("change = 'delete'"),
    except_column_list=["change"],
    stored_as_scd_type=2,
)
