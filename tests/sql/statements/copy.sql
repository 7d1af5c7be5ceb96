-- COPY INTO: files into tables, each file once.

CREATE TABLE loaded (id INT, name STRING, price DOUBLE) USING delta;

INSERT OVERWRITE DIRECTORY '${folder}/csv one' USING csv OPTIONS (header 'true') SELECT /*+ COALESCE(1) */ * FROM VALUES (1, 'a', 1.5D), (2, 'b', NULL) AS t(id, name, price);

COPY INTO loaded FROM '${folder}/csv one' FILEFORMAT = CSV FORMAT_OPTIONS ('header' = 'true');
-- columns: num_affected_rows, num_inserted_rows, num_skipped_corrupt_files
-- | 2 | 2 | 0
-- table: loaded
-- | 1 | a | 1.5
-- | 2 | b | NULL

COPY INTO loaded FROM '${folder}/csv one' FILEFORMAT = CSV FORMAT_OPTIONS ('header' = 'true');
-- | 0 | 0 | 0

COPY INTO loaded FROM '${folder}/csv one' FILEFORMAT = CSV FORMAT_OPTIONS ('header' = 'true') COPY_OPTIONS ('force' = 'true');
-- | 2 | 2 | 0

INSERT OVERWRITE DIRECTORY '${folder}/json' USING json SELECT /*+ COALESCE(1) */ * FROM VALUES ('x', 10L), ('y', 11L) AS t(name, id);

COPY INTO loaded FROM (SELECT id, upper(name) AS name, id / 2 AS price FROM '${folder}/json' WHERE id > 10) FILEFORMAT = JSON PATTERN = '*.json';
-- | 1 | 1 | 0

INSERT OVERWRITE DIRECTORY '${folder}/parquet' USING parquet SELECT /*+ COALESCE(1) */ 20 AS id, 'p' AS name, true AS extra;

COPY INTO loaded FROM '${folder}/parquet' FILEFORMAT = PARQUET;
-- error: SCHEMA_MISMATCH extra

COPY INTO loaded FROM '${folder}/parquet' FILEFORMAT = PARQUET VALIDATE ALL;
-- columns: id, name, extra
-- | 20 | p | true

COPY INTO loaded FROM '${folder}/parquet' FILEFORMAT = PARQUET COPY_OPTIONS ('mergeSchema' = 'true');
-- | 1 | 1 | 0

SELECT id, name, price, extra FROM loaded WHERE id >= 10;
-- | 11 | Y | 5.5 | NULL
-- | 20 | p | NULL | true
-- spark: loaded

INSERT OVERWRITE DIRECTORY '${folder}/text' USING text SELECT /*+ COALESCE(1) */ * FROM VALUES ('30,t') AS t(line);

COPY INTO loaded (id, name) FROM (SELECT split_part(value, ',', 1), split_part(value, ',', 2) FROM '${folder}/text') FILEFORMAT = TEXT;
-- | 1 | 1 | 0

INSERT OVERWRITE DIRECTORY '${folder}/orc' USING orc SELECT /*+ COALESCE(1) */ 40, 'o', 4.0D, false;

COPY INTO loaded BY POSITION FROM '${folder}/orc' FILEFORMAT = ORC;
-- | 1 | 1 | 0

SELECT id, name, extra FROM loaded WHERE id >= 30;
-- | 30 | t | NULL
-- | 40 | o | false
-- spark: loaded

COPY INTO loaded FROM '${folder}/csv one' FILEFORMAT = XSLX;
-- error: SQL files of the format xslx

COPY INTO loaded FROM '${folder}/csv one' FILEFORMAT = CSV FILES = ('no such.csv');
-- error: DATA_FILE no such.csv

COPY INTO loaded FROM '${folder}/csv one' FILEFORMAT = CSV COPY_OPTIONS ('forse' = 'true');
-- error: SQL did you mean force?

COPY INTO loaded FROM '${folder}/csv one' FILEFORMT = CSV;
-- error: SQL did you mean FILEFORMAT?

COPY INTO loaded FROM '${folder}/csv one';
-- error: SQL add FILEFORMAT

COPY INTO loaded FROM '${folder}/nothing' FILEFORMAT = CSV;
-- error: DATA_FILE there are no files

COPY INTO loaded FROM (SELECT idd FROM '${folder}/json') FILEFORMAT = JSON COPY_OPTIONS (force = true);
-- error: SQL did you mean id

COPY INTO lodaed FROM '${folder}/json' FILEFORMAT = JSON;
-- error: TABLE_NOT_FOUND did you mean loaded
