-- ALTER TABLE: properties, columns, constraints, clustering, features.

CREATE TABLE t (id INT, name STRING, place STRUCT<city: STRING>) USING delta;

INSERT INTO t VALUES (1, 'a', named_struct('city', 'Ulm'));

ALTER TABLE t SET TBLPROPERTIES ('delta.logRetentionDuration' = 'interval 10 days', owner.team = 'x', delta.checkpointInterval = 20);
-- columns:
-- no rows

SHOW TBLPROPERTIES t ('owner.team');
-- columns: key, value
-- | owner.team | x

SHOW TBLPROPERTIES t ('delta.checkpointInterval');
-- | delta.checkpointInterval | 20

ALTER TABLE t UNSET TBLPROPERTIES ('owner.team');

ALTER TABLE t UNSET TBLPROPERTIES IF EXISTS ('owner.team');

ALTER TABLE t UNSET TBLPROPERTIES ('owner.team');

SHOW TBLPROPERTIES t (owner.team);
-- | owner.team | Table spark_catalog.corpus_alter.t does not have property: owner.team

ALTER TABLE t SET TBLPROPERTIES ('delta.apendOnly' = 'true');
-- error: TABLE_PROPERTY delta.appendOnly

ALTER TABLE t ADD COLUMNS (price DECIMAL(10, 2) COMMENT 'net', flags ARRAY<STRUCT<a: INT, b: STRING>> AFTER id);

ALTER TABLE t ADD COLUMN first_one BIGINT FIRST;

ALTER TABLE t ADD COLUMN place.zip INT;

SHOW COLUMNS IN t;
-- columns: col_name
-- ordered
-- | first_one
-- | id
-- | flags
-- | name
-- | place
-- | price

DESCRIBE t;
-- columns: col_name, data_type, comment
-- ordered
-- | first_one | bigint | NULL
-- | id | int | NULL
-- | flags | array<struct<a:int,b:string>> | NULL
-- | name | string | NULL
-- | place | struct<city:string,zip:int> | NULL
-- | price | decimal(10,2) | net

ALTER TABLE t ADD COLUMN name STRING;
-- error: FIELD_ALREADY_EXISTS

ALTER TABLE t ADD COLUMN a FANCY;
-- error: UNSUPPORTED_DATATYPE

ALTER TABLE t ADD COLUMN plaec.x INT;
-- error: UNRESOLVED_COLUMN

ALTER TABLE t ADD COLUMN b STRUCT<x: INT;
-- error: PARSE_SYNTAX_ERROR

ALTER TABLE t ALTER COLUMN name COMMENT 'the name; it''s quoted';

DESCRIBE t name;
-- | col_name | name
-- | data_type | string
-- | comment | the name; it's quoted

ALTER TABLE t CHANGE COLUMN name name STRING COMMENT 'other' AFTER price;

ALTER TABLE t CHANGE name COMMENT 'third';

COMMENT ON TABLE t IS 'about "t"';

COMMENT ON COLUMN t.id IS 'the key';

DESCRIBE t id;
-- columns: info_name, info_value
-- | col_name | id
-- | data_type | int
-- | comment | the key

DESC TABLE t name;
-- | col_name | name
-- | data_type | string
-- | comment | third

ALTER TABLE t ALTER COLUMN first_one AFTER id, id FIRST;

ALTER TABLE t ALTER COLUMN name SET NOT NULL;
-- error: _LEGACY_ERROR_TEMP_2330 nullable column to non-nullable

ALTER TABLE t ALTER COLUMN name DROP NOT NULL;

ALTER TABLE t ALTER COLUMN nam TYPE STRING;
-- error: UNRESOLVED_COLUMN

ALTER TABLE t ALTER COLUMN id TYPE BIGINT;
-- error: SCHEMA does not widen types

ALTER TABLE t SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true');

ALTER TABLE t ALTER COLUMN id TYPE BIGINT;

ALTER TABLE t ALTER COLUMN id TYPE INT;
-- error: NOT_SUPPORTED_CHANGE_COLUMN

ALTER TABLE t ALTER COLUMN id RENAMED;
-- error: PARSE_SYNTAX_ERROR 'RENAMED'

ALTER TABLE t DROP COLUMN flags;
-- error: SCHEMA

ALTER TABLE t RENAME COLUMN price TO cost;
-- error: SCHEMA

ALTER TABLE t SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name');

ALTER TABLE t DROP COLUMN flags;

ALTER TABLE t DROP COLUMNS (first_one, place.zip);

ALTER TABLE t DROP COLUMN IF EXISTS flags;

ALTER TABLE t DROP COLUMN flags;
-- error: UNRESOLVED_COLUMN

ALTER TABLE t RENAME COLUMN price TO `the price`;

ALTER TABLE t RENAME COLUMN `the prise` TO x;
-- error: UNRESOLVED_COLUMN

SELECT id, `the price`, name, place FROM t;
-- | 1 | NULL | a | {city: Ulm}
-- spark: t

ALTER TABLE t ADD CONSTRAINT positive CHECK (id > 0 AND (name IS NULL OR length(name) < 10));

INSERT INTO t VALUES (-1, NULL, NULL, NULL);
-- error: CONSTRAINT_VIOLATION positive

ALTER TABLE t ADD CONSTRAINT no CHECK (id > 1);
-- error: CONSTRAINT_VIOLATION

ALTER TABLE t ADD CONSTRAINT broken CHECK id > 1;
-- error: SQL expected '('

ALTER TABLE t ADD CONSTRAINT key PRIMARY KEY (id);
-- error: UNSUPPORTED_FEATURE CHECK constraints alone

ALTER TABLE t DROP CONSTRAINT positive;

ALTER TABLE t DROP CONSTRAINT IF EXISTS positive;

ALTER TABLE t DROP CONSTRAINT positive;
-- error: INVALID_ARGUMENT no constraint

ALTER TABLE t CLUSTER BY (id, place.city);

DESCRIBE DETAIL t;
-- columns: format, id, name, description, location, createdAt, lastModified, partitionColumns, clusteringColumns, numFiles, sizeInBytes, properties, minReaderVersion, minWriterVersion, tableFeatures

ALTER TABLE t CLUSTER BY (idd);
-- error: SCHEMA there is no column 'idd'

ALTER TABLE t CLUSTER BY NONE;

ALTER TABLE t CLUSTER BY AUTO;
-- error: PARSE_SYNTAX_ERROR 'AUTO'

ALTER TABLE t SET TBLPROPERTIES ('delta.feature.deletionVectors' = 'supported');

ALTER TABLE t DROP FEATURE nosuchfeature;
-- error: UNSUPPORTED_FEATURE

ALTER TABLE no_such_table ADD COLUMN x INT;
-- error: TABLE_OR_VIEW_NOT_FOUND

SELECT version, operation FROM (SELECT 1 AS version, 'x' AS operation);
-- | 1 | x
