package lakebed.bridge;

/** What Python answers. Strings and numbers go by value, all else by reference. */
public interface PythonSide {
  /**
   * @param what the name of the question
   * @param json its arguments
   * @param session the name of the session that asks, by which Python reaches it
   * @param given objects of Spark that the question is about, or null
   */
  Object answer(String what, String json, String session, Object given);
}
