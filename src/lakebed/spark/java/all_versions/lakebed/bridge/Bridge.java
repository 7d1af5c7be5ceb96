package lakebed.bridge;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.lang.reflect.UndeclaredThrowableException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.BiFunction;
import lakebed.errors.ErrorDetails;
import lakebed.errors.Errors;
import lakebed.errors.LakebedException;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.classic.SparkSession$;
import py4j.GatewayServer;
import py4j.Py4JException;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The way to Python. Spark creates sources, catalogs and extensions by the names of their classes,
 * so there is one for a JVM, and each call says which session it is about. Where Python did not
 * start the JVM, the first question starts the Python process.
 */
public final class Bridge {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final long START_SECONDS = 120;
  private static volatile PythonSide python;
  private static volatile PythonConnections connections;
  /** Where `python` is; null if it is in the process that started this JVM. */
  private static volatile PythonProcess process;

  private Bridge() {}

  /** `server` is that of py4j, by which Python is reached. */
  public static void connect(PythonSide given, GatewayServer server) {
    connections = new PythonConnections(server);
    python = given;
  }

  public static SparkSession session() {
    return (SparkSession) SparkSession$.MODULE$.active();
  }

  public static Object ask(String what, Map request, SparkSession session, Object given) {
    PythonSide side = side(session);
    PythonConnections.Loan loan = PythonConnections.borrow(connections);
    LentSessions.Loan lent = connections.lend(session);
    try {
      return side.answer(what, json(request), LentSessions.name(session), given);
    } catch (UndeclaredThrowableException error) {
      // An exception of Spark that Java would have had to declare.
      Internals.raise(error.getCause());
      throw error;
    } catch (Py4JException error) {
      throw gone(error);
    } catch (RuntimeException error) {
      throw Errors.detailed(error);
    } catch (Error error) {
      loan.discard();
      throw error;
    } finally {
      lent.end();
      loan.end();
    }
  }

  /**
   * The answer of an object that Python gave, such as one that knows the files of a table.
   *
   * @param asking the session of the question that made it, if a question did
   */
  public static Object apply(BiFunction given, WeakReference asking, Object first, Object second) {
    SparkSession session = asking == null ? null : (SparkSession) asking.get();
    PythonConnections.Loan loan = PythonConnections.borrow(connections);
    LentSessions.Loan lent = session == null ? null : connections.lend(session);
    try {
      return given.apply(first, second);
    } catch (UndeclaredThrowableException error) {
      Internals.raise(error.getCause());
      throw error;
    } catch (Py4JException error) {
      // py4j has one class of exception for both; a Python that lives has raised this one.
      PythonProcess known = process;
      throw known != null && !known.isAlive() ? gone(error) : error;
    } catch (Error error) {
      loan.discard();
      throw error;
    } finally {
      if (lent != null) {
        lent.end();
      }
      loan.end();
    }
  }

  /** What answers; a process for it is started if there is none, or if it ended. */
  private static PythonSide side(SparkSession session) {
    PythonProcess known = process;
    if (python != null && (known == null || known.isFor(session.sparkContext()))) {
      return python;
    }
    synchronized (Bridge.class) {
      if (process != null && !process.isFor(session.sparkContext())) {
        process.stop();
        process = null;
        python = null;
      }
      if (python == null) {
        start(session);
      }
      return python;
    }
  }

  private static void start(SparkSession session) {
    PythonProcess started = new PythonProcess(session.sparkContext());
    long end = System.nanoTime() + START_SECONDS * 1000000000L;
    while (python == null) {
      if (!started.isAlive() || System.nanoTime() > end) {
        LakebedException error = started.failedStart();
        started.stop();
        throw error;
      }
      pause();
    }
    process = started;
  }

  private static void pause() {
    try {
      Thread.sleep(10);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while Lakebed's Python process starts", error);
    }
  }

  private static LakebedException gone(Py4JException error) {
    PythonProcess known = process;
    if (known == null) {
      return notConnected(
          "the Python process that answers for Lakebed is gone: " + error.getMessage(), error);
    }
    return notConnected(
        "Lakebed's Python process ended" + known.ending()
            + "\nhint: the next query starts it again; create DataFrames and temporary views of"
            + " Delta tables again, and see DESCRIBE HISTORY before you repeat a write",
        error);
  }

  static LakebedException notConnected(String message, Throwable cause) {
    return new LakebedException(
        "[NOT_CONNECTED] " + message, ErrorDetails.of("NOT_CONNECTED"), cause);
  }

  /** The answer to a question that gives JSON. */
  public static Map askForMap(String what, Map request, SparkSession session) {
    return mapOf((String) ask(what, request, session, null));
  }

  public static Map mapOf(String json) {
    try {
      return (Map) JSON.readValue(json, Map.class);
    } catch (IOException error) {
      throw new IllegalStateException(error);
    }
  }

  public static String json(Object value) {
    try {
      return JSON.writeValueAsString(value);
    } catch (JsonProcessingException error) {
      throw new IllegalStateException(error);
    }
  }

  public static Map map(Object[] pairs) {
    Map made = new LinkedHashMap();
    for (int i = 0; i < pairs.length; i += 2) {
      made.put(pairs[i], pairs[i + 1]);
    }
    return made;
  }

  public static Map java(scala.collection.Map given) {
    return new LinkedHashMap(CollectionConverters.asJava(given));
  }
}
