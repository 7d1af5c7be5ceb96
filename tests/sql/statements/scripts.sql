-- Scripts, functions and EXECUTE IMMEDIATE. A statement ends with a semicolon at the end of a line, so scripts are on one line.

SET spark.sql.scripting.enabled = true;

CREATE TABLE stock (item STRING, n INT) USING delta;

BEGIN INSERT INTO stock VALUES ('apple', 3), ('pear', 5); UPDATE stock SET n = n - 1 WHERE item = 'pear'; SELECT * FROM stock; END;
-- columns: item, n
-- | apple | 3
-- | pear | 4
-- table: stock
-- | apple | 3
-- | pear | 4

-- The rows of a loop are those of the version before it.
BEGIN FOR s AS SELECT item, n FROM stock DO INSERT INTO stock VALUES (s.item || 's', s.n * 10); END FOR; SELECT count(*) FROM stock; END;
-- | 4

BEGIN DECLARE most INT; SET most = (SELECT max(n) FROM stock); DELETE FROM stock WHERE n = most; SELECT most, sum(n) FROM stock; END;
-- | 40 | 37
-- table: stock
-- | apple | 3
-- | pear | 4
-- | apples | 30

CREATE FUNCTION in_stock(what STRING) RETURNS BIGINT RETURN SELECT sum(n) FROM stock WHERE startswith(item, what);

SELECT in_stock('apple') AS n;
-- columns: n
-- | 33

INSERT INTO stock VALUES ('apple', 1);

SELECT in_stock('apple'), in_stock('fig');
-- | 34 | NULL

BEGIN MERGE INTO stock USING (SELECT 'fig' AS item) s ON stock.item = s.item WHEN NOT MATCHED THEN INSERT (item, n) VALUES ('fig', in_stock('pear')); SELECT in_stock('fig'); END;
-- | 4

EXECUTE IMMEDIATE 'DELETE FROM stock WHERE n < ?' USING 4;
-- columns: num_affected_rows
-- | 2

EXECUTE IMMEDIATE 'SELECT item FROM stock VERSION AS OF :v' USING 1 AS v;
-- | apple
-- | pear

EXECUTE IMMEDIATE 'ALTER TABLE stock ADD COLUMN place STRING';

EXECUTE IMMEDIATE 'DESCRIBE DETAIL nothing';
-- error: TABLE_NOT_FOUND

BEGIN INSERT INTO stock VALUES ('plum', 7, 'left'); INSERT INTO stock VALUES ('plum'); END;
-- error: SCHEMA_MISMATCH values are needed for 3

SELECT * FROM stock;
-- | apples | 30 | NULL
-- | pear | 4 | NULL
-- | fig | 4 | NULL
-- | plum | 7 | left
-- spark: stock

DROP FUNCTION in_stock;
