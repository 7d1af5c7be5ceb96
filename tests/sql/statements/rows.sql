-- DELETE, UPDATE and INSERT, as users write them.

CREATE TABLE items (id INT, name STRING, price DOUBLE) USING delta;

INSERT INTO items VALUES (1, 'a', 1.5), (2, 'b', 2.5), (3, NULL, NULL);
-- columns:
-- no rows

SELECT * FROM items ORDER BY id;
-- columns: id, name, price
-- ordered
-- | 1 | a | 1.5
-- | 2 | b | 2.5
-- | 3 | NULL | NULL
-- spark: items

INSERT INTO items (name, id) VALUES ('d', 4);
-- table: items
-- | 1 | a | 1.5
-- | 2 | b | 2.5
-- | 3 | NULL | NULL
-- | 4 | d | NULL

INSERT INTO TABLE items SELECT id + 10, upper(name), price * 2 FROM items WHERE id < 3;

SELECT id, name, price FROM items WHERE id > 10;
-- | 11 | A | 3.0
-- | 12 | B | 5.0
-- spark: items

DELETE FROM items WHERE id > 10 AND name = 'A';
-- columns: num_affected_rows
-- | 1

DELETE FROM items AS i WHERE i.id = 12;
-- | 1

DELETE FROM items i WHERE i.id = 99;
-- | 0

UPDATE items SET price = price + 1, name = concat(name, '!') WHERE id IN (1, 2);
-- columns: num_affected_rows
-- | 2

UPDATE items AS t SET t.price = CASE WHEN t.id = 3 THEN 30 ELSE 40 END WHERE t.price IS NULL;
-- | 2
-- table: items
-- | 1 | a! | 2.5
-- | 2 | b! | 3.5
-- | 3 | NULL | 30.0
-- | 4 | d | 40.0

UPDATE items SET prise = 1;
-- error: UNRESOLVED_COLUMN

UPDATE items SET price = prise;
-- error: UNRESOLVED_COLUMN

UPDATE items SET price = 1, price = 2;
-- error: INVALID_ARGUMENT assigned twice

UPDATE items SET price 1;
-- error: PARSE_SYNTAX_ERROR '1'

DELETE FROM items WHERE nam = 'x';
-- error: UNRESOLVED_COLUMN

DELETE FROM items WHERE;
-- error: SQL the condition behind WHERE is missing

DELETE items WHERE id = 1;
-- error: PARSE_SYNTAX_ERROR 'items'

INSERT INTO items VALUES (1, 'x');
-- error: SCHEMA_MISMATCH values are needed for 3

INSERT INTO items (id, nam) VALUES (1, 'x');
-- error: UNRESOLVED_COLUMN

INSERT INTO items (id, id) VALUES (1, 2);
-- error: COLUMN_ALREADY_EXISTS

INSERT INTO items BY NAME SELECT 5 AS id, 'e' AS NAME;

INSERT INTO items BY NAME SELECT 6 AS id, 'f' AS other;
-- error: SCHEMA_MISMATCH other

INSERT INTO items SELECT '7', 8, '9.5';

SELECT * FROM items WHERE id IN (5, 7);
-- | 5 | e | NULL
-- | 7 | 8 | 9.5

INSERT INTO items VALUES (3000000000, 'x', 1);
-- error: CAST_OVERFLOW

UPDATE items SET name = "it's; -- not a comment" WHERE id = 5;

SELECT name FROM items WHERE name = 'it\'s; -- not a comment';
-- | it's; -- not a comment

WITH fresh AS (SELECT 20 AS id, 'w' AS name, 1.0D AS price) INSERT INTO items SELECT * FROM fresh;

INSERT INTO items WITH more AS (SELECT 21 AS id) SELECT id, 'm', 2 FROM more;

INSERT INTO items TABLE items;

SELECT count(*), count(DISTINCT id) FROM items;
-- | 16 | 8
-- spark: items

DELETE FROM items WHERE id IN (SELECT max(id) FROM items);
-- | 2

INSERT OVERWRITE items VALUES (1, 'only', 0);
-- table: items
-- | 1 | only | 0.0

INSERT OVERWRITE TABLE items SELECT id * 2, name, price FROM items;
-- table: items
-- | 2 | only | 0.0

DELETE FROM items;
-- | 1

SELECT count(*) FROM items;
-- | 0
