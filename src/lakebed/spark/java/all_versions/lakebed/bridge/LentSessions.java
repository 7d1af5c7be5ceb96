package lakebed.bridge;

import java.lang.ref.WeakReference;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.classic.SparkSession;
import py4j.Gateway;

/**
 * Sessions that Python can reach while it answers, under names that stay the same.
 *
 * Python keeps objects for sessions, and for the plans in them. If these kept the session in turn,
 * one with a temporary view of a Delta table would be kept for good when its client has left: no
 * garbage collector sees both halves of the circle.
 */
public final class LentSessions {
  private static final LentSessions ALL = new LentSessions();
  /** The session that the current thread's question is about. */
  private static final ThreadLocal ASKING = new ThreadLocal();

  private final Map lenders = new HashMap();

  private LentSessions() {}

  /** The session for what is made while a question is answered; null if there is none. */
  public static WeakReference asking() {
    return (WeakReference) ASKING.get();
  }

  static String name(SparkSession session) {
    return "lakebed session " + session.sessionUUID();
  }

  private synchronized void bind(Gateway gateway, String name, SparkSession session) {
    Integer known = (Integer) lenders.get(name);
    lenders.put(name, Integer.valueOf(known == null ? 1 : known.intValue() + 1));
    gateway.putObject(name, session);
  }

  private synchronized void unbind(Gateway gateway, String name) {
    int others = ((Integer) lenders.get(name)).intValue() - 1;
    if (others > 0) {
      lenders.put(name, Integer.valueOf(others));
      return;
    }
    lenders.remove(name);
    gateway.deleteObject(name);
  }

  /** For the time of one call. */
  static final class Loan {
    private final Gateway gateway;
    private final String name;
    private final Object before;

    Loan(Gateway gateway, SparkSession session) {
      this.gateway = gateway;
      this.name = name(session);
      this.before = ASKING.get();
      ALL.bind(gateway, name, session);
      ASKING.set(new WeakReference(session));
    }

    void end() {
      if (before == null) {
        ASKING.remove();
      } else {
        ASKING.set(before);
      }
      ALL.unbind(gateway, name);
    }
  }
}
