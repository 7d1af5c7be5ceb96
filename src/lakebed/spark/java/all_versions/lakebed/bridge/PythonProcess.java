package lakebed.bridge;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedList;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import lakebed.errors.LakebedException;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.api.python.Py4JServer;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The Python process that answers for Lakebed in a JVM that Python did not start, such as
 * spark-shell. It connects to a py4j server on loopback, with a secret, as PySpark does in
 * spark-submit, and ends when its input ends: with this JVM.
 */
final class PythonProcess {
  private static final Logger LOG = LoggerFactory.getLogger("lakebed.python");
  private static final String SETTING = "spark.lakebed.python";
  private static final String MODULE = "lakebed.sessions.native.attach";
  private static final int KEPT_LINES = 20;

  private final SparkContext context;
  private final String interpreter;
  private final Py4JServer server;
  private final Process process;
  private final Thread reader;
  private final LinkedList lines = new LinkedList();

  PythonProcess(SparkContext context) {
    this.context = context;
    this.interpreter = interpreter(context.conf());
    this.server = started(new Py4JServer(context.conf()));
    try {
      this.process = launched();
    } catch (IOException error) {
      server.shutdown();
      throw Bridge.notConnected(
          "Python cannot be started for Lakebed: " + error.getMessage() + "\n" + hint(), error);
    }
    this.reader = new Thread("lakebed-python-output") {
      public void run() {
        logOutput();
      }
    };
    reader.setDaemon(true);
    reader.start();
    stopWithContext();
  }

  /** py4j's threads for calls from Spark are no daemons: while Python lives the JVM cannot end. */
  private void stopWithContext() {
    context.addSparkListener(new SparkListener() {
      public void onApplicationEnd(SparkListenerApplicationEnd end) {
        PythonProcess.this.stop();
      }
    });
  }

  boolean isFor(SparkContext given) {
    return context == given && process.isAlive();
  }

  boolean isAlive() {
    return process.isAlive();
  }

  void stop() {
    process.destroy();
    server.shutdown();
  }

  /** An error about a process that ended before it could answer anything. */
  LakebedException failedStart() {
    return Bridge.notConnected(
        "Lakebed's Python process did not start" + ending() + "\n" + hint(), null);
  }

  /** How the process ended and what it wrote last; the empty string if it runs. */
  String ending() {
    try {
      if (!process.waitFor(2, TimeUnit.SECONDS)) {
        return "";
      }
      reader.join(1000);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      return "";
    }
    StringBuilder text = new StringBuilder();
    text.append(" (").append(interpreter).append(", exit code ");
    text.append(process.exitValue()).append(")");
    synchronized (lines) {
      for (Object line : lines) {
        text.append("\n  ").append(line);
      }
    }
    return text.toString();
  }

  private String hint() {
    return "hint: " + interpreter + " must have Lakebed: " + interpreter
        + " -m pip install 'lakebed[spark]'; --conf " + SETTING + "=... chooses another Python";
  }

  private Process launched() throws IOException {
    ProcessBuilder builder =
        new ProcessBuilder(Arrays.asList(new String[] {interpreter, "-m", MODULE}));
    Map environment = builder.environment();
    // Those are for PySpark programs that start a session of their own.
    environment.remove("SPARK_REMOTE");
    environment.remove("SPARK_LOCAL_REMOTE");
    environment.remove("SPARK_CONNECT_MODE_ENABLED");
    environment.remove("SPARK_API_MODE");
    environment.put("PYSPARK_GATEWAY_PORT", String.valueOf(server.getListeningPort()));
    environment.put("PYSPARK_GATEWAY_SECRET", server.secret());
    environment.put("LAKEBED_SPARK_VERSION", context.version());
    // A file in the working directory must not hide a module of Python's.
    environment.put("PYTHONSAFEPATH", "1");
    if (!environment.containsKey("PYSPARK_PYTHON") && context.isLocal()) {
      environment.put("PYSPARK_PYTHON", interpreter);
    }
    return builder.redirectErrorStream(true).start();
  }

  /** The threads of the server are daemons if the one that starts it is. */
  private static Py4JServer started(final Py4JServer server) {
    Thread thread = new Thread("lakebed-python-server") {
      public void run() {
        server.start();
      }
    };
    thread.setDaemon(true);
    thread.start();
    try {
      thread.join();
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(error);
    }
    return server;
  }

  private void logOutput() {
    try {
      BufferedReader output = new BufferedReader(
          new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
      for (String line = output.readLine(); line != null; line = output.readLine()) {
        LOG.warn(line);
        synchronized (lines) {
          lines.add(line);
          if (lines.size() > KEPT_LINES) {
            lines.removeFirst();
          }
        }
      }
    } catch (IOException error) {
      // The pipe breaks when the process is killed; `ending` tells how it ended.
      LOG.debug("the output of Lakebed's Python process ended", error);
    }
  }

  /** The setting, what `lakebed classpath` recorded, or the Python that PySpark would take. */
  private static String interpreter(SparkConf conf) {
    String[] candidates = new String[] {
      conf.get(SETTING, null),
      recorded(),
      System.getenv("PYSPARK_DRIVER_PYTHON"),
      System.getenv("PYSPARK_PYTHON"),
    };
    for (int i = 0; i < candidates.length; i++) {
      if (candidates[i] != null && !candidates[i].trim().isEmpty()) {
        return candidates[i].trim();
      }
    }
    return "python3";
  }

  private static String recorded() {
    InputStream found = PythonProcess.class.getClassLoader().getResourceAsStream("lakebed/python");
    if (found == null) {
      return null;
    }
    try {
      String path = new String(found.readAllBytes(), StandardCharsets.UTF_8).trim();
      return new File(path).canExecute() ? path : null;
    } catch (IOException error) {
      throw new IllegalStateException(error);
    }
  }
}
