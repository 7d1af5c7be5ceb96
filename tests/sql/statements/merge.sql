-- MERGE with all its clauses, and where its source may come from.

CREATE TABLE target (id INT, name STRING, amount INT) USING delta;

CREATE TABLE changes (id INT, name STRING, amount INT, gone BOOLEAN) USING delta;

INSERT INTO target VALUES (1, 'one', 10), (2, 'two', 20), (3, 'three', 30);

INSERT INTO changes VALUES (2, 'zwei', 22, false), (3, NULL, NULL, true), (4, 'vier', 44, false);

MERGE INTO target t
USING changes s
ON t.id = s.id
WHEN MATCHED AND s.gone THEN DELETE
WHEN MATCHED THEN UPDATE SET name = s.name, t.amount = t.amount + s.amount
WHEN NOT MATCHED THEN INSERT (id, name, amount) VALUES (s.id, upper(s.name), s.amount);
-- columns: num_affected_rows, num_updated_rows, num_deleted_rows, num_inserted_rows
-- | 3 | 1 | 1 | 1
-- table: target
-- | 1 | one | 10
-- | 2 | zwei | 42
-- | 4 | VIER | 44

MERGE INTO target USING changes ON target.id = changes.id
WHEN NOT MATCHED BY SOURCE AND target.amount < 20 THEN UPDATE SET amount = 0
WHEN NOT MATCHED BY SOURCE THEN DELETE;
-- | 1 | 1 | 0 | 0

MERGE INTO target AS t
USING (SELECT id, max(name) AS name, 5 AS amount FROM changes WHERE id > 2 GROUP BY id) AS s
ON t.id = s.id
WHEN MATCHED THEN UPDATE SET *
WHEN NOT MATCHED BY TARGET THEN INSERT *;
-- | 2 | 1 | 0 | 1
-- table: target
-- | 1 | one | 0
-- | 2 | zwei | 42
-- | 3 | NULL | 5
-- | 4 | vier | 5

WITH s AS (SELECT 3 AS id, 'drei' AS name)
MERGE INTO target t USING s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET t.name = s.name;
-- | 1 | 1 | 0 | 0

MERGE INTO target t USING (VALUES (1, 'eins'), (9, 'neun')) AS s(id, name) ON t.id = s.id
WHEN MATCHED AND t.amount = 0 THEN UPDATE SET name = s.name, amount = DEFAULT
WHEN NOT MATCHED THEN INSERT (id, name, amount) VALUES (s.id, s.name, DEFAULT);
-- | 2 | 1 | 0 | 1
-- table: target
-- | 1 | eins | NULL
-- | 2 | zwei | 42
-- | 3 | drei | 5
-- | 4 | vier | 5
-- | 9 | neun | NULL

MERGE INTO target t USING changes VERSION AS OF 1 s ON t.id = s.id AND t.id = 2
WHEN MATCHED THEN UPDATE SET amount = CASE WHEN s.gone THEN 0 ELSE s.amount END;
-- | 1 | 1 | 0 | 0

MERGE INTO target t USING range(5, 7) r ON t.id = r.id
WHEN NOT MATCHED THEN INSERT (id, name) VALUES (r.id, concat('n', r.id));
-- | 2 | 0 | 0 | 2

MERGE WITH SCHEMA EVOLUTION INTO target t
USING (SELECT 1 AS id, 'new' AS name, 1 AS amount, true AS flag) s ON t.id = s.id
WHEN MATCHED THEN UPDATE SET *
WHEN NOT MATCHED THEN INSERT *;
-- | 1 | 1 | 0 | 0

SELECT id, name, flag FROM target WHERE id < 3 ORDER BY id;
-- ordered
-- | 1 | new | true
-- | 2 | zwei | NULL
-- spark: target

MERGE INTO target t USING (VALUES (1, 'a'), (1, 'b')) AS s(id, name) ON t.id = s.id
WHEN MATCHED THEN UPDATE SET name = s.name;
-- error: MULTIPLE_MATCHES

MERGE INTO target t USING changes s ON t.id = s.id;
-- error: MERGE_WITHOUT_WHEN

MERGE INTO target t USING changes s ON t.id = s.idd WHEN MATCHED THEN DELETE;
-- error: UNRESOLVED_COLUMN

MERGE INTO target t USING changes s ON t.id = s.id WHEN MATCHED THEN UPDATE SET nme = 'x';
-- error: SCHEMA did you mean 'name'?

MERGE INTO target t USING changes s ON t.id = s.id
WHEN MATCHED THEN DELETE
WHEN MATCHED THEN UPDATE SET name = 'x';
-- error: NON_LAST_MATCHED_CLAUSE_OMIT_CONDITION

MERGE INTO target t USING changes s ON t.id = s.id
WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id);
-- error: MERGE_INSERT_VALUE_COUNT_MISMATCH

MERGE INTO target t USING changes s ON t.id = s.id WHEN NOT MATCHED THEN DELETE;
-- error: PARSE_SYNTAX_ERROR 'DELETE'

MERGE INTO target t USING no_such_table s ON t.id = s.id WHEN MATCHED THEN DELETE;
-- error: TABLE_OR_VIEW_NOT_FOUND
