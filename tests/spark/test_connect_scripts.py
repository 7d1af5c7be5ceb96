"""SQL scripts in sessions of Spark Connect: the client runs those about Delta tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, ArithmeticException, ParseException, PySparkException

import lakebed
from lakebed.errors import (
    ConstraintViolationError,
    LakebedError,
    SqlError,
    TableNotFoundError,
    VersionNotFoundError,
)
from lakebed.sql.front import run_sql
from lakebed.sql.plain import plain_sql
from lakebed.sql.script import run as script_run
from lakebed.sql.script.check import check_script
from lakebed.sql.script.grammar import parse_script
from lakebed.sql.script.interpreter import Interpreter

Rows = list[tuple[Any, ...]]


@pytest.fixture(scope="module")
def remote(connect_server: str) -> Iterator[Any]:
    from pyspark.sql.connect.session import SparkSession

    # Not through SparkSession.builder, which allows one kind of session in a process alone.
    session = SparkSession.builder.remote(connect_server).getOrCreate()
    # Off by default in 4.0, and CONTINUE handlers in later versions too.
    session.conf.set("spark.sql.scripting.enabled", "true")
    session.conf.set("spark.sql.scripting.continueHandlerEnabled", "true")
    plain_sql(session, "DECLARE VARIABLE own STRING DEFAULT 'default'")
    session.sql("SELECT 1 AS a, 'y' AS b").createOrReplaceTempView("own_view")
    yield lakebed.enable(session)
    session.stop()


@pytest.fixture
def orders(remote: Any, tmp_path: Path) -> Iterator[Path]:
    """The table `orders` of the current database, with the ids 1 and 2."""
    folder = tmp_path / "it's; ü"
    remote.sql("CREATE DATABASE scripts")
    remote.sql("USE scripts")
    remote.sql(
        f"CREATE TABLE orders (id INT, p STRING, CONSTRAINT small CHECK (id < 1000)) USING delta "
        f'LOCATION "{folder}"'
    )
    remote.sql("INSERT INTO orders VALUES (1, 'a'), (2, 'b')")
    yield folder
    remote.sql("USE default")
    remote.sql("DROP DATABASE scripts CASCADE")


def rows(remote: Any, text: str, args: Any = None) -> Rows:
    return [tuple(row) for row in remote.sql(text, args).collect()]


def stored(folder: Path) -> Rows:
    """What the standalone reader finds in a table."""
    return sorted(tuple(row.values()) for row in lakebed.open(folder).to_arrow().to_pylist())


# --- like Spark's own ----------------------------------------------------------------------------


def by_server(remote: Any, text: str) -> Any:
    return plain_sql(remote, text)


def by_client(remote: Any, text: str) -> Any:
    """As if the script were about Delta tables."""

    def run(statement: str) -> Any:
        found = run_sql(remote, statement)
        return plain_sql(remote, statement) if found is None else found

    script = parse_script(text)
    check_script(remote, text, script)
    return Interpreter(remote, run).run(script)


def outcome(remote: Any, run: Callable[[Any, str], Any], text: str) -> Any:
    """Rows and schema, or the condition of the error; then what is left in a variable."""
    plain_sql(remote, "SET VAR own = 'mine'")
    try:
        frame = run(remote, text)
        found = (repr([tuple(row) for row in frame.collect()]), frame.schema)
    except PySparkException as error:
        found = (type(error), error.getCondition())
    return found, rows(remote, "SELECT own")


SCRIPTS = [
    # Variables, scopes and labels
    "BEGIN END",
    "BEGIN DECLARE x INT; SELECT x; END",
    "BEGIN DECLARE x, y INT DEFAULT 3; SET x = y + 1; SELECT x, Y; END",
    "BEGIN DECLARE x = 5.25; SELECT x, typeof(x) AS k; END",
    "BEGIN DECLARE x INT DEFAULT 1; DECLARE x INT; END",
    "BEGIN DECLARE OR REPLACE x INT; END",
    "BEGIN DECLARE a.b INT; END",
    "BEGIN DECLARE x INT DEFAULT (SELECT 1); END",
    "BEGIN DROP TEMPORARY VARIABLE own; END",
    "BEGIN DECLARE a TINYINT; SET a = 1000; END",
    "BEGIN SET nothing_there = 1; END",
    "BEGIN DECLARE x INT DEFAULT 4; BEGIN DECLARE x STRING DEFAULT 'q'; SET x = x || x; END; "
    "SET x = 6; SET x = DEFAULT; SELECT x; END",
    "BEGIN o: BEGIN DECLARE x INT DEFAULT 1; i: BEGIN DECLARE x INT DEFAULT x + 10; "
    "SET o.x = o.x + i.x; SELECT o.x, i.x AS y, x AS z; END i; END o; END",
    "BEGIN l: BEGIN DECLARE x INT DEFAULT 1; END; SELECT l.x; END",
    "BEGIN l: BEGIN DECLARE x INT DEFAULT 1; SELECT l.x FROM (SELECT 2 AS x) AS l; END; END",
    "BEGIN own_view: BEGIN DECLARE a INT DEFAULT 99; SELECT own_view.a, b FROM own_view; END; END",
    "BEGIN DECLARE own INT DEFAULT 1; SET session.own = session.own || '!'; "
    "SELECT own, session.own AS s, system.session.own AS t; END",
    "BEGIN SET own = own || '?'; SELECT own; END",
    "BEGIN DECLARE zz INT DEFAULT 1; SELECT session.zz; END",
    "BEGIN DECLARE d DECIMAL(38, 18) DEFAULT 12345678901234567890.123456789012345678; "
    "DECLARE t TIMESTAMP DEFAULT TIMESTAMP'2020-01-02 03:04:05.123456'; DECLARE b BINARY "
    "DEFAULT X'00FF'; DECLARE i INTERVAL DAY TO SECOND DEFAULT INTERVAL '1 02:03:04' DAY TO "
    "SECOND; BEGIN DECLARE d, t, b, i INT DEFAULT 1; SET d = 2; END; SELECT d, t, b, i; END",
    "BEGIN DECLARE x INT DEFAULT 9; SELECT transform(array(1), x -> x + 1) AS l, (SELECT x) AS a; "
    "END",
    # Assignments
    "BEGIN DECLARE a, b INT DEFAULT 1; SET a = 5, b = a + 1; SELECT a, b; END",
    "BEGIN DECLARE a, b INT DEFAULT 3; SET (a, b) = (SELECT 1, 2 WHERE false); SELECT a, b; END",
    "BEGIN DECLARE a INT; SET (a) = (SELECT id FROM range(2)); END",
    # Branches
    "BEGIN DECLARE x INT DEFAULT 2; IF x = 1 THEN SELECT 'one' AS v; ELSEIF x = 2 THEN "
    "SELECT 'two' AS v; ELSE SELECT 'many' AS v; END IF; END",
    "BEGIN IF NULL = 1 THEN SELECT 1; ELSE SELECT 2 AS two; END IF; END",
    "BEGIN IF 1 THEN SELECT 1; END IF; END",
    "BEGIN DECLARE x INT DEFAULT 3; CASE x WHEN 1 THEN SELECT 'a' AS v; WHEN 1 + 2 THEN "
    "SELECT 'b' AS v; ELSE SELECT 'c' AS v; END CASE; END",
    "BEGIN CASE NULL WHEN NULL THEN SELECT 'null' AS v; ELSE SELECT 'else' AS v; END CASE; END",
    "BEGIN CASE WHEN CASE WHEN false THEN true END THEN SELECT 1 AS v; END CASE; END",
    # Loops
    "BEGIN DECLARE n INT DEFAULT 0; o: WHILE true DO SET n = n + 1; i: WHILE true DO "
    "IF n > 2 THEN LEAVE o; END IF; ITERATE o; END WHILE; END WHILE; SELECT n; END",
    "BEGIN DECLARE x INT DEFAULT 0; r: REPEAT SET x = x + 1; IF x = 2 THEN ITERATE r; END IF; "
    "UNTIL x > 2 END REPEAT r; SELECT x; END",
    "BEGIN DECLARE n INT DEFAULT 0; l: LOOP SET n = n + 1; IF n > 1 THEN LEAVE l; END IF; "
    "SELECT n; END LOOP l; END",
    "BEGIN DECLARE x STRING DEFAULT ''; FOR a AS SELECT id FROM range(2) ORDER BY id DO "
    "FOR SELECT id + 10 AS id DO SET x = x || a.id || '-' || id || ' '; END FOR; "
    "SET x = x || id || ';'; END FOR; SELECT x; END",
    "BEGIN DECLARE x INT DEFAULT 0; o: FOR r AS SELECT id FROM range(5) ORDER BY id DO "
    "IF r.id = 1 THEN ITERATE o; END IF; IF r.id = 3 THEN LEAVE o; END IF; SET x = x + r.id + 10; "
    "END FOR o; SELECT x; END",
    "BEGIN FOR r AS SELECT 1 AS a WHERE false DO SELECT r.a; END FOR; SELECT 'none' AS v; END",
    "BEGIN FOR r AS SELECT 1 AS a, 2 AS a DO SELECT r.a; END FOR; END",
    "BEGIN FOR r AS SELECT named_struct('x', 1, 'a b', 'q') AS st, 2.50 AS d, DATE'2020-01-01' "
    "AS t, INTERVAL '1 02' DAY TO HOUR AS i, CAST(NULL AS STRING) AS n, 1 AS `{b}` "
    "DO SELECT r.st, r.d, r.t, r.st.`a b` AS ab, r.n, CAST(i AS STRING) AS i, r.`{b}`; "
    "END FOR; END",
    # Results
    "BEGIN SELECT 1 AS a; SELECT 2 AS b WHERE false; SHOW DATABASES; END",
    "BEGIN (SELECT 1 AS a) UNION ALL (SELECT 2 AS a); END",
    "BEGIN DECLARE x INT DEFAULT 3; FROM range(5) SELECT id WHERE id > x; END",
    "BEGIN WITH c AS (VALUES (1, 'a')) SELECT * FROM c; END",
    "BEGIN NOT ATOMIC SELECT parse_json('[1]') AS v, ';' AS `a;b` /* c; */; -- END;\nEND; -- done",
    "BEGIN DECLARE x INT; DECLARE q STRING DEFAULT 'SELECT ? + 1'; SELECT 1 AS a; "
    "EXECUTE IMMEDIATE q INTO x USING 4; EXECUTE IMMEDIATE 'SHOW DATABASES'; END",
    "BEGIN CREATE OR REPLACE TEMPORARY VIEW v AS SELECT 3 AS a; SELECT a FROM v; DROP VIEW v; END",
    # Errors and handlers
    "BEGIN SELECT 1 AS a; SELECT 1 / 0; END",
    "BEGIN SELECT * FROM there_is_no_such_table; END",
    "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN END; SELECT 1 AS a; "
    "SELECT id / 0 FROM range(3); SELECT 'not reached'; END",
    "BEGIN DECLARE EXIT HANDLER FOR SQLSTATE '22012' SELECT 'state' AS v; DECLARE EXIT HANDLER FOR "
    "DIVIDE_BY_ZERO SELECT 'name' AS v; DECLARE EXIT HANDLER FOR SQLEXCEPTION SELECT 'all' AS v; "
    "SELECT 1 / 0; END",
    "BEGIN DECLARE EXIT HANDLER FOR SQLSTATE '22012' SELECT 'state' AS v; DECLARE EXIT HANDLER FOR "
    "SQLEXCEPTION SELECT 'all' AS v; SELECT 1 / 0; END",
    "BEGIN DECLARE EXIT HANDLER FOR UNRESOLVED_COLUMN SELECT 'main' AS v; SELECT no_column; END",
    "BEGIN DECLARE EXIT HANDLER FOR NOT FOUND SELECT 'nothing' AS v; SELECT 1 / 0; END",
    "BEGIN DECLARE c CONDITION FOR SQLSTATE '22012'; DECLARE EXIT HANDLER FOR c SELECT 'c' AS v; "
    "SELECT 1 / 0; END",
    "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION SELECT 'outer' AS v; BEGIN DECLARE EXIT HANDLER "
    "FOR DIVIDE_BY_ZERO SELECT 'inner' AS v; SELECT CAST('a' AS INT); END; SELECT 'behind' AS v; "
    "END",
    "BEGIN DECLARE EXIT HANDLER FOR DIVIDE_BY_ZERO SELECT 'outer' AS v; BEGIN DECLARE EXIT HANDLER "
    "FOR DIVIDE_BY_ZERO SELECT 'inner' AS v; SELECT 1 / 0; END; SELECT 'behind' AS v; END",
    "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION "
    "SELECT 'second' AS v; SELECT CAST('a' AS INT); END; SELECT 1 / 0; END",
    "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION SELECT CAST('a' AS INT); SELECT 1 / 0; END",
    "BEGIN DECLARE x INT DEFAULT 1; DECLARE EXIT HANDLER FOR SQLEXCEPTION SELECT x, y; "
    "BEGIN DECLARE y INT DEFAULT 7; SELECT 1 / 0; END; END",
    "BEGIN l: BEGIN DECLARE x INT DEFAULT 1; DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN "
    "DECLARE x INT DEFAULT 50; SET l.x = l.x + x; END; BEGIN DECLARE x INT DEFAULT 7; "
    "SELECT 1 / 0; SET l.x = l.x + x; END; SELECT x; END; END",
    "BEGIN DECLARE n INT DEFAULT 0; DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET n = n + 100; "
    "WHILE 1 / (3 - n) > 0 DO SET n = n + 1; END WHILE; IF 1 / 0 > 1 THEN SET n = 0; ELSE "
    "SET n = 1; END IF; CASE 1 / 0 WHEN 1 THEN SET n = 0; ELSE SET n = 1; END CASE; "
    "REPEAT SET n = n + 1; UNTIL 1 / 0 > 0 END REPEAT; FOR r AS SELECT 1 / 0 AS q DO SET n = 0; "
    "END FOR; SELECT n; END",
    "BEGIN DECLARE x INT DEFAULT 0; BEGIN DECLARE EXIT HANDLER FOR DIVIDE_BY_ZERO SET x = x + 100; "
    "WHILE x < 5 DO SET x = x + 1; FOR r AS SELECT 1 AS a DO IF x = 2 THEN SELECT 1 / 0; END IF; "
    "END FOR; END WHILE; END; SELECT x; END",
    # Mistakes that the server's parser finds
    "BEGIN SELEC 1; END",
    "BEGIN DECLARE EXIT HANDLER FOR NO_SUCH_CONDITION SELECT 1; END",
    "BEGIN DECLARE EXIT HANDLER FOR DIVIDE_BY_ZERO SELECT 1; DECLARE EXIT HANDLER FOR "
    "DIVIDE_BY_ZERO SELECT 2; END",
    "BEGIN SET VAR own = 1; END",
]


@pytest.mark.parametrize("text", SCRIPTS)
def test_scripts_do_what_they_do_on_the_server(remote: Any, text: str) -> None:
    assert outcome(remote, by_client, text) == outcome(remote, by_server, text)


def test_times_stay_the_same_in_any_zone(remote: Any) -> None:
    script = """BEGIN
      FOR r AS
        SELECT TIMESTAMP'2020-11-01 08:30:00Z' AS t, array(TIMESTAMP_NTZ'2020-03-08 02:30:00') AS n
      DO SELECT r.t, r.n, CAST(t AS STRING) AS s; END FOR;
    END"""
    remote.conf.set("spark.sql.session.timeZone", "America/Los_Angeles")
    try:
        found = by_client(remote, script)
        assert found.collect() == by_server(remote, script).collect()
        assert found.select("s").first() == ("2020-11-01 01:30:00",)
    finally:
        remote.conf.unset("spark.sql.session.timeZone")


def test_handlers_are_taken_as_documented_where_spark_forgets_them(remote: Any) -> None:
    """Spark forgets SQLEXCEPTION if another handler is declared behind it."""
    behind = """BEGIN
      DECLARE EXIT HANDLER FOR SQLEXCEPTION SELECT 'all' AS v;
      DECLARE EXIT HANDLER FOR SQLSTATE '22018' SELECT 'state' AS v;
      SELECT 1 / 0;
    END"""
    assert by_client(remote, behind).collect() == [("all",)]
    # An EXIT handler ends its own block, also if the error came from a handler further inside.
    outer = """BEGIN
      DECLARE EXIT HANDLER FOR SQLEXCEPTION SELECT 'outer' AS v;
      BEGIN
        DECLARE EXIT HANDLER FOR DIVIDE_BY_ZERO SELECT CAST('a' AS INT);
        SELECT 1 / 0;
      END;
      SELECT 'behind' AS v;
    END"""
    assert by_client(remote, outer).collect() == [("outer",)]


# --- Delta tables --------------------------------------------------------------------------------


def test_a_script_writes_in_loops_and_reads_what_it_has_written(remote: Any, orders: Path) -> None:
    script = """
    BEGIN
      DECLARE n INT DEFAULT 10;
      WHILE n < 12 DO
        INSERT INTO orders VALUES (n, "it's; ü");
        SET n = n + 1;
      END WHILE;
      INSERT INTO orders SELECT max(id) + 1, 'last' FROM orders;
      UPDATE orders SET p = 'twelve' WHERE id = n;
      DELETE FROM orders WHERE id = n - 2;
      MERGE INTO orders USING (SELECT explode(array(1, n + 1)) AS id) s ON orders.id = s.id
        WHEN MATCHED THEN UPDATE SET p = 'n' || n
        WHEN NOT MATCHED THEN INSERT (id, p) VALUES (s.id, 'merged');
      OPTIMIZE orders;
      SET n = (SELECT max(id) FROM orders) * 10;
      IF (SELECT count(*) FROM orders) = 5 THEN
        SELECT id, p, n, (SELECT count(*) FROM orders VERSION AS OF 1) FROM orders ORDER BY id;
      ELSE
        SELECT 'wrong';
      END IF;
    END"""
    assert rows(remote, script) == [
        (1, "n12", 130, 2),
        (2, "b", 130, 2),
        (11, "it's; ü", 130, 2),
        (12, "twelve", 130, 2),
        (13, "merged", 130, 2),
    ]
    assert [each[0] for each in stored(orders)] == [1, 2, 11, 12, 13]
    assert len(lakebed.open(orders).files()) == 1


@pytest.mark.usefixtures("orders")
def test_a_script_makes_fills_restores_and_drops_tables(remote: Any, tmp_path: Path) -> None:
    folder = tmp_path / "an other; ü"
    script = f"""
    BEGIN
      CREATE TABLE made (a INT) USING delta TBLPROPERTIES (delta.enableChangeDataFeed = true);
      INSERT INTO made VALUES (1), (2);
      WITH more AS (SELECT 5 AS a) INSERT INTO made SELECT a FROM more;
      CREATE TABLE delta.`{folder}` USING delta AS SELECT a * 10 AS b FROM made;
      CREATE TABLE other USING parquet AS SELECT * FROM made WHERE a > 1;
      INSERT INTO other SELECT b FROM delta.`{folder}@v0`;
      CREATE OR REPLACE TEMPORARY VIEW seen AS SELECT a FROM made;
      INSERT INTO made VALUES (7);
      DELETE FROM delta.`{folder}`;
      RESTORE TABLE delta.`{folder}` TO VERSION AS OF 0;
      DESCRIBE HISTORY made;
      SELECT (SELECT count(*) FROM seen), (SELECT count(*) FROM made@v1),
        (SELECT sum(a) FROM other), (SELECT count(*) FROM table_changes('made', 2));
      DROP VIEW seen;
      DROP TABLE made;
    END"""
    assert rows(remote, script) == [(4, 2, 5 + 2 + 80, 2)]
    assert stored(folder) == [(10,), (20,), (50,)]
    with pytest.raises(AnalysisException):
        remote.table("made").collect()


def test_loops_over_rows_parameters_and_labels(remote: Any, orders: Path) -> None:
    script = """
    BEGIN
      l: BEGIN
        DECLARE id INT DEFAULT :by;
        DECLARE p STRING DEFAULT '-';
        FOR r AS SELECT id, p FROM orders ORDER BY id DO
          INSERT INTO orders VALUES (r.id + l.id, r.p || l.p || :mark);
          UPDATE orders SET p = upper(p) || r.id WHERE orders.id = l.id + r.id;
        END FOR;
        CASE l.id WHEN (SELECT max(id) - 2 FROM orders) THEN
          SELECT id, p FROM orders WHERE id > l.id ORDER BY id;
        END CASE;
      END;
    END"""
    expected = [(101, "A-'; --1"), (102, "B-'; --2")]
    assert rows(remote, script, {"by": 100, "mark": "'; --"}) == expected
    assert stored(orders) == [(1, "a"), (2, "b"), *expected]
    assert rows(remote, "BEGIN SELECT ? AS n, p FROM orders WHERE id = ?; END", [7, 2]) == [
        (7, "b")
    ]


def test_an_error_ends_the_script_and_leaves_what_was_committed(remote: Any, orders: Path) -> None:
    plain_sql(remote, "DECLARE OR REPLACE VARIABLE kept DECIMAL(20, 5) DEFAULT 1.5")
    plain_sql(remote, "SET VAR kept = 12345.67891")
    with pytest.raises(ConstraintViolationError):
        remote.sql(
            "BEGIN DECLARE kept INT DEFAULT 3; BEGIN DECLARE kept STRING DEFAULT 'c'; "
            "DECLARE more STRING; INSERT INTO orders VALUES (3, kept); "
            "INSERT INTO orders VALUES (5000, 'x'); END; END"
        )
    assert stored(orders) == [(1, "a"), (2, "b"), (3, "c")]
    assert rows(remote, "SELECT CAST(kept AS STRING), typeof(kept)") == [
        ("12345.67891", "decimal(20,5)")
    ]
    plain_sql(remote, "SET VAR kept = DEFAULT")
    assert rows(remote, "SELECT CAST(kept AS STRING)") == [("1.50000",)]
    for left in ("more", "lakebed_script_0", "lakebed_script_1"):
        with pytest.raises(AnalysisException, match="UNRESOLVED_COLUMN"):
            remote.sql(f"SELECT {left}").collect()
    with pytest.raises(ArithmeticException, match="DIVIDE_BY_ZERO"):
        remote.sql("BEGIN UPDATE orders SET id = 1 / (id - id); END")
    with pytest.raises(SqlError, match="nothing_like_it"):
        remote.sql("BEGIN DELETE FROM orders WHERE nothing_like_it = 1; END")
    with pytest.raises(VersionNotFoundError):
        remote.sql("BEGIN SELECT * FROM orders VERSION AS OF 99; END")
    with pytest.raises(TableNotFoundError):
        remote.sql("BEGIN SELECT * FROM delta.`/there/is/nothing`; END")
    assert len(stored(orders)) == 3


MISTAKES = [
    "BEGIN DELETE FROM orders; OPTIMIZ orders; END",
    "BEGIN DELETE FROM orders; OPTIMIZE orders WHERE; END",
    "BEGIN DELETE FROM orders; DELETE orders FROM; END",
    "BEGIN DELETE FROM orders; SELECT 1 FROM orders END",
    "BEGIN DELETE FROM orders; LEAVE l; END",
    "BEGIN DECLARE c CURSOR FOR SELECT id FROM orders; DELETE FROM orders; END",
    "l: BEGIN DELETE FROM orders; END",
    "BEGIN SELECT 1; END; END; DROP TABLE orders; BEGIN DELETE FROM orders; END",
    "BEGIN DELETE FROM orders WHERE id > :x; END",
]


def test_mistakes_are_found_before_anything_is_run(remote: Any, orders: Path) -> None:
    for text in MISTAKES:
        with pytest.raises((LakebedError, PySparkException)):
            remote.sql(text, {"y": 1} if ":x" in text else None)
    assert lakebed.open(orders).version == 1


def test_handlers_catch_errors_of_lakebed_and_of_spark(remote: Any, orders: Path) -> None:
    script = """
    BEGIN
      DECLARE EXIT HANDLER FOR SQLEXCEPTION
      BEGIN
        INSERT INTO orders VALUES ({number}, 'handler');
        SELECT max(id) FROM orders;
      END;
      {statement};
      INSERT INTO orders VALUES (400, 'not reached');
    END"""
    failing = [
        "INSERT INTO orders VALUES (5000, 'too large')",
        "SELECT * FROM orders VERSION AS OF 99",
        "SELECT 1 / (id - id) FROM orders",
        "INSERT INTO orders SELECT nothing FROM orders",
        "IF (SELECT 1 / count(*) FROM orders WHERE id < 0) > 1 THEN SELECT 1; END IF",
    ]
    for number, statement in enumerate(failing, start=3):
        text = script.format(number=number, statement=statement)
        assert rows(remote, text) == [(number,)], statement
    assert [each[0] for each in stored(orders)] == [1, 2, 3, 4, 5, 6, 7]


def test_handlers_name_errors_of_lakebed(remote: Any, orders: Path) -> None:
    script = """
    BEGIN
      DECLARE CONSTRAINT_VIOLATION CONDITION;
      DECLARE EXIT HANDLER FOR SQLSTATE 'KD000' SELECT 'another' AS v;
      DECLARE EXIT HANDLER FOR CONSTRAINT_VIOLATION SELECT 'rule' AS v;
      {};
    END"""
    assert rows(remote, script.format("INSERT INTO orders VALUES (5000, 'x')")) == [("rule",)]
    assert rows(remote, script.format("SELECT 1 FROM orders@v99")) == [("another",)]
    if not remote.version.startswith("4.0"):
        continuing = """
        BEGIN
          DECLARE n INT DEFAULT 998;
          DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET n = n - 990;
          REPEAT SET n = n + 1; INSERT INTO orders VALUES (n, 'r'); UNTIL n < 100 END REPEAT;
        END"""
        assert rows(remote, continuing) == []
        assert [each[0] for each in stored(orders)] == [1, 2, 999]


def test_execute_immediate_in_scripts(remote: Any, orders: Path) -> None:
    script = """
    BEGIN
      DECLARE most INT;
      DECLARE text STRING DEFAULT 'INSERT INTO orders VALUES (?, ?)';
      EXECUTE IMMEDIATE text USING 8, 'eight';
      EXECUTE IMMEDIATE 'OPTIMIZE orders';
      EXECUTE IMMEDIATE 'SELECT max(id) FROM orders' INTO most;
      EXECUTE IMMEDIATE 'SELECT id, p FROM orders WHERE id > 1 ORDER BY id';
      EXECUTE IMMEDIATE 'DELETE FROM orders WHERE id = ?' USING most - 7;
    END"""
    assert rows(remote, script) == [(2, "b"), (8, "eight")]
    assert stored(orders) == [(2, "b"), (8, "eight")]


def test_scripts_of_two_threads_keep_their_variables_apart(remote: Any, orders: Path) -> None:
    def run(number: int) -> Rows:
        return rows(
            remote,
            f"BEGIN DECLARE n INT DEFAULT {number}; INSERT INTO orders VALUES (n, 'thread'); "
            "SET n = n * 2; SELECT n, count(*) > 2 FROM orders; END",
        )

    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(run, [100, 200, 300]))
    assert found == [[(200, True)], [(400, True)], [(600, True)]]
    assert [each[0] for each in stored(orders)] == [1, 2, 100, 200, 300]


def test_scripts_about_other_tables_are_left_to_the_server(
    remote: Any, orders: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(script_run, "Interpreter", refuse)

    def script(folder: str) -> str:
        return f"""
        BEGIN
          CREATE TABLE parquet_one (id INT) USING parquet LOCATION '{tmp_path}/{folder}';
          INSERT INTO parquet_one VALUES (1), (2);
          FOR r AS SELECT id FROM parquet_one ORDER BY id DO SELECT r.id; END FOR;
          IF (SELECT count(*) FROM parquet_one) = :n THEN SELECT 'two' AS v; END IF;
          DROP TABLE parquet_one;
        END"""

    # Versions of Spark do not agree about it.
    expected = [tuple(row) for row in plain_sql(remote, script("a"), {"n": 2}).collect()]
    assert rows(remote, script("b"), {"n": 2}) == expected
    with pytest.raises(ParseException):
        remote.sql("BEGIN SELECT 1 END")
    with pytest.raises(AssertionError):
        remote.sql("BEGIN IF EXISTS (SELECT 1 FROM orders) THEN SELECT 1; END IF; END")
    assert lakebed.open(orders).version == 1


@pytest.mark.usefixtures("orders")
def test_scripts_are_off_where_the_server_has_them_off(remote: Any) -> None:
    remote.conf.set("spark.sql.scripting.enabled", "false")
    try:
        with pytest.raises(PySparkException, match="SQL_SCRIPTING"):
            remote.sql("BEGIN DELETE FROM orders; END")
    finally:
        remote.conf.set("spark.sql.scripting.enabled", "true")
    assert rows(remote, "BEGIN SELECT count(*) FROM orders; END") == [(2,)]


def test_views_over_delta_tables_count(remote: Any, tmp_path: Path) -> None:
    lakebed.write(tmp_path / "t", pa.table({"id": [1]}))
    remote.sql(f"CREATE OR REPLACE TEMP VIEW over AS SELECT id FROM delta.`{tmp_path}/t`")
    script = "BEGIN INSERT INTO delta.`{0}/t` VALUES (2); SELECT max(id) FROM over; END"
    assert rows(remote, script.format(tmp_path)) == [(2,)]
    assert rows(remote, "BEGIN SELECT count(*) FROM over; END") == [(2,)]
    remote.sql("DROP VIEW over")
