package lakebed.errors;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.delta.exceptions.ConcurrentAppendException;
import io.delta.exceptions.ConcurrentDeleteDeleteException;
import io.delta.exceptions.ConcurrentDeleteReadException;
import io.delta.exceptions.ConcurrentTransactionException;
import io.delta.exceptions.ConcurrentWriteException;
import io.delta.exceptions.MetadataChangedException;
import io.delta.exceptions.ProtocolChangedException;
import java.io.IOException;
import java.util.Collections;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import lakebed.bridge.Internals;
import org.apache.spark.SparkThrowable;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Errors of Lakebed as exceptions of the classes that delta-spark has for them, so that programs
 * in all languages, and clients of Spark Connect, can tell what happened by the class.
 */
public final class Errors {
  private static final Pattern CODE = Pattern.compile("\\s*\\[([A-Z_0-9.]+)\\]");

  private Errors() {}

  /** For Python. `family` is one of `conditions.py`, or the name of a class of conflicts. */
  public static Throwable of(
      String family,
      String message,
      String code,
      String condition,
      String sqlState,
      String parameters)
      throws IOException {
    Map told = (Map) new ObjectMapper().readValue(parameters, Map.class);
    return made(family, message, new ErrorDetails(code, condition, sqlState, told));
  }

  /** For what Lakebed's Java finds while Spark analyzes a statement. */
  public static RuntimeException analysis(String code, String message) {
    Internals.raise(new AnalysisError("[" + code + "] " + message, ErrorDetails.of(code)));
    throw new IllegalStateException("not reached");
  }

  /** The same for what delta-spark or Spark has a name for. */
  public static RuntimeException analysis(
      String code, String condition, String sqlState, String message) {
    ErrorDetails details = new ErrorDetails(code, condition, sqlState, Collections.emptyMap());
    Internals.raise(new AnalysisError("[" + code + "] " + message, details));
    throw new IllegalStateException("not reached");
  }

  /** For a statement that cannot be understood. */
  public static RuntimeException syntax(String code, String message) {
    ErrorDetails details =
        new ErrorDetails(code, "PARSE_SYNTAX_ERROR", "42601", Collections.emptyMap());
    Internals.raise(new ParseError("[" + code + "] " + message, details));
    throw new IllegalStateException("not reached");
  }

  /** Spark's parser calls itself for each level, until the stack of the thread is full. */
  public static RuntimeException nestedTooDeep(String code, String what) {
    return syntax(
        code,
        what + " is nested too deep to be parsed"
            + "\n  hint: use fewer parentheses, or IN instead of many OR");
  }

  /** Whether this is Lakebed's error with this code. */
  public static boolean hasCode(Throwable error, String code) {
    return error instanceof DetailedError && ((DetailedError) error).getCode().equals(code);
  }

  /** Messages of Lakebed begin with their code in brackets. */
  public static RuntimeException detailed(RuntimeException error) {
    if (error instanceof SparkThrowable) {
      return error;
    }
    String message = String.valueOf(error.getMessage());
    Matcher code = CODE.matcher(message);
    String found = code.lookingAt() ? code.group(1) : "LAKEBED";
    return new LakebedException(message, ErrorDetails.of(found), error);
  }

  static scala.collection.immutable.Map noParameters() {
    return Map$.MODULE$.empty();
  }

  static scala.collection.immutable.Map scalaMap(ErrorDetails details) {
    return (scala.collection.immutable.Map)
        Map$.MODULE$.from(CollectionConverters.asScala(details.getParameters()));
  }

  private static Throwable made(String family, String message, ErrorDetails details) {
    switch (family) {
      case "analysis":
        return new AnalysisError(message, details);
      case "parse":
        return new ParseError(message, details);
      case "argument":
        return new ArgumentError(message, details);
      case "unsupported":
        return new UnsupportedError(message, details);
      case "arithmetic":
        return new ArithmeticError(message, details);
      case "ConcurrentWriteException":
        return new ConcurrentWriteException(message, details);
      case "MetadataChangedException":
        return new MetadataChangedException(message, details);
      case "ProtocolChangedException":
        return new ProtocolChangedException(message, details);
      case "ConcurrentAppendException":
        return new ConcurrentAppendException(message, details);
      case "ConcurrentDeleteReadException":
        return new ConcurrentDeleteReadException(message, details);
      case "ConcurrentDeleteDeleteException":
        return new ConcurrentDeleteDeleteException(message, details);
      case "ConcurrentTransactionException":
        return new ConcurrentTransactionException(message, details);
      default:
        return new LakebedException(message, details, null);
    }
  }
}
