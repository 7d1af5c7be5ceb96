"""What a driver that lives for months must not gather: threads, sockets, handles, objects, memory.

The long form, 2,000 broadcast joins and 500 other operations, runs with `LAKEBED_LONG=1`.
"""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from py4j.java_gateway import JavaObject
from py4j.protocol import GATEWAY_SERVER_OBJECT_ID
from pyspark.sql import functions as F

import lakebed
from lakebed.errors import InvalidArgumentError
from lakebed.sessions.native import python_side as side
from lakebed.sessions.native.repeated_calls import Answers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakebed.sessions.native.question import Question

LONG = int(os.environ.get("LAKEBED_LONG", "0"))


# --- counts --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Counts:
    """What there is after a garbage collection. Memory in megabytes."""

    python_threads: int
    python_handles: int
    jvm_handles: int
    jvm_references: int
    """Objects of the JVM that Python holds."""
    python_references: int
    """Objects of Python that the JVM holds."""
    python_objects: int
    python_memory: int
    jvm_heap: int

    def grown(self, before: Counts) -> dict[str, int]:
        return {name: each - vars(before)[name] for name, each in vars(self).items()}


def counted(spark: SparkSession) -> Counts:
    gateway = spark.sparkContext._gateway
    jvm, server = gateway.jvm, JavaObject(GATEWAY_SERVER_OBJECT_ID, gateway._gateway_client)
    runtime = jvm.java.lang.Runtime.getRuntime()
    for _ in range(3):
        gc.collect()
        # Not `runFinalization`, which does it in a new thread, with a connection of its own.
        jvm.java.lang.System.gc()
    # py4j frees objects of the JVM in a thread that sleeps a second when there are none.
    time.sleep(1.2)
    process = Path("/proc", str(jvm.java.lang.ProcessHandle.current().pid()))
    return Counts(
        python_threads=threading.active_count(),
        python_handles=_entries(Path("/proc/self/fd")),
        jvm_handles=_entries(process / "fd"),
        jvm_references=server.getGateway().getBindings().size(),
        python_references=len(gateway.gateway_property.pool),
        python_objects=len(gc.get_objects()),
        python_memory=_resident(Path("/proc/self/status")),
        jvm_heap=(runtime.totalMemory() - runtime.freeMemory()) // 2**20,
    )


def _entries(folder: Path) -> int:
    """0 where the system does not list handles as files; threads are counted there too."""
    return len(list(folder.iterdir())) if folder.exists() else 0


def _resident(status: Path) -> int:
    if not status.exists():
        return 0
    lines = status.read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) // 1024


# --- operations ----------------------------------------------------------------------------------


class Operations:
    """On two tables, all but the streams with as many rows at the end as at the beginning."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.turns = count()
        spark.range(1000).selectExpr("id", "id % 10 AS k").write.format("delta").save(self["a"])
        spark.range(10).selectExpr("id AS k", "id AS v").write.format("delta").save(self["b"])

    def __getitem__(self, name: str) -> str:
        return str(self.folder / name)

    def sql(self, text: str) -> list[Any]:
        names = {name: f"delta.`{self[name]}`" for name in ("a", "b")}
        return self.spark.sql(text.format(**names, n=next(self.turns) % 1000)).collect()

    def join(self) -> None:
        found = self.sql("SELECT /*+ BROADCAST(b) */ count(*) FROM {a} JOIN {b} b USING (k)")
        assert found[0][0] == 1000

    def joins_at_once(self, times: int) -> None:
        """Each side is broadcast by a thread of its own; `v + i`, or Spark would reuse one."""
        frame = self.spark.read.format("delta").load(self["a"]).where("id < 50")
        for i in range(times):
            other = self.spark.read.format("delta").load(self["b"]).selectExpr("k", f"v + {i} v{i}")
            frame = frame.join(F.broadcast(other), "k")
        assert frame.count() == 50

    def read(self) -> None:
        frame = self.spark.read.format("delta").load(self["a"])
        assert frame.where(F.col("k") == next(self.turns) % 10).count() == 100

    def append(self) -> None:
        self.sql("INSERT INTO {a} SELECT -1, 5 FROM range(2)")
        self.sql("DELETE FROM {a} WHERE id < 0")

    def update(self) -> None:
        self.sql("UPDATE {a} SET k = k WHERE id = {n}")

    def merge(self) -> None:
        self.sql(
            "MERGE INTO {a} t USING (SELECT id, k FROM {a} WHERE k IN (SELECT k FROM {b} "
            "WHERE v = 3)) s ON t.id = s.id AND t.id = {n} WHEN MATCHED THEN UPDATE SET k = s.k"
        )

    def optimize(self) -> None:
        self.sql("OPTIMIZE {a}")

    def vacuum(self) -> None:
        self.spark.sql("SET spark.databricks.delta.retentionDurationCheck.enabled = false")
        self.sql("VACUUM {a} RETAIN 0 HOURS")

    def stream(self) -> None:
        """A new query each time, as a scheduled job with `availableNow` starts them."""
        rows = self.spark.readStream.format("delta").load(self["b"])
        writer = rows.writeStream.format("delta").trigger(availableNow=True)
        target = self[f"stream {next(self.turns)}"]
        writer.option("checkpointLocation", f"{target}/_checkpoint").start(target).awaitTermination(
            60
        )
        assert self.spark.read.format("delta").load(target).count() == 10

    def mixed(self) -> list[Callable[[], None]]:
        return [self.append, self.merge, self.update, self.optimize, self.read, self.stream]


@pytest.fixture(scope="module")
def operations(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Operations:
    return Operations(spark, tmp_path_factory.mktemp("long lived"))


def _in_new_thread(work: Callable[[], None]) -> None:
    failed: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - it is raised in the test's thread
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


# --- what a driver gathers -----------------------------------------------------------------------


@pytest.mark.usefixtures("interpreted")
def test_joins_commands_and_streams_leave_no_threads_handles_or_objects(
    spark: SparkSession, operations: Operations
) -> None:
    """It was one thread, two handles and 100 kB for each side of a join that is broadcast."""
    for work in (operations.join, operations.stream, *operations.mixed()):
        work()
    operations.joins_at_once(10)
    before = counted(spark)
    for _ in range(5):
        operations.joins_at_once(10)
    for _ in range(10):
        _in_new_thread(operations.join)
    for work in operations.mixed():
        work()
        _in_new_thread(work)
    grown = counted(spark).grown(before)
    # Some connections more are as well: as many as threads ever asked at the same time.
    assert grown["python_threads"] <= 6, grown
    assert grown["python_handles"] <= 6, grown
    assert grown["jvm_handles"] <= 12, grown
    assert grown["jvm_references"] <= 12, grown
    assert grown["python_references"] <= 2, grown


@pytest.mark.usefixtures("interpreted")
def test_a_session_that_its_client_left_is_collected(
    spark: SparkSession, operations: Operations
) -> None:
    """Its temporary view has an index that asks Python, which answers by an object for the session.

    Sessions of Spark Connect, of JDBC clients and of streams are such sessions.
    """
    jvm = spark.sparkContext._gateway.jvm
    path = operations["a"]
    left = []
    for _ in range(4):
        session = spark._jsparkSession.newSession()
        session.sql(f"CREATE TEMPORARY VIEW left_behind AS SELECT * FROM delta.`{path}`")
        for _ in range(2):
            assert session.sql("SELECT id FROM left_behind WHERE k = 3").collectAsList().size()
        session.sql(f"DELETE FROM delta.`{path}` WHERE id = -5")
        left.append(jvm.java.lang.ref.WeakReference(session))
        del session
    assert not spark.catalog.tableExists("left_behind")
    # Threads that Spark has started for the last one may have inherited it as their active session.
    left.pop()
    end = time.monotonic() + 30
    while not all(each.refersTo(None) for each in left) and time.monotonic() < end:
        gc.collect()
        jvm.java.lang.System.gc()
        time.sleep(0.3)
    assert [each.refersTo(None) for each in left] == [True] * 3


def test_answers_to_calls_are_forgotten_after_a_time_and_never_while_they_are_made() -> None:
    answers = Answers(2, 0.2)
    made: list[str] = []

    def work(name: str) -> Callable[[], Any]:
        return lambda: (made.append(name), time.sleep(0.3), answers.forget(), name)[-1]

    assert [answers.once("a", work("a")) for _ in range(3)] == ["a"] * 3
    time.sleep(0.25)
    answers.forget()
    assert answers.once("a", work("again")) == "again"
    assert [answers.once(name, lambda name=name: name) for name in "bcd"] == ["b", "c", "d"]  # type: ignore[misc]
    assert answers.once("a", work("third")) == "third"
    assert made == ["a", "again", "third"]


@pytest.mark.skipif(not LONG, reason="takes many minutes; LAKEBED_LONG=1 runs it")
@pytest.mark.timeout(7200)
def test_two_thousand_joins_and_five_hundred_operations_leave_nothing(
    spark: SparkSession, operations: Operations
) -> None:
    for _ in range(6):
        for work in operations.mixed():
            work()
    for _ in range(side._MOST):
        # As many sessions are remembered; each stream has one of its own.
        operations.stream()
    operations.vacuum()
    for _ in range(100):
        operations.join()
    before = counted(spark)
    print(before)
    for turn in range(2000):
        operations.join()
        if turn % 500 == 499:
            print("joins", turn + 1, counted(spark).grown(before), flush=True)
    mixed = operations.mixed()
    for turn in range(500):
        mixed[turn % len(mixed)]()
        if turn % 100 == 99:
            operations.vacuum()
            print("others", turn + 1, counted(spark).grown(before), flush=True)
    grown = counted(spark).grown(before)
    for name in ("python_threads", "python_handles", "jvm_handles", "python_references"):
        assert grown[name] <= 6, grown
    assert grown["jvm_references"] <= 30, grown
    assert grown["python_memory"] <= 60, grown
    assert grown["jvm_heap"] <= 60, grown


# --- calls from threads of the JVM ---------------------------------------------------------------

_CALLER = """
import java.util.HashMap;
import java.util.concurrent.Callable;
import java.util.function.BiFunction;
import org.apache.spark.sql.classic.SparkSession;

/** Gives a task that asks Python, for a thread that py4j does not know. */
public class Caller implements BiFunction {
  public Object apply(final Object what, final Object given) {
    final SparkSession session = (SparkSession) given;
    return new Callable() {
      public Object call() {
        session.sparkContext().setLocalProperty("lakebed.test", (String) what);
        try {
          return lakebed.bridge.Bridge.ask((String) what, new HashMap(), session, null);
        } finally {
          session.sparkContext().setLocalProperty("lakebed.test", null);
        }
      }
    };
  }
}
"""


class Callers:
    """Threads of the JVM that ask Python."""

    def __init__(self, spark: SparkSession, caller: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.spark = spark
        self.jvm = spark.sparkContext._gateway.jvm
        self._caller = caller
        self._monkeypatch = monkeypatch

    def answers(self, what: str, answer: Callable[[Question], Any]) -> None:
        others = side.answer_of
        self._monkeypatch.setattr(
            side, "answer_of", lambda name: answer if name == what else others(name)
        )

    def task(self, what: str) -> Any:
        return self._caller.apply(what, self.spark._jsparkSession)

    def start(self, what: str) -> tuple[Any, Any]:
        """A new thread, and what it will have."""
        future = self.jvm.java.util.concurrent.FutureTask(self.task(what))
        thread = self.jvm.java.lang.Thread(future)
        thread.start()
        return thread, future

    def ask(self, what: str) -> Any:
        return self.start(what)[1].get()

    def thread_id(self) -> int:
        return int(self.jvm.java.lang.Thread.currentThread().getId())


@pytest.fixture(scope="module")
def caller(spark: SparkSession) -> Any:
    jvm = spark.sparkContext._gateway.jvm
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook(_CALLER)
    return compiler.getClassLoader().loadClass("Caller").newInstance()


@pytest.fixture
def callers(spark: SparkSession, caller: Any, monkeypatch: pytest.MonkeyPatch) -> Callers:
    return Callers(spark, caller, monkeypatch)


def test_threads_of_the_jvm_that_come_and_go_share_a_connection(callers: Callers) -> None:
    known: set[int] = set()

    def answer(asked: Question) -> str:
        known.add(threading.get_ident())
        return str(asked.session.sparkContext.getLocalProperty("lakebed.test"))

    callers.answers("test one", answer)
    before = threading.active_count()
    assert {callers.ask("test one") for _ in range(100)} == {"test one"}
    assert threading.active_count() <= before + 1
    assert len(known) <= 2


def test_more_threads_at_once_than_are_kept_are_all_answered(callers: Callers) -> None:
    together = threading.Barrier(40)

    def answer(asked: Question) -> str:
        together.wait(60)
        return str(asked.session.sparkContext.getLocalProperty("lakebed.test"))

    names = [f"test {place}" for place in range(40)]
    for name in names:
        callers.answers(name, answer)
    before = threading.active_count()
    started = [callers.start(name)[1] for name in names]
    assert [future.get() for future in started] == names
    end = time.monotonic() + 20
    while threading.active_count() > before + 16 and time.monotonic() < end:
        time.sleep(0.05)
    assert threading.active_count() <= before + 16


def test_questions_within_answers_stay_in_their_threads(callers: Callers) -> None:
    """Three deep, from a thread of the JVM and from one of Python's."""
    found: list[tuple[int, int]] = []

    def answer(asked: Question) -> str:
        found.append((threading.get_ident(), callers.thread_id()))
        session = asked.session.sparkContext.getLocalProperty("lakebed.test")
        deeper = callers.task("test nested").call() if len(found) % 3 else "end"
        return f"{session} {deeper}"

    callers.answers("test nested", answer)
    for _ in range(20):
        found.clear()
        callers.ask("test nested")
        assert len(found) == 3
        assert len(set(found)) == 1
        found.clear()
        callers.task("test nested").call()
        assert {thread for _, thread in found} == {callers.thread_id()}
    connections = list(callers.spark.sparkContext._gateway._gateway_client.deque)
    assert len(connections) == len(set(connections))


@pytest.mark.parametrize("kind", [InvalidArgumentError, KeyboardInterrupt, ValueError])
def test_errors_of_answers_reach_the_thread_that_asked(
    callers: Callers, kind: type[BaseException]
) -> None:
    def answer(asked: Question) -> str:
        del asked
        raise kind("no such thing")

    callers.answers("test error", answer)
    callers.answers("test good", lambda _: "good")
    before = threading.active_count()
    for _ in range(10):
        with pytest.raises(BaseException, match="no such thing"):
            callers.ask("test error")
        assert callers.ask("test good") == "good"
    assert threading.active_count() <= before + 1


def test_a_thread_that_is_interrupted_while_python_answers_gets_the_answer(
    callers: Callers,
) -> None:
    asked_at, go_on = threading.Event(), threading.Event()

    def answer(_: Question) -> str:
        asked_at.set()
        assert go_on.wait(60)
        return "late"

    callers.answers("test slow", answer)
    thread, future = callers.start("test slow")
    assert asked_at.wait(60)
    thread.interrupt()
    time.sleep(0.1)
    go_on.set()
    assert future.get() == "late"
    assert callers.ask("test slow") == "late"


# --- what Spark keeps in the thread --------------------------------------------------------------


def test_eight_threads_at_once_plan_broadcast_and_change(
    spark: SparkSession, tmp_path: Path
) -> None:
    failed: list[BaseException] = []

    def work(operations: Operations) -> None:
        try:
            operations.join()
            operations.merge()
            operations.joins_at_once(3)
        except BaseException as error:  # noqa: BLE001 - it is raised in the test's thread
            failed.append(error)

    each = [Operations(spark, tmp_path / str(place)) for place in range(8)]
    threads = [threading.Thread(target=work, args=[operations]) for operations in each]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    assert failed == []


def test_jobs_of_a_command_have_the_properties_of_the_thread_that_starts_it(
    spark: SparkSession, operations: Operations
) -> None:
    context = spark.sparkContext
    context.setJobGroup("lakebed update", "of one row")
    try:
        operations.update()
    finally:
        for name in ("spark.jobGroup.id", "spark.job.description"):
            context.setLocalProperty(name, None)  # type: ignore[arg-type]
    assert context.statusTracker().getJobIdsForGroup("lakebed update")


def test_a_command_that_is_cancelled_by_its_group_leaves_no_thread(
    spark: SparkSession, operations: Operations
) -> None:
    context = spark.sparkContext
    before = threading.active_count()
    ended: list[str] = []

    def run() -> None:
        context.setJobGroup("lakebed endless", "to be cancelled", interruptOnCancel=True)
        try:
            operations.sql("INSERT INTO {a} SELECT sum(hash(id)), 1 FROM range(100000000000000)")
        except Exception as error:  # noqa: BLE001 - Spark's, or Lakebed's about a failed job
            ended.append(str(error))

    thread = threading.Thread(target=run)
    thread.start()
    end = time.monotonic() + 60
    while not context.statusTracker().getJobIdsForGroup("lakebed endless"):
        assert time.monotonic() < end
        time.sleep(0.05)
    context.cancelJobGroup("lakebed endless")
    thread.join(60)
    assert not thread.is_alive()
    assert "cancelled" in ended[0]
    operations.read()
    del thread
    gc.collect()
    assert threading.active_count() <= before + 2


def test_commands_within_scripts_and_broadcasts_within_commands(
    spark: SparkSession, operations: Operations
) -> None:
    spark.read.format("delta").load(operations["a"]).createOrReplaceTempView("lakebed_view")
    try:
        inner = "SELECT k FROM {b} WHERE v IN (SELECT k FROM lakebed_view WHERE id < 3)"
        found = operations.sql(f"SELECT count(*) FROM lakebed_view WHERE k IN ({inner})")
        assert found[0][0] == 300
        path = operations["a"]
        assert spark.sql(f"EXECUTE IMMEDIATE 'OPTIMIZE delta.`{path}`'").count() == 1
        operations.merge()
        assert lakebed.open(path).to_arrow().num_rows == 1000
    finally:
        spark.catalog.dropTempView("lakebed_view")
