-- Queries over Delta tables: by name, by path, at versions, through views.

CREATE TABLE orders (id INT, customer STRING, amount DOUBLE) USING delta
TBLPROPERTIES (delta.enableChangeDataFeed = true);

INSERT INTO orders VALUES (1, 'ann', 10.0), (2, 'bob', 20.0);

INSERT INTO orders VALUES (3, 'ann', 5.5), (4, NULL, NULL);

CREATE TABLE customers (name STRING, city STRING) USING delta LOCATION '${folder}/cust; ''omers';

INSERT INTO customers VALUES ('ann', 'Bern'), ('bob', 'Rome'), ('eve', 'Oslo');

SELECT * FROM orders;
-- columns: id, customer, amount
-- | 1 | ann | 10.0
-- | 2 | bob | 20.0
-- | 3 | ann | 5.5
-- | 4 | NULL | NULL
-- spark: orders

SELECT orders.id, o2.customer FROM orders JOIN orders o2 ON orders.id = o2.id + 1 ORDER BY 1;
-- ordered
-- | 2 | ann
-- | 3 | bob
-- | 4 | ann
-- spark: orders

SELECT c.city, sum(o.amount) AS total FROM orders o JOIN customers c ON o.customer = c.name
GROUP BY c.city HAVING total > 1 ORDER BY total DESC;
-- columns: city, total
-- ordered
-- | Rome | 20.0
-- | Bern | 15.5
-- spark: orders, customers

SELECT name FROM customers WHERE name NOT IN (SELECT customer FROM orders WHERE customer IS NOT NULL);
-- | eve
-- spark: orders, customers

SELECT name FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.name AND o.amount > 15);
-- | bob
-- spark: orders, customers

SELECT id, (SELECT max(city) FROM customers WHERE name = customer) AS city FROM orders WHERE id < 3;
-- | 1 | Bern
-- | 2 | Rome
-- spark: orders, customers

WITH big AS (SELECT * FROM orders WHERE amount >= 10), orders AS (SELECT id FROM big) SELECT * FROM orders;
-- | 1
-- | 2

SELECT customer, amount, rank() OVER (PARTITION BY customer ORDER BY amount) AS r FROM orders WHERE customer = 'ann';
-- | ann | 5.5 | 1
-- | ann | 10.0 | 2
-- spark: orders

SELECT id FROM orders UNION ALL SELECT 9 EXCEPT SELECT id FROM orders WHERE id > 2;
-- | 1
-- | 2
-- | 9
-- spark: orders

SELECT t.id, x.twice FROM orders t, LATERAL (SELECT t.id * 2 AS twice) x WHERE t.id = 2;
-- | 2 | 4
-- spark: orders

SELECT * FROM (SELECT customer, amount FROM orders) PIVOT (sum(amount) FOR customer IN ('ann', 'bob'));
-- | 15.5 | 20.0
-- spark: orders

SELECT /*+ BROADCAST(c) */ count(*) FROM orders o LEFT ANTI JOIN customers c ON o.customer = c.name;
-- | 1
-- spark: orders, customers

FROM orders SELECT count(*), count(amount), min(amount);
-- | 4 | 3 | 5.5
-- spark: orders

TABLE customers;
-- | ann | Bern
-- | bob | Rome
-- | eve | Oslo

SELECT count(*) FROM delta.`${folder}/cust; 'omers`;
-- | 3

SELECT count(*) FROM orders VERSION AS OF 1;
-- | 2

SELECT count(*) FROM orders@v1;
-- | 2

SELECT count(*) FROM orders FOR VERSION AS OF 0;
-- | 0

SELECT count(*) FROM orders WITH (versionAsOf = 1);
-- | 2

SELECT * FROM orders EXCEPT SELECT * FROM orders VERSION AS OF 1;
-- | 3 | ann | 5.5
-- | 4 | NULL | NULL

SELECT count(*) FROM delta.`${folder}/cust; 'omers@v0`;
-- | 0

SELECT count(*) FROM orders VERSION AS OF 99;
-- error: VERSION_NOT_FOUND

SELECT count(*) FROM orders TIMESTAMP AS OF '1999-01-01';
-- error: VERSION_NOT_FOUND

SELECT count(*) FROM orders TIMESTAMP AS OF 'once upon a time';
-- error: INVALID_TIME_TRAVEL_TIMESTAMP_EXPR

SELECT count(*) FROM orders@v1 VERSION AS OF 0;
-- error: MULTIPLE_TIME_TRAVEL_SPEC

SELECT id, _change_type, _commit_version FROM table_changes('orders', 2);
-- | 3 | insert | 2
-- | 4 | insert | 2

SELECT count(*) FROM table_changes('orders', 1, 1);
-- | 2

SELECT count(*) FROM table_changes('orders', '2000-01-01');
-- | 4

SELECT count(*) FROM table_changes('ordrs', 1);
-- error: TABLE_NOT_FOUND orders

SELECT count(*) FROM table_changes('orders');
-- error: INVALID_ARGUMENT table_changes takes a table

CREATE VIEW spending AS SELECT customer, sum(amount) AS total FROM orders GROUP BY customer;

SELECT * FROM spending WHERE total > 16;
-- | bob | 20.0

CREATE VIEW top (who, how_much) AS SELECT * FROM spending ORDER BY total DESC LIMIT 1;

SELECT who, how_much FROM top;
-- | bob | 20.0

CREATE TEMPORARY VIEW cities AS SELECT DISTINCT city FROM customers;

INSERT INTO customers VALUES ('dan', 'Lima');

SELECT count(*) FROM cities;
-- | 4

CREATE OR REPLACE TEMP VIEW cities AS SELECT city FROM customers VERSION AS OF 1 WHERE city < 'P';

SELECT * FROM cities;
-- | Bern
-- | Oslo

DROP VIEW cities;

CREATE TABLE plain USING parquet AS SELECT * FROM orders WHERE id <= 2;

INSERT INTO plain SELECT * FROM orders WHERE id = 3;

SELECT count(*), max(id) FROM plain;
-- | 3 | 3

SELECT p.id FROM plain p LEFT SEMI JOIN orders@v1 o ON p.id = o.id;
-- | 1
-- | 2

CACHE TABLE kept AS SELECT id FROM orders;

SELECT count(*) FROM kept;
-- | 4

UNCACHE TABLE kept;

DROP VIEW kept;

DESCRIBE QUERY SELECT id, amount FROM orders;
-- columns: col_name, data_type, comment
-- | id | int | NULL
-- | amount | double | NULL

EXPLAIN SELECT * FROM orders;
-- | *

SELECT count(*) FROM IDENTIFIER('or' || 'ders');
-- | 4

SELECT wrong FROM orders;
-- error: UNRESOLVED_COLUMN

SELECT * FROM ordrs;
-- error: TABLE_OR_VIEW_NOT_FOUND did you mean orders

SELECT * FROM orders GROUP 1;
-- error: PARSE_SYNTAX_ERROR

SELECT * FROM delta.`${folder}/nothing`;
-- error: TABLE_NOT_FOUND

DROP VIEW top;

DROP VIEW spending;
