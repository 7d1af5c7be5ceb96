-- Nights of a shop: stories from end to end.

-- A copy does not depend on its source.
CREATE TABLE sales USING delta AS SELECT id, id * 10 AS amount FROM range(5);
CREATE TABLE sales_copy USING delta COMMENT 'as of today' AS SELECT * FROM sales WHERE id > 1;
DROP TABLE sales;

SELECT * FROM sales;
-- error: TABLE_OR_VIEW_NOT_FOUND

SELECT * FROM sales_copy ORDER BY id;
-- columns: id, amount
-- ordered
-- | 2 | 20
-- | 3 | 30
-- | 4 | 40
-- spark: sales_copy
-- table: sales_copy
-- | 2 | 20
-- | 3 | 30
-- | 4 | 40

-- Last night and tonight.
CREATE TABLE stock USING delta AS SELECT * FROM VALUES ('apple', 3), ('pear', 5), ('fig', 1) AS t(item, n);
INSERT OVERWRITE stock VALUES ('apple', 3), ('pear', 4), ('plum', 9);

SELECT * FROM stock EXCEPT SELECT * FROM stock VERSION AS OF 0;
-- | pear | 4
-- | plum | 9

SELECT * FROM stock VERSION AS OF 0 EXCEPT SELECT * FROM stock;
-- | pear | 5
-- | fig | 1

SELECT count(*) FROM stock@v0;
-- | 3

-- RESTORE makes a new version.
RESTORE TABLE stock TO VERSION AS OF 0;
-- table: stock
-- | apple | 3
-- | pear | 5
-- | fig | 1

SELECT version, operation FROM (DESCRIBE HISTORY stock) ORDER BY version;
-- error: PARSE_SYNTAX_ERROR

SELECT item FROM stock VERSION AS OF 1 ORDER BY item;
-- ordered
-- | apple
-- | pear
-- | plum

SELECT item FROM stock VERSION AS OF 2 EXCEPT SELECT item FROM stock VERSION AS OF 0;
-- no rows

-- DROP deletes the files of a managed table, and keeps those of an external one.
DROP TABLE stock;

SELECT * FROM stock;
-- error: TABLE_OR_VIEW_NOT_FOUND

UNDROP TABLE stock;

SELECT count(*) FROM stock;
-- | 3

DROP TABLE stock PURGE;

UNDROP TABLE stock;
-- error: TABLE_NOT_FOUND no dropped table

CREATE TABLE outside USING delta LOCATION '${folder}/out side' AS SELECT 1 AS a;
DROP TABLE outside;

SELECT a FROM delta.`${folder}/out side`;
-- | 1

CREATE TABLE outside USING delta LOCATION '${folder}/out side';

SELECT a FROM outside;
-- | 1
-- spark: outside

DROP TABLE outside;
DROP TABLE sales_copy;
