package lakebed.bridge;

import java.util.ArrayDeque;
import org.apache.spark.sql.classic.SparkSession;
import py4j.ClientServerConnection;
import py4j.GatewayServer;
import py4j.GatewayServerListener;
import py4j.Py4JPythonClient;
import py4j.Py4JPythonClientPerThread;

/**
 * Connections to Python, which threads of the JVM borrow for the time of a call.
 *
 * py4j gives each thread that calls Python a connection of its own, with a thread of Python's that
 * answers, and keeps both for good: it does not notice that a thread ended, and Spark plans and
 * broadcasts in threads that come and go. So a thread without a connection borrows an idle one; if
 * there is none, py4j makes one as ever, which is kept here afterwards. The call stays in the
 * thread that makes it, with its session, settings and job group. What Python calls while it
 * answers, and what that asks Python in turn, takes the same connection.
 */
final class PythonConnections {
  private static final int MOST_IDLE = 16;

  private final GatewayServer server;
  private final ArrayDeque idle = new ArrayDeque();
  /** py4j's own note of a thread's connection does not keep it. */
  private final ThreadLocal held = new ThreadLocal();

  PythonConnections(GatewayServer server) {
    this.server = server;
  }

  /** Before a call; `end` must follow. `from` is null in a JVM where no session was enabled. */
  static Loan borrow(PythonConnections from) {
    Py4JPythonClient client = from == null ? null : from.server.getCallbackClient();
    // Without pinned threads py4j has a pool itself.
    return client instanceof Py4JPythonClientPerThread
        ? new Loan(from, (Py4JPythonClientPerThread) client)
        : new Loan(null, null);
  }

  /** Lets Python reach a session until the loan ends. */
  LentSessions.Loan lend(SparkSession session) {
    return new LentSessions.Loan(server.getGateway(), session);
  }

  private ClientServerConnection takeIdle() {
    synchronized (idle) {
      ClientServerConnection found = (ClientServerConnection) idle.pollLast();
      while (found != null && found.getSocket() == null) {
        found = (ClientServerConnection) idle.pollLast();
      }
      return found;
    }
  }

  private void giveBack(ClientServerConnection used) {
    synchronized (idle) {
      if (idle.size() < MOST_IDLE) {
        idle.addLast(used);
        return;
      }
    }
    used.shutdown();
  }

  static final class Loan {
    private final PythonConnections from;
    private final Py4JPythonClientPerThread client;
    private boolean isOwn = false;
    private boolean isBroken = false;

    private Loan(PythonConnections from, Py4JPythonClientPerThread client) {
      this.from = from;
      this.client = client;
      if (client == null) {
        return;
      }
      ClientServerConnection known = client.getPerThreadConnection();
      isOwn = known != null && known.getSocket() != null;
      ClientServerConnection found = isOwn ? known : from.takeIdle();
      if (found != null) {
        from.held.set(found);
        client.setPerThreadConnection(found);
      }
    }

    /** What failed may have left half an answer in the connection. */
    void discard() {
      isBroken = true;
    }

    void end() {
      ClientServerConnection used = client == null ? null : client.getPerThreadConnection();
      if (used == null) {
        return;
      }
      // py4j lists a connection again after each call, one within another too, and forgets it once.
      ((GatewayServerListener) client).connectionStopped(used);
      if (isOwn) {
        return;
      }
      client.setPerThreadConnection(null);
      from.held.remove();
      if (isBroken) {
        used.shutdown();
      } else if (used.getSocket() != null) {
        from.giveBack(used);
      }
    }
  }
}
