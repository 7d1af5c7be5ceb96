-- Stories from beginning to end.

-- A copy does not need its source any more.

CREATE TABLE source (id INT, name STRING) USING delta;

INSERT INTO source VALUES (1, 'a'), (2, 'b');

CREATE TABLE copied USING delta AS SELECT id * 10 AS id, name FROM source;

DROP TABLE source;

SELECT * FROM source;
-- error: TABLE_OR_VIEW_NOT_FOUND

SELECT * FROM copied;
-- | 10 | a
-- | 20 | b
-- spark: copied

-- What changed between last night and tonight?

CREATE TABLE stock (item STRING, amount INT) USING delta;

INSERT INTO stock VALUES ('bread', 10), ('milk', 20), ('eggs', 30);

INSERT OVERWRITE stock VALUES ('bread', 8), ('milk', 20), ('tea', 5);

SELECT * FROM stock EXCEPT SELECT * FROM stock VERSION AS OF 1;
-- | bread | 8
-- | tea | 5

SELECT * FROM stock VERSION AS OF 1 EXCEPT SELECT * FROM stock;
-- | bread | 10
-- | eggs | 30

SELECT n.item, o.amount AS before, n.amount AS now FROM stock n JOIN stock@v1 o ON n.item = o.item WHERE n.amount <> o.amount;
-- columns: item, before, now
-- | bread | 10 | 8

-- RESTORE makes a new version; nothing is lost.

RESTORE TABLE stock TO VERSION AS OF 1;

SELECT * FROM stock;
-- | bread | 10
-- | milk | 20
-- | eggs | 30
-- spark: stock

SELECT count(*) FROM stock VERSION AS OF 2;
-- | 3

DESCRIBE HISTORY stock LIMIT 2;
-- | 3 | * | NULL | NULL | RESTORE | * | NULL | NULL | NULL | 2 | Serializable | false | * | NULL | *
-- | 2 | * | NULL | NULL | WRITE | * | NULL | NULL | NULL | 1 | * | * | * | NULL | *

-- DROP of a managed table deletes the files, of an external one it keeps them.

CREATE TABLE kept (id INT) USING delta LOCATION '${folder}/kept; it''s here';

INSERT INTO kept VALUES (7);

DROP TABLE kept;

SELECT * FROM delta.`${folder}/kept; it's here`;
-- | 7

CREATE TABLE kept USING delta LOCATION '${folder}/kept; it''s here';

SELECT * FROM kept;
-- | 7
-- spark: kept

DROP TABLE copied;

UNDROP TABLE copied;

SELECT count(*) FROM copied;
-- | 2

DROP TABLE copied PURGE;

UNDROP TABLE copied;
-- error: TABLE_NOT_FOUND
