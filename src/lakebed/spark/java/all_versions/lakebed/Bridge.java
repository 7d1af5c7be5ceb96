package lakebed;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.lang.reflect.UndeclaredThrowableException;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.classic.SparkSession$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The way to Python. Spark creates sources, catalogs and extensions by the names of their classes,
 * so there is one for a JVM, and each call says which session it is about.
 */
public final class Bridge {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static volatile PythonSide python;

  private Bridge() {}

  public static void connect(PythonSide given) {
    python = given;
  }

  public static boolean isConnected() {
    return python != null;
  }

  public static SparkSession session() {
    return (SparkSession) SparkSession$.MODULE$.active();
  }

  public static Object ask(String what, Map request, SparkSession session, Object given) {
    PythonSide side = python;
    if (side == null) {
      throw new LakebedException(
          "no Python process answers for Lakebed in this JVM; call lakebed.enable(spark), or start"
              + " the application with `lakebed run`",
          "NOT_CONNECTED",
          null);
    }
    try {
      String json = JSON.writeValueAsString(request);
      return side.answer(what, json, session, session.sessionUUID(), given);
    } catch (JsonProcessingException error) {
      throw new IllegalStateException(error);
    } catch (UndeclaredThrowableException error) {
      // An exception of Spark that Java would have had to declare.
      Internals.raise(error.getCause());
      throw error;
    } catch (py4j.Py4JException error) {
      throw new LakebedException(
          "the Python process that answers for Lakebed is gone: " + error.getMessage(),
          "NOT_CONNECTED",
          error);
    } catch (RuntimeException error) {
      throw error instanceof SparkThrowable ? error : LakebedException.of(error);
    }
  }

  /** The answer to a question that gives JSON. */
  public static Map askForMap(String what, Map request, SparkSession session) {
    try {
      return (Map) JSON.readValue((String) ask(what, request, session, null), Map.class);
    } catch (IOException error) {
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
