-- WITH before changes, one source for several tables, REPLACE ON, REPLACE COLUMNS, and what is refused.

CREATE TABLE a (id INT, name STRING) USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true');
CREATE TABLE b (id INT, n BIGINT) USING delta;
CREATE TABLE p (id INT, day STRING) USING delta PARTITIONED BY (day) TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true');
INSERT INTO a VALUES (1, 'x'), (2, 'y'), (3, 'z');

WITH q AS (SELECT id FROM a WHERE id > 2) DELETE FROM a WHERE id IN (SELECT id FROM q);
-- | 1

WITH q AS (SELECT max(id) AS m FROM a), r(k) AS (SELECT m + 10 FROM q) UPDATE a AS t SET name = 'big', id = (SELECT k FROM r) WHERE t.id = (SELECT m FROM q);
-- | 1

WITH q AS (SELECT 1 AS one) DELETE FROM a WHERE id = (SELECT nothing FROM q);
-- error: UNRESOLVED_COLUMN

SELECT * FROM a;
-- | 1 | x
-- | 12 | big

FROM a INSERT INTO a SELECT id + 100, name WHERE id = 1 INSERT INTO b SELECT id, count(*) GROUP BY id INSERT OVERWRITE p (day, id) SELECT name, id;
-- table: a
-- | 1 | x
-- | 12 | big
-- | 101 | x
-- table: b
-- | 1 | 1
-- | 12 | 1
-- table: p
-- | 1 | x
-- | 12 | big

WITH c AS (SELECT 7 AS k) FROM c JOIN range(2) AS r INSERT INTO b SELECT k, r.id INSERT INTO a BY NAME SELECT 'c' AS name, k AS id WHERE r.id = 0;
-- table: b
-- | 1 | 1
-- | 12 | 1
-- | 7 | 0
-- | 7 | 1

FROM b SELECT id WHERE n = 0;
-- | 7

FROM a INSERT INTO a SELECT id, nmae INSERT INTO b SELECT id, 1;
-- error: UNRESOLVED_COLUMN

CREATE TABLE other (id INT) USING parquet;
FROM a INSERT INTO b SELECT id, 1 INSERT INTO other SELECT id;
-- error: UNSUPPORTED_FEATURE either into Delta tables alone

SELECT count(*) FROM b;
-- | 4

FROM a INSERT INTO other SELECT id WHERE id = 1 INSERT INTO other SELECT id WHERE id = 7;
SELECT * FROM other;
-- | 1
-- | 7

DROP TABLE other;

INSERT INTO a AS t REPLACE ON t.id = s.id (SELECT 1 AS id, 'new' AS name UNION ALL SELECT 50, 'n50') AS s;
-- table: a
-- | 1 | new
-- | 7 | c
-- | 12 | big
-- | 50 | n50
-- | 101 | x

INSERT INTO a REPLACE ON a.id = s.id AND s.id IN (SELECT id FROM b) (VALUES (1, 'v1'), (50, 'v50')) s(id, name);
-- table: a
-- | 1 | v1
-- | 7 | c
-- | 12 | big
-- | 50 | n50
-- | 50 | v50
-- | 101 | x

INSERT INTO a REPLACE ON a.id >= s.id (SELECT CAST(rand() * 0 AS INT) + 50 AS id, 'over' AS name) s;
-- table: a
-- | 1 | v1
-- | 7 | c
-- | 12 | big
-- | 50 | over

INSERT INTO a BY NAME REPLACE ON a.id = s.id (SELECT 'named' AS name, 7 AS id FROM a) s;
SELECT * FROM a WHERE name = 'named';
-- | 7 | named
-- | 7 | named
-- | 7 | named
-- | 7 | named

INSERT INTO a REPLACE ON a.id = s.id (SELECT id, name FROM a WHERE false) s;

SELECT count(*) FROM a;
-- | 7

INSERT INTO p REPLACE ON p.day = s.day (SELECT 5 AS id, 'big' AS day) s;
-- table: p
-- | 1 | x
-- | 5 | big

SELECT id, day, _change_type FROM table_changes('p', 2);
-- | 12 | big | delete
-- | 5 | big | insert

INSERT INTO a REPLACE ON a.id = s.nothing (SELECT 1 AS id, 'x' AS name) s;
-- error: UNRESOLVED_COLUMN `s`.`nothing`

INSERT INTO a AS t VALUES (1, 'x');
-- error: SQL an alias of the table goes with REPLACE ON

INSERT INTO a REPLACE SOME (SELECT 1, 'x');
-- error: SQL expected WHERE, USING or ON

INSERT WITH SCHEMA EVOLUTION INTO b BY NAME SELECT 9 AS id, 2L AS n, 1.5 AS extra;
SELECT * FROM b WHERE id = 9;
-- | 9 | 2 | 1.5

ALTER TABLE b REPLACE COLUMNS (n BIGINT COMMENT 'how many', id INT, extra DECIMAL(2, 1), more STRUCT<x: INT>);
DESCRIBE b;
-- ordered
-- | n | bigint | how many
-- | id | int | NULL
-- | extra | decimal(2,1) | NULL
-- | more | struct<x:int> | NULL

SELECT * FROM b WHERE id = 9;
-- | 2 | 9 | 1.5 | NULL

ALTER TABLE b REPLACE COLUMNS (n BIGINT, id INT);
-- error: SCHEMA leaves out extra, more

ALTER TABLE b REPLACE COLUMNS (n BIGINT, id BIGINT, extra DECIMAL(2, 1), more STRUCT<x: INT>);
-- error: SCHEMA cannot change the type of id

ALTER TABLE b REPLACE COLUMNS (n BIGINT NOT NULL, id INT, extra DECIMAL(2, 1), more STRUCT<x: INT>);
-- error: _LEGACY_ERROR_TEMP_0034 NOT NULL is not supported

ALTER TABLE b REPLACE COLUMNS (n BIGINT, id INT, extra DECIMAL(2, 1), more STRUCT<x: INT>, z INT NOT NULL);
-- error: _LEGACY_ERROR_TEMP_0034 NOT NULL is not supported

ALTER TABLE b SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name');
ALTER TABLE b REPLACE COLUMNS (id INT, z INT);
-- error: SCHEMA nobody can tell

ALTER TABLE b REPLACE COLUMNS (id INT, n BIGINT, more STRUCT<x: INT, y: INT>);
SELECT * FROM b WHERE id = 9;
-- columns: id, n, more
-- | 9 | 2 | NULL

ALTER TABLE p ADD IF NOT EXISTS PARTITION (day = 'q');
-- error: INVALID_PARTITION_OPERATION

ALTER TABLE p DROP PARTITION (day = 'q');
-- error: INVALID_PARTITION_OPERATION

ALTER TABLE p ALTER COLUMN id SYNC IDENTITY;
-- error: SCHEMA no identity column

ALTER TABLE p SET LOCATION '${folder}/elsewhere';
-- error: TABLE_NOT_FOUND is not a Delta table

CREATE TABLE one (id INT) USING delta LOCATION '${folder}/one';
CREATE TABLE two USING delta OPTIONS (path '${folder}/two') AS SELECT 2 AS id;
CREATE TABLE three USING delta LOCATION '${folder}/three' AS SELECT 'x' AS id;
ALTER TABLE one SET LOCATION '${folder}/three';
-- error: SCHEMA_MISMATCH other columns

ALTER TABLE one SET LOCATION '${folder}/nothing';
-- error: TABLE_NOT_FOUND

ALTER TABLE one SET LOCATION '${folder}/two';
SELECT * FROM one;
-- | 2

CREATE TABLE optional (id INT) USING delta OPTIONS (header 'true');
-- error: UNSUPPORTED_FEATURE no option but 'path'

DROP TABLE one;
SELECT * FROM two;
-- | 2
