-- INSERT: partitions, replacing, defaults.

CREATE TABLE sales (day DATE, shop STRING, amount INT) USING delta PARTITIONED BY (day, shop);

INSERT INTO sales VALUES ('2026-01-01', 'n', 1), ('2026-01-01', 's', 2), ('2026-01-02', 'n', 3);

INSERT INTO sales PARTITION (day = '2026-01-03', shop = 'n') VALUES (4), (5);

INSERT INTO sales PARTITION (day = '2026-01-03', shop) SELECT 's', 6;

INSERT INTO sales PARTITION (shop = 'x') (amount, day) VALUES (7, DATE'2026-01-04');

SELECT * FROM sales ORDER BY ALL;
-- ordered
-- | 2026-01-01 | n | 1
-- | 2026-01-01 | s | 2
-- | 2026-01-02 | n | 3
-- | 2026-01-03 | n | 4
-- | 2026-01-03 | n | 5
-- | 2026-01-03 | s | 6
-- | 2026-01-04 | x | 7
-- spark: sales

INSERT OVERWRITE sales PARTITION (day = '2026-01-03') SELECT 'n', 40;

SELECT * FROM sales WHERE day >= DATE'2026-01-03';
-- | 2026-01-03 | n | 40
-- | 2026-01-04 | x | 7

INSERT OVERWRITE sales PARTITION (day = '2026-01-03', shop = 'n') IF NOT EXISTS VALUES (999);

INSERT INTO sales REPLACE WHERE day = '2026-01-01' VALUES (DATE'2026-01-01', 'n', 10);

INSERT INTO sales REPLACE WHERE amount = 7 SELECT DATE'2026-01-05', 'y', 7;

SELECT * FROM sales WHERE day <= DATE'2026-01-01' OR amount = 7;
-- | 2026-01-01 | n | 10
-- | 2026-01-05 | y | 7
-- spark: sales

INSERT INTO sales REPLACE WHERE day = '2026-01-01' VALUES (DATE'2026-01-02', 'n', 10);
-- error: CONSTRAINT_VIOLATION

SET spark.sql.sources.partitionOverwriteMode = dynamic;

INSERT OVERWRITE sales VALUES (DATE'2026-01-02', 'n', 33);

INSERT OVERWRITE TABLE sales PARTITION (day = '2026-01-01', shop) VALUES ('z', 1);

SET spark.sql.sources.partitionOverwriteMode = static;

INSERT INTO sales REPLACE USING (day, shop) VALUES (DATE'2026-01-05', 'y', 70);

SELECT * FROM sales;
-- | 2026-01-01 | n | 10
-- | 2026-01-01 | z | 1
-- | 2026-01-02 | n | 33
-- | 2026-01-03 | n | 40
-- | 2026-01-05 | y | 70
-- spark: sales

INSERT INTO sales PARTITION (amount = 1) VALUES (DATE'2026-01-05', 'y');
-- error: NON_PARTITION_COLUMN

INSERT INTO sales PARTITION (dya = '2026-01-05') VALUES ('y', 1);
-- error: NON_PARTITION_COLUMN

INSERT INTO sales PARTITION (shop = 'x') (amount, shop) VALUES (7, 'y');
-- error: STATIC_PARTITION_COLUMN_IN_INSERT_COLUMN_LIST

INSERT INTO sales REPLACE USING (amount) VALUES (DATE'2026-01-05', 'y', 70);
-- error: INVALID_ARGUMENT REPLACE USING

INSERT INTO sales;
-- error: SQL expected the rows to insert

INSERT INTO sales DEFAULT VALUES;
-- error: SQL expected the rows to insert

CREATE TABLE notes (id BIGINT, text STRING, size INT) USING delta TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported');

ALTER TABLE notes ALTER COLUMN text SET DEFAULT 'none';

ALTER TABLE notes ALTER COLUMN size SET DEFAULT 2 * 21;

INSERT INTO notes VALUES (1, DEFAULT, DEFAULT), (2, DEFAULT, 7);

INSERT INTO notes (id) VALUES (3);

INSERT INTO notes SELECT 4, 'some', DEFAULT;

INSERT INTO notes VALUES (DEFAULT, 'default', DEFAULT);

UPDATE notes SET size = DEFAULT WHERE id = 2;

SELECT * FROM notes;
-- | 1 | none | 42
-- | 2 | none | 42
-- | 3 | none | 42
-- | 4 | some | 42
-- | NULL | default | 42
-- spark: notes

SET spark.sql.ansi.enabled = false;

INSERT INTO notes VALUES ('x', 'not a number', 1);
-- error: CAST_INVALID_INPUT 'x'

SET spark.sql.ansi.enabled = true;

CREATE TABLE nested (id INT, place STRUCT<city: STRING, zip: INT>, tags ARRAY<STRING>, more MAP<STRING, INT>) USING delta;

INSERT INTO nested VALUES (1, named_struct('city', 'Ulm', 'zip', 89073), array('a', 'b'), map('k', 1));

INSERT INTO nested SELECT 2, NULL, array(), map();

INSERT INTO nested BY NAME SELECT 3 AS id, named_struct('zip', '12345', 'city', 'X') AS place;
-- error: CAST_INVALID_INPUT 'X'

INSERT INTO nested BY NAME SELECT 3 AS id, named_struct('zip', 12345, 'city', 'X') AS place;

UPDATE nested SET place.zip = 1 WHERE place.city = 'Ulm';

SELECT * FROM nested ORDER BY id;
-- ordered
-- | 1 | {city: Ulm, zip: 1} | [a, b] | {k: 1}
-- | 2 | NULL | [] | {}
-- | 3 | {city: X, zip: 12345} | NULL | NULL

SET spark.databricks.delta.schema.autoMerge.enabled = true;

INSERT INTO notes SELECT 9, 'grown', 1, true AS flag;

INSERT INTO notes BY NAME SELECT 10 AS id, 1.5D AS ratio;

SELECT id, flag, ratio FROM notes WHERE id > 8;
-- | 9 | true | NULL
-- | 10 | NULL | 1.5

SET spark.databricks.delta.schema.autoMerge.enabled = false;
