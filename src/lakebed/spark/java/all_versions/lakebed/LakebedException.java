package lakebed;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.SparkThrowable;

/** An error of Lakebed as one of Spark, with its code as the condition. */
public class LakebedException extends RuntimeException implements SparkThrowable {
  private static final long serialVersionUID = 1L;
  private static final Pattern CODE = Pattern.compile("\\s*\\[([A-Z_0-9.]+)\\]");

  private final String condition;

  public LakebedException(String message, String condition, Throwable cause) {
    super(message, cause);
    this.condition = condition;
  }

  /** Spark's parser calls itself for each level, until the stack of the thread is full. */
  static LakebedException nestedTooDeep(String code, String what) {
    String message = "[" + code + "] " + what + " is nested too deep to be parsed"
        + "\n  hint: use fewer parentheses, or IN instead of many OR";
    return new LakebedException(message, code, null);
  }

  /** Messages of Lakebed begin with their code in brackets. */
  static LakebedException of(RuntimeException error) {
    String message = String.valueOf(error.getMessage());
    Matcher code = CODE.matcher(message);
    return new LakebedException(message, code.lookingAt() ? code.group(1) : "LAKEBED", error);
  }

  public String getCondition() {
    return condition;
  }

  @SuppressWarnings("deprecation")
  public String getErrorClass() {
    return condition;
  }

  public String getSqlState() {
    return "KD000";
  }
}
