-- Silver: the orders that are right.
CREATE STREAMING TABLE silver_orders USING delta PARTITIONED BY (region)
AS SELECT *, CAST(round(amount * 100) AS BIGINT) AS cents FROM STREAM bronze_orders WHERE amount > 0;

-- Gold: what each region has paid.
CREATE MATERIALIZED VIEW gold_revenue USING delta
AS SELECT region, sum(cents) AS cents, count(*) AS orders FROM silver_orders GROUP BY region;
