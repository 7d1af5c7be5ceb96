-- CREATE TABLE and its family, DROP, TRUNCATE, SHOW.

CREATE TABLE a (id BIGINT NOT NULL COMMENT 'key', day DATE, year INT GENERATED ALWAYS AS (year(day)), note STRING DEFAULT 'none') USING delta PARTITIONED BY (year) COMMENT 'about a' TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported', team = 'x');

INSERT INTO a (id, day) VALUES (1, DATE'2025-06-01'), (2, DATE'2026-06-01');

INSERT INTO a (id, day, note) VALUES (3, DATE'2026-07-01', DEFAULT);

SELECT * FROM a WHERE day >= DATE'2026-01-01';
-- columns: id, day, year, note
-- | 2 | 2026-06-01 | 2026 | none
-- | 3 | 2026-07-01 | 2026 | none

INSERT INTO a (id, day, year) VALUES (4, DATE'2026-01-01', 1999);
-- error: CONSTRAINT_VIOLATION

INSERT INTO a (id, day) VALUES (NULL, DATE'2026-01-01');
-- error: CONSTRAINT_VIOLATION

SHOW PARTITIONS a;
-- | 2025
-- | 2026

CREATE TABLE a (id INT) USING delta;
-- error: TABLE_OR_VIEW_ALREADY_EXISTS

CREATE TABLE IF NOT EXISTS a (other INT) USING delta;

SHOW COLUMNS IN a;
-- | id
-- | day
-- | year
-- | note

CREATE TABLE ids (id BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 10 INCREMENT BY 5), v STRING) USING delta;

INSERT INTO ids (v) VALUES ('a');

INSERT INTO ids VALUES (DEFAULT, 'b');

SELECT count(*), count(DISTINCT id), min(id) >= 10, max((id - 10) % 5) FROM ids;
-- | 2 | 2 | true | 0
-- spark: ids

INSERT INTO ids VALUES (1, 'c');
-- error: SCHEMA_MISMATCH

CREATE TABLE clustered (id INT, name STRING) USING delta CLUSTER BY (id);

INSERT INTO clustered VALUES (1, 'x');

OPTIMIZE clustered FULL;

DESCRIBE clustered;
-- ordered
-- | id | int | NULL
-- | name | string | NULL
-- | # Clustering Information |  |
-- | # col_name | data_type | comment
-- | id | int | NULL

CREATE TABLE b USING delta AS SELECT id, note FROM a WHERE id < 3;

SELECT * FROM b;
-- | 1 | none
-- | 2 | none
-- spark: b

CREATE OR REPLACE TABLE b USING delta PARTITIONED BY (half) AS SELECT id, id % 2 AS half FROM range(4);

SELECT * FROM b;
-- | 0 | 0
-- | 1 | 1
-- | 2 | 0
-- | 3 | 1
-- spark: b

SELECT * FROM b VERSION AS OF 0;
-- | 1 | none
-- | 2 | none

CREATE TABLE twin LIKE a;

SHOW COLUMNS IN twin;
-- | id
-- | day
-- | year
-- | note

SELECT count(*) FROM twin;
-- | 0

CREATE TABLE shallow SHALLOW CLONE b;

CREATE TABLE deep DEEP CLONE b VERSION AS OF 0;

SELECT count(*) FROM shallow;
-- | 4
-- spark: shallow

SELECT * FROM deep;
-- | 1 | none
-- | 2 | none
-- spark: deep

INSERT INTO shallow VALUES (9, 1);

SELECT count(*) FROM b;
-- | 4

CREATE OR REPLACE TABLE deep DEEP CLONE b;

SELECT count(*) FROM deep;
-- | 4

TRUNCATE TABLE deep;

SELECT count(*) FROM deep;
-- | 0

SELECT count(*) FROM deep VERSION AS OF 1;
-- | 4

ALTER TABLE deep RENAME TO deeper;

SELECT count(*) FROM deeper;
-- | 0

DROP TABLE deeper;

DROP TABLE deeper;
-- error: TABLE

DROP TABLE IF EXISTS deeper;

SHOW TABLES LIKE 'sh*';
-- columns: namespace, tableName, isTemporary
-- | corpus_tables | shallow | false

CREATE VIEW seen AS SELECT id FROM b WHERE half = 1;

SELECT * FROM seen;
-- | 1
-- | 3

DESCRIBE HISTORY seen;
-- error: INVALID_ARGUMENT is a view

DELETE FROM b WHERE id = 3;

SELECT * FROM seen;
-- | 1

CREATE TABLE bad (id INT, id STRING) USING delta;
-- error: COLUMN_ALREADY_EXISTS

CREATE TABLE bad (id INTT) USING delta;
-- error: UNSUPPORTED_DATATYPE

CREATE TABLE bad (id INT) USING delta PARTITIONED BY (idd);
-- error: _LEGACY_ERROR_TEMP_3060
