"""The JVM of a classic session: relations, listings, filters, plans and errors.

JVM classes outside of Spark's public API, by py4j, and private names of the `pyspark` package.
Written for Spark 4.0 to 4.3; where these differ, the difference is here.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from py4j.java_gateway import JavaClass
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.errors.exceptions import captured
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import Column, DataFrame, SparkSession

if TYPE_CHECKING:
    import pyarrow as pa

JavaObject = Any
"""A reference to an object in the JVM."""

FILE_INDEX = "org.apache.spark.sql.execution.datasources.FileIndex"
_MOST_TYPES = 256
ROW_INDEX = "_tmp_metadata_row_index"
"""The column of a relation that Spark's Parquet reader fills with the index of a row in its file.

`_metadata.row_index` is made from it, but as part of a struct that is built for every row.
"""


class Jvm:
    """The JVM of one session. Handles of classes and methods are looked up once."""

    @classmethod
    def of(cls, session: SparkSession) -> Jvm:
        """The one of the session, which keeps it."""
        found = vars(session).get("_lakebed_jvm")
        if found is None:
            found = vars(session)["_lakebed_jvm"] = cls(session)
        return found

    def __init__(self, session: SparkSession) -> None:
        self.session = session
        self._context = session.sparkContext
        self._gateway = self._context._gateway
        self._classes: dict[str, Any] = {}
        self._named_classes: dict[str, JavaObject] = {}
        self._getters: dict[str, JavaObject] = {}
        self.conditions: dict[str, Any] = {}
        """Columns that many queries share, each built by dozens of calls."""
        self.has_scan_rule = False

    # --- sessions ---

    def start_callbacks(self) -> None:
        """Lets the JVM call Python objects. Spark starts one server for all that want it."""
        ensure_callback_server_started(self._gateway)
        # What a callback raises from Java then reaches Java as it was, without Python's traceback.
        self._gateway.python_parameters.propagate_java_exceptions = True
        self._gateway.gateway_parameters.propagate_java_exceptions = True

    def end_callback(self) -> None:
        """After a callback, in its thread.

        py4j records the connection of a thread after each call, but removes only one record when
        the thread ends: calls within a callback would leak the connection and the thread.
        """
        client = self._gateway._gateway_client
        connection = client.get_thread_connection()
        with suppress(ValueError):
            while True:
                client.deque.remove(connection)

    def default_source(self) -> str:
        return str(self.session._jsparkSession.sessionState().conf().defaultDataSourceName())

    def settings(self) -> dict[str, str]:
        """All that the session has, as one text."""
        known = self.session.conf._jconf.getAllAsJava()
        found: dict[str, str] = json.loads(self._json_writer.writeValueAsString(known))
        return found

    @cached_property
    def _json_writer(self) -> JavaObject:
        return self._class("com.fasterxml.jackson.databind.ObjectMapper")()

    def has_file_system(self, scheme: str) -> bool:
        """Whether Hadoop has a connector for URIs of the scheme, and its classes are there."""
        systems = self._class("org.apache.hadoop.fs.FileSystem")
        try:
            systems.getFileSystemClass(scheme, self._hadoop_settings())
        except Py4JJavaError:
            # No such scheme, or one whose classes are in a JAR that is not there.
            return False
        return True

    def hadoop_settings(self, names: Sequence[str]) -> dict[str, str]:
        """The values of those of the settings that the session has for Hadoop."""
        settings = self._hadoop_settings()
        found = {name: settings.get(name) for name in names}
        return {name: str(value) for name, value in found.items() if value is not None}

    def own_settings(self, names: Sequence[str]) -> dict[str, str]:
        """Those of the settings that the session itself has: a call for each."""
        found = {name: self._settings.get(name) for name in names}
        return {name: str(value) for name, value in found.items() if value is not None}

    @cached_property
    def _settings(self) -> JavaObject:
        return self.session._jsparkSession.sessionState().conf().settings()

    def _hadoop_settings(self) -> JavaObject:
        return self.session._jsparkSession.sessionState().newHadoopConf()

    # --- types and relations ---

    def data_type(self, text: str) -> JavaObject:
        """Spark's type of a JSON text; the log and Spark write types alike."""
        found = self._types.get(text)
        if found is None:
            found = self._type_from_json(text)
            if len(self._types) >= _MOST_TYPES:
                self._types.clear()
            self._types[text] = found
        return found

    @cached_property
    def _types(self) -> dict[str, JavaObject]:
        """Types never change, and queries ask for those of the same tables again and again."""
        return {}

    @cached_property
    def _type_from_json(self) -> JavaObject:
        return self._class("org.apache.spark.sql.types.DataType").fromJson

    def path(self, text: str) -> JavaObject:
        return self._class("org.apache.hadoop.fs.Path")(text)

    def seq(self, values: Sequence[Any]) -> JavaObject:
        return self._class("org.apache.spark.api.python.PythonUtils").toSeq(list(values))

    def strings(self, values: Sequence[str]) -> JavaObject:
        """A `String[]`, filled in one call. No value has a null character."""
        if not values:
            return self._gateway.new_array(self._java.String, 0)
        pattern = self._class("java.util.regex.Pattern").compile("\0")
        return pattern.split("\0".join(values), -1)

    def none(self) -> JavaObject:
        """Scala's `None`."""
        return self._none

    @cached_property
    def _none(self) -> JavaObject:
        return self._class("scala.Option").empty()

    def relation(
        self,
        index: JavaObject,
        data_schema: str,
        partition_schema: str,
        options: Mapping[str, str],
        file_format: JavaObject | None = None,
    ) -> DataFrame:
        """A DataFrame over Spark's own Parquet reader, with files from a `FileIndex`."""
        relation = self._class("org.apache.spark.sql.execution.datasources.HadoopFsRelation")(
            index,
            self.data_type(partition_schema),
            self.data_type(data_schema),
            self.none(),
            self._parquet_format if file_format is None else file_format,
            self._to_scala_map(dict(options)),
            self.session._jsparkSession,
        )
        frame = self.session._jsparkSession.baseRelationToDataFrame(relation)
        return DataFrame(frame, self.session)

    @cached_property
    def _to_scala_map(self) -> JavaObject:
        return self._class("org.apache.spark.api.python.PythonUtils").toScalaMap

    @cached_property
    def _parquet_format(self) -> JavaObject:
        name = "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat"
        return self._class(name)()

    def columns(self, columns: Sequence[Column]) -> JavaObject:
        """A `Column[]`."""
        array = self._gateway.new_array(self._class("org.apache.spark.sql.Column"), len(columns))
        for place, column in enumerate(columns):
            array[place] = column._jc
        return array

    # --- listings ---

    def rows(self, table: pa.Table, schema: str) -> JavaObject:
        """An `InternalRow[]` with the rows of an Arrow table, which has a column or more."""
        batches = self._class("java.util.ArrayList")()
        for batch in table.to_batches():
            batches.add(batch.serialize().to_pybytes())
        views = self._arrow.fromBatchIterator(
            self._converters.asScala(batches.iterator()),
            self.data_type(schema),
            "UTC",
            False,
            False,
            None,
        )
        # Each row is a view that the next one overwrites.
        return views.map(self._copy_row).toArray(self._row_tag)

    def empty_rows(self) -> JavaObject:
        """An `InternalRow[]` with one row that has no columns."""
        rows = self._gateway.new_array(self._row_class, 1)
        rows[0] = self._row_class.empty()
        return rows

    # --- expressions ---

    def expressions(self, expressions: JavaObject) -> list[JavaObject]:
        """The elements of a Scala sequence of Catalyst expressions."""
        return [expressions.apply(i) for i in range(expressions.length())]

    def to_json(self, expression: JavaObject) -> str:
        """The whole tree as a list, parents first; `num-children` says how it hangs together."""
        return str(expression.toJSON())

    def descend(self, expression: JavaObject, steps: Sequence[int]) -> JavaObject:
        for step in steps:
            expression = expression.children().apply(step)
        return expression

    def literal_value(self, literal: JavaObject) -> Any:
        return literal.value()

    def escape_character(self, like: JavaObject) -> str:
        """What makes a wildcard in a pattern an ordinary character; JSON lacks it too."""
        return str(like.escapeChar())

    def set_values(self, in_set: JavaObject) -> list[str]:
        """The values of an `InSet`, which its JSON lacks, as strings like those of literals."""
        separator = uuid.uuid4().hex
        return str(in_set.hset().mkString(separator)).split(separator)

    def referenced_names(self, expressions: Sequence[JavaObject]) -> list[str]:
        """The names of the columns in the expressions."""
        found = self._conjunction(expressions).references().toSeq()
        return [str(found.apply(i).name()) for i in range(found.length())]

    def matching(
        self, expressions: Sequence[JavaObject], rows: JavaObject, count: int
    ) -> list[int]:
        """Which rows meet all conditions, by Catalyst's own evaluation.

        The columns of the rows are those that `referenced_names` gives, in that order.
        """
        condition = self._conjunction(expressions)
        attributes = self._class(f"{_EXPRESSIONS}.package$AttributeSeq")(
            condition.references().toSeq()
        )
        bind = self._class(f"{_EXPRESSIONS}.BindReferences").bindReference
        predicate = self._class(f"{_EXPRESSIONS}.Predicate").createInterpreted(
            bind(condition, attributes, False)
        )
        predicate.initialize(0)
        get_row = self._element_getter(_ROW_ARRAY).bindTo(rows)
        test = self._method_handles.filterArguments(
            self._evaluate_row.bindTo(predicate), 0, self._handles(get_row)
        )
        is_match = self._as_interface("java.util.function.IntPredicate", test)
        found = self._indexes(count).filter(is_match).toArray()
        indexes: list[int] = json.loads(self._class("java.util.Arrays").toString(found))
        return indexes

    def reads_batches(self, schema: str) -> bool:
        """Whether Spark reads all of these columns in batches; else it makes a row of each row."""
        return bool(
            self._parquet_format.supportBatch(self.session._jsparkSession, self.data_type(schema))
        )

    def _conjunction(self, expressions: Sequence[JavaObject]) -> JavaObject:
        both = self._class(f"{_EXPRESSIONS}.And")
        whole, *others = expressions
        for each in others:
            whole = both(whole, each)
        return whole

    # --- plans ---

    def scans(self, frame: DataFrame) -> list[ScanNode]:
        """The file scans in the plan of a DataFrame, each once, with those of subqueries."""
        found: dict[int, ScanNode] = {}
        self._collect_scans(frame._jdf.queryExecution().executedPlan(), [], found)
        return list(found.values())

    def _collect_scans(
        self, plan: JavaObject, conditions: list[JavaObject], found: dict[int, ScanNode]
    ) -> None:
        name = str(plan.getClass().getSimpleName())
        if name == "FileSourceScanExec":
            found.setdefault(plan.id(), ScanNode(self, plan, conditions))
        elif name == "FilterExec":
            conditions = [*conditions, *self.conjuncts(plan.condition())]
        elif name not in _TRANSPARENT:
            conditions = []
        for each in self._parts(plan, name):
            self._collect_scans(each, conditions, found)
        for each in self.expressions(plan.subqueries()):
            # What adaptive execution puts here is a copy of the other side of a join.
            if each.getClass().getSimpleName() != "SubqueryAdaptiveBroadcastExec":
                self._collect_scans(each, [], found)

    def _parts(self, plan: JavaObject, name: str) -> list[JavaObject]:
        if name == "InMemoryTableScanExec":
            return [plan.relation().cachedPlan()]
        if name == "AdaptiveSparkPlanExec":
            return [plan.initialPlan()]
        return self.expressions(plan.children())

    def is_dynamic(self, expression: JavaObject) -> bool:
        """Whether its value is known only when the query runs."""
        patterns = self._class("org.apache.spark.sql.catalyst.trees.TreePattern")
        return bool(expression.containsPattern(patterns.PLAN_EXPRESSION()))

    def conjuncts(self, condition: JavaObject) -> list[JavaObject]:
        if condition.getClass().getSimpleName() != "And":
            return [condition]
        return [*self.conjuncts(condition.left()), *self.conjuncts(condition.right())]

    # --- errors ---

    def java_error(self, message: str) -> Py4JJavaError:
        """An exception that a callback raises so that the JVM gets a standard Java exception."""
        exception = self._class("java.lang.IllegalArgumentException")(message)
        return Py4JJavaError(message, exception)

    def lakebed_error(
        self,
        family: str,
        message: str,
        code: str,
        condition: str,
        sql_state: str,
        parameters: Mapping[str, str],
    ) -> Py4JJavaError:
        """The same for an error of Lakebed, of a class that tells what it is."""
        told = json.dumps(parameters)
        errors = self._class("lakebed.errors.Errors")
        exception = errors.of(family, message, code, condition, sql_state, told)
        return Py4JJavaError(message, exception)

    def java_exception(self, origin: JavaObject) -> Py4JJavaError:
        """The same for a Java exception that exists already."""
        return Py4JJavaError(str(origin.getMessage()), origin)

    # --- handles ---

    def _class(self, name: str) -> Any:
        """A class by its full name. `jvm.a.b.C` would ask the JVM about every part."""
        if name not in self._classes:
            self._classes[name] = JavaClass(name, self._gateway._gateway_client)
        return self._classes[name]

    def _named(self, name: str) -> JavaObject:
        """The class as a value, for the reflection of Java."""
        if name not in self._named_classes:
            self._named_classes[name] = self._class("java.lang.Class").forName(name)
        return self._named_classes[name]

    @cached_property
    def _java(self) -> Any:
        return self._context._jvm.java.lang

    @cached_property
    def _converters(self) -> Any:
        return self._class("scala.jdk.javaapi.CollectionConverters")

    @cached_property
    def _row_class(self) -> Any:
        return self._class(_ROW)

    @cached_property
    def _row_tag(self) -> JavaObject:
        return self._class("scala.reflect.ClassTag").apply(self._named(_ROW))

    @cached_property
    def _method_handles(self) -> Any:
        return self._class("java.lang.invoke.MethodHandles")

    @cached_property
    def _lookup(self) -> JavaObject:
        return self._method_handles.publicLookup()

    @cached_property
    def _arrow(self) -> JavaObject:
        return getattr(
            self._class("org.apache.spark.sql.execution.arrow.ArrowConverters$"), "MODULE$"
        )

    @cached_property
    def _copy_row(self) -> JavaObject:
        row = self._named(_ROW)
        copy = self._lookup.findVirtual(row, "copy", self._method_types.methodType(row))
        return self._as_interface("scala.Function1", copy)

    @cached_property
    def _evaluate_row(self) -> JavaObject:
        predicate = self._named(f"{_EXPRESSIONS}.BasePredicate")
        boolean = self._class("java.lang.Boolean").TYPE
        signature = self._method_types.methodType(boolean, self._named(_ROW))
        return self._lookup.findVirtual(predicate, "eval", signature)

    @cached_property
    def _method_types(self) -> Any:
        return self._class("java.lang.invoke.MethodType")

    def _element_getter(self, array: str) -> JavaObject:
        if array not in self._getters:
            self._getters[array] = self._method_handles.arrayElementGetter(self._named(array))
        return self._getters[array]

    def _handles(self, *handles: JavaObject) -> JavaObject:
        array = self._gateway.new_array(self._java.invoke.MethodHandle, len(handles))
        for place, handle in enumerate(handles):
            array[place] = handle
        return array

    def _as_interface(self, name: str, handle: JavaObject) -> JavaObject:
        proxies = self._class("java.lang.invoke.MethodHandleProxies")
        return proxies.asInterfaceInstance(self._named(name), handle)

    def _indexes(self, count: int) -> JavaObject:
        return self._class("java.util.stream.IntStream").range(0, count)


class ScanNode:
    """A scan of files in a physical plan."""

    def __init__(self, jvm: Jvm, node: JavaObject, conditions: Sequence[JavaObject]) -> None:
        self._jvm = jvm
        self._node = node
        self.conditions = list(conditions)
        """What Spark asks of the rows that it has read."""

    @property
    def index_name(self) -> str:
        """What the scan's file index says of itself."""
        return str(self._node.relation().location().toString())

    @property
    def partition_filters(self) -> list[JavaObject]:
        return self._jvm.expressions(self._node.partitionFilters())

    @property
    def data_filters(self) -> list[JavaObject]:
        return self._jvm.expressions(self._node.dataFilters())

    @property
    def columns(self) -> list[str]:
        """The columns that are read from files, by their names there."""
        return [str(name) for name in self._node.requiredSchema().fieldNames()]

    @property
    def pushed_filters(self) -> str:
        return str(self._node.metadata().apply("PushedFilters"))


# --- the pyspark package -------------------------------------------------------------------------


def is_classic(session: object) -> bool:
    """Whether the session runs on py4j; sessions of Spark Connect do not."""
    return isinstance(session, SparkSession) and hasattr(session, "_jsparkSession")


def amend_error(error: AnalysisException, text: str) -> None:
    """Adds a line to the message of an error of Spark's."""
    error._desc = f"{error._desc}\n{text}"


def convert_errors(
    convert: Callable[[JavaObject], BaseException | None], amend: Callable[[Exception], None]
) -> None:
    """Lets `convert` turn exceptions of the JVM into Python ones before pyspark does.

    `amend` gets what pyspark makes of the others.
    """
    original = captured.convert_exception

    def convert_exception(error: JavaObject) -> Any:
        found = convert(error)
        if found is None:
            found = original(error)
            amend(found)
        return found

    captured.convert_exception = convert_exception
    logging.getLogger("py4j.clientserver").addFilter(_is_unexpected)


def _is_unexpected(record: logging.LogRecord) -> bool:
    """py4j logs what a callback raises, also where that is how an error reaches the user."""
    return not (record.exc_info and isinstance(record.exc_info[1], Py4JJavaError))


def origin(error: BaseException) -> JavaObject | None:
    """The Java exception behind an error that pyspark raised."""
    if isinstance(error, Py4JJavaError):
        return error.java_exception
    return getattr(error, "_origin", None)


def causes(error: JavaObject) -> list[JavaObject]:
    """A Java exception and those that caused it, or that it stands for."""
    found: list[JavaObject] = []
    while error is not None and len(found) < 20:
        found.append(error)
        found += list(error.getSuppressed())
        error = error.getCause()
    return found


_TRANSPARENT = ("ProjectExec", "ColumnarToRowExec", "InputAdapter", "WholeStageCodegenExec")
"""Nodes between a scan and a filter of its rows."""
_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions"
_ROW = "org.apache.spark.sql.catalyst.InternalRow"
_ROW_ARRAY = f"[L{_ROW};"
