-- CREATE TABLE and its family.

CREATE TABLE plain (id INT NOT NULL, name STRING COMMENT 'who', amount DECIMAL(10, 2)) USING delta;
INSERT INTO plain VALUES (1, 'a', 1.50);
-- table: plain
-- | 1 | a | 1.50

INSERT INTO plain VALUES (NULL, 'b', 1);
-- error: CONSTRAINT_VIOLATION

CREATE TABLE plain (id INT) USING delta;
-- error: TABLE_OR_VIEW_ALREADY_EXISTS

CREATE TABLE IF NOT EXISTS plain (other INT) USING delta;

SELECT * FROM plain;
-- columns: id, name, amount
-- | 1 | a | 1.50

CREATE TABLE made (id BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 5 INCREMENT BY 2), day DATE, year INT GENERATED ALWAYS AS (year(day)), state STRING DEFAULT 'new') USING delta PARTITIONED BY (year);
INSERT INTO made (day) VALUES (DATE'2026-01-31');

SELECT * FROM made;
-- | 5 | 2026-01-31 | 2026 | new

CREATE TABLE checked (a INT, CONSTRAINT small CHECK (a < 10)) USING delta;
INSERT INTO checked VALUES (11);
-- error: CONSTRAINT_VIOLATION small

CREATE TABLE typed (a INT) USING delta PARTITIONED BY (p STRING) TBLPROPERTIES ('delta.appendOnly' = 'true');
INSERT INTO typed VALUES (1, 'x');

SELECT * FROM typed;
-- columns: a, p
-- | 1 | x

DELETE FROM typed;
-- error: APPEND_ONLY

CREATE TABLE clustered (a INT, b STRING) USING delta CLUSTER BY (a, b) COMMENT 'c';

SHOW CREATE TABLE checked;
-- columns: createtab_stmt

CREATE OR REPLACE TABLE plain USING delta AS SELECT 'x' AS letter, 2 AS n;

SELECT * FROM plain;
-- columns: letter, n
-- | x | 2

SELECT id FROM plain VERSION AS OF 1;
-- | 1

REPLACE TABLE nothing USING delta AS SELECT 1 AS a;
-- error: TABLE_OR_VIEW_NOT_FOUND

REPLACE TABLE plain (z INT) USING delta;

SELECT * FROM plain;
-- columns: z
-- no rows

CREATE TABLE alike LIKE made;

SHOW COLUMNS IN alike;
-- | id
-- | day
-- | year
-- | state

CREATE TABLE deep DEEP CLONE made;
-- columns: source_table_size, source_num_of_files, num_removed_files, num_copied_files, removed_files_size, copied_files_size
-- | * | 1 | 0 | 1 | 0 | *

CREATE TABLE shallow SHALLOW CLONE made VERSION AS OF 0;

SELECT count(*) FROM shallow;
-- | 0

SELECT * FROM deep;
-- | 5 | 2026-01-31 | 2026 | new

CREATE TABLE delta.`${folder}/by path; --` AS SELECT 1 AS a;

SELECT * FROM delta.`${folder}/by path; --`;
-- | 1

CREATE TABLE of_it USING delta LOCATION '${folder}/by path; --';

SELECT * FROM of_it;
-- | 1

CREATE TABLE other_columns (b STRING) USING delta LOCATION '${folder}/by path; --';
-- error: SCHEMA_MISMATCH other columns

TRUNCATE TABLE of_it;

SELECT count(*) FROM of_it;
-- | 0

ALTER TABLE of_it RENAME TO of_them;

SELECT count(*) FROM of_them;
-- | 0

SELECT * FROM of_it;
-- error: TABLE_OR_VIEW_NOT_FOUND

CREATE TABLE `not ok` (a INT) USING delta;
-- error: INVALID_ARGUMENT cannot be a name

CREATE TABLE twice (a INT, A INT) USING delta;
-- error: COLUMN_ALREADY_EXISTS

CREATE TABLE keyed (a INT, PRIMARY KEY (a)) USING delta;
-- error: UNSUPPORTED_FEATURE CHECK constraints alone

CREATE TABLE broken (a INT USING delta;
-- error: PARSE_SYNTAX_ERROR

CREATE TABLE failing USING delta AS SELECT CAST(raise_error('broken') AS INT) AS a;
-- error: USER_RAISED_EXCEPTION

SELECT * FROM failing;
-- error: TABLE_OR_VIEW_NOT_FOUND

DROP TABLE nothing;
-- error: TABLE_OR_VIEW_NOT_FOUND

DROP TABLE IF EXISTS nothing;

DROP TABLE deep;
UNDROP TABLE deep;

SELECT count(*) FROM deep;
-- | 1

CREATE TABLE of_spark (a INT) USING parquet;
INSERT INTO of_spark VALUES (3);
SELECT * FROM of_spark;
-- | 3

DROP TABLE of_spark;
