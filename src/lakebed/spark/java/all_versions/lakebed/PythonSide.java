package lakebed;

/** What Python answers. Strings and numbers go by value, all else by reference. */
public interface PythonSide {
  /**
   * @param what the name of the question
   * @param json its arguments
   * @param session the session that asks, a `classic.SparkSession`
   * @param id the id of the session
   * @param given objects of Spark that the question is about, or null
   */
  Object answer(String what, String json, Object session, String id, Object given);
}
