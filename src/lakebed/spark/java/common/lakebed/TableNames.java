package lakebed;

import java.lang.reflect.Method;
import java.net.URI;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.AliasIdentifier;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.AnalysisContext;
import org.apache.spark.sql.catalyst.analysis.AnalysisContext$;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogUtils;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.internal.SQLConf;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Which Delta table a name is, in a session or as a view or function saw it when it was made.
 *
 * Spark's own Janino compiles this in the driver, on top of `Internals`. Each class has a class
 * loader of its own, so what another one uses is public.
 */
public class TableNames {
  private static final Pattern VERSIONED =
      Pattern.compile("(.+)@(?:[vV]([0-9]+)|([0-9]{17}))", Pattern.DOTALL);

  private final SparkSession session;
  private final SessionCatalog catalog;

  public TableNames() {
    this(null, null);
  }

  private TableNames(SparkSession session, SessionCatalog catalog) {
    this.session = session;
    this.catalog = catalog;
  }

  public static TableNames of(SparkSession session) {
    return new TableNames(session, session.sessionState().catalog());
  }

  /** Which Delta table a name is; null if it is none. */
  public Map reference(List parts, Scope scope) {
    String[] name = qualified(parts, scope);
    CatalogTable table = name == null ? null : metadata(name);
    if (table != null) {
      return isDelta(table) ? described(table, parts) : null;
    }
    boolean isPath = parts.size() == 2 && "delta".equalsIgnoreCase((String) parts.get(0));
    if (isPath) {
      return path(parts);
    }
    Matcher versioned = VERSIONED.matcher((String) parts.get(parts.size() - 1));
    if (!versioned.matches()) {
      return null;
    }
    List plain = new ArrayList(parts.subList(0, parts.size() - 1));
    plain.add(versioned.group(1));
    name = qualified(plain, scope);
    table = name == null ? null : metadata(name);
    if (table == null || !isDelta(table)) {
      return null;
    }
    Map found = described(table, plain);
    Map options = new LinkedHashMap();
    String version = versioned.group(2);
    options.put(version != null ? "versionAsOf" : "timestampAsOf",
        version != null ? version : spaced(versioned.group(3)));
    found.put("options", options);
    return found;
  }

  private static String spaced(String digits) {
    return digits.replaceAll(
        "(\\d{4})(\\d\\d)(\\d\\d)(\\d\\d)(\\d\\d)(\\d\\d)(\\d{3})", "$1-$2-$3 $4:$5:$6.$7");
  }

  private Map described(CatalogTable table, List parts) {
    Map found = new LinkedHashMap();
    URI location = (URI) table.storage().locationUri().get();
    found.put("name", parts);
    found.put("location", CatalogUtils.URIToString(location));
    List qualifier = new ArrayList();
    qualifier.add("spark_catalog");
    qualifier.add(table.identifier().database().get());
    found.put("alias", new AliasIdentifier(table.identifier().table(), Internals.seq(qualifier)));
    return found;
  }

  public static Map path(List parts) {
    Map found = new LinkedHashMap();
    found.put("name", parts);
    found.put("path", parts.get(1));
    return found;
  }

  /** The database and the name in the session's own catalog; null for other catalogs. */
  public String[] qualified(List given, Scope scope) {
    CatalogManager catalogs = session.sessionState().catalogManager();
    List parts = given;
    if (parts.size() == 1 && scope.path != null) {
      return onPath((String) parts.get(0), scope.path);
    }
    List from = scope.from;
    if (!from.isEmpty()) {
      boolean isWhole = parts.size() > 1 && catalogs.isCatalogRegistered((String) parts.get(0));
      if (!isWhole) {
        List longer = new ArrayList(parts.size() == 1 ? from : from.subList(0, 1));
        longer.addAll(parts);
        parts = longer;
      }
    }
    int size = parts.size();
    if (size == 3 && isSessionCatalog((String) parts.get(0))) {
      return new String[] {(String) parts.get(1), (String) parts.get(2)};
    }
    if (size > 2 || !isSessionCatalog(catalogs.currentCatalog().name())) {
      return null;
    }
    if (size == 2 && catalogs.isCatalogRegistered((String) parts.get(0))) {
      return null;
    }
    String database = size == 2 ? (String) parts.get(0) : catalog.getCurrentDatabase();
    return new String[] {database, (String) parts.get(size - 1)};
  }

  /** The first database of the path that has the name; null: Spark is to look. */
  private String[] onPath(String name, List path) {
    for (int i = 0; i < path.size(); i++) {
      List entry = CollectionConverters.asJava((Seq) path.get(i));
      if ("system".equalsIgnoreCase((String) entry.get(0))) {
        continue;
      }
      if (entry.size() != 2 || !isSessionCatalog((String) entry.get(0))) {
        return null;
      }
      String[] found = new String[] {(String) entry.get(1), name};
      if (metadata(found) != null) {
        return found;
      }
    }
    return null;
  }

  private static boolean isSessionCatalog(String name) {
    return "spark_catalog".equalsIgnoreCase(name);
  }

  public CatalogTable metadata(String[] name) {
    try {
      return catalog.getTableMetadata(new TableIdentifier(name[1], Option.apply(name[0])));
    } catch (NoSuchTableException error) {
      return null;
    } catch (NoSuchNamespaceException error) {
      return null;
    }
  }

  private static boolean isDelta(CatalogTable table) {
    return table.provider().isDefined()
        && "delta".equalsIgnoreCase((String) table.provider().get())
        && table.storage().locationUri().isDefined();
  }

  /** Where names are looked up: in the session, or as they were when a view was made. */
  public static class Scope {
    /** Null outside of views. */
    private final List temporary;
    /** The catalog and the database that the view was made in; may be empty. */
    public final List from;
    /** Databases in which to look for names without one; null: in the current one. */
    public final List path;
    public final int depth;

    private Scope(List temporary, List from, List path, int depth) {
      this.temporary = temporary;
      this.from = from;
      this.path = path;
      this.depth = depth;
    }

    public static Scope ofSession() {
      return new Scope(null, new ArrayList(), null, 0);
    }

    public static Scope ofView(CatalogTable view, int depth) {
      return new Scope(
          CollectionConverters.asJava(view.viewReferredTempViewNames()),
          CollectionConverters.asJava(view.viewCatalogAndNamespace()),
          null,
          depth);
    }

    /** What Spark's analyser is about in this thread: a statement, a view or a function. */
    public static Scope ofAnalysis(SparkSession session) {
      AnalysisContext context = AnalysisContext$.MODULE$.get();
      List from = CollectionConverters.asJava(context.catalogAndNamespace());
      List temporary = from.isEmpty()
          ? null
          : CollectionConverters.asJava(context.referredTempViewNames());
      return new Scope(temporary, from, path(session, context), 0);
    }

    /** From 4.2 on functions keep the databases that were searched when they were made. */
    private static List path(SparkSession session, AnalysisContext context) {
      Object manager = session.sessionState().catalogManager();
      Method[] methods = manager.getClass().getMethods();
      for (int i = 0; i < methods.length; i++) {
        if (methods[i].getName().equals("resolutionPathEntriesForAnalysis")) {
          Object entries = call(context, "resolutionPathEntries");
          Object[] arguments = new Object[] {entries, context.catalogAndNamespace()};
          return CollectionConverters.asJava((Seq) Internals.call(methods[i], manager, arguments));
        }
      }
      return null;
    }

    private static Object call(Object target, String getter) {
      try {
        return target.getClass().getMethod(getter, new Class[0]).invoke(target, new Object[0]);
      } catch (Exception error) {
        throw new IllegalStateException(error);
      }
    }

    /** A view sees those temporary views alone that were there when it was made. */
    public boolean seesTemporary(List parts, SQLConf conf) {
      if (temporary == null) {
        return true;
      }
      for (int i = 0; i < temporary.size(); i++) {
        if (isSame(CollectionConverters.asJava((Seq) temporary.get(i)), parts, conf)) {
          return true;
        }
      }
      return false;
    }

    private static boolean isSame(List one, List other, SQLConf conf) {
      if (one.size() != other.size()) {
        return false;
      }
      for (int i = 0; i < one.size(); i++) {
        String a = (String) one.get(i);
        String b = (String) other.get(i);
        if (!(conf.caseSensitiveAnalysis() ? a.equals(b) : a.equalsIgnoreCase(b))) {
          return false;
        }
      }
      return true;
    }
  }
}
