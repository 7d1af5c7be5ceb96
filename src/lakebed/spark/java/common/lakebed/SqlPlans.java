package lakebed;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.time.Instant;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.AliasIdentifier;
import org.apache.spark.sql.catalyst.analysis.CTESubstitution$;
import org.apache.spark.sql.catalyst.analysis.RelationTimeTravel;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.analysis.UnresolvedTableValuedFunction;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTableType;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.catalog.TemporaryViewRelation;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.CacheTable;
import org.apache.spark.sql.catalyst.plans.logical.CacheTableAsSelect;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.UncacheTable;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.command.DescribeQueryCommand;
import org.apache.spark.sql.execution.command.ExplainCommand;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.IntegralType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Function1;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction0;
import scala.runtime.AbstractPartialFunction;

/**
 * Which Delta tables a statement reads, and the statement with relations in their place.
 *
 * Spark's own parser reads the text, so that nothing about its SQL is said twice. Spark's own
 * Janino compiles this in the driver; Janino knows no lambdas and erases generics.
 */
public class SqlPlans {
  private static final String ENABLED = "spark.lakebed.enabled";
  private static final ThreadLocal FOUND = new ThreadLocal();
  private static final ThreadLocal PARSING = new ThreadLocal();
  private static final ThreadLocal READS = new ThreadLocal();

  /** Null if the session is not enabled, or the statement reads no Delta table. */
  public Statement find(final SparkSession session, final String text) {
    return (Statement) within(session, new AbstractFunction0() {
      public Object apply() {
        return isEnabled(session)
            ? new Statement(session).of(parsed(session, text))
            : null;
      }
    });
  }

  /**
   * What `spark.sql` gives for a statement that reads no Delta table, in one call and parsed once.
   * Null if it reads some: `found` then has the statement.
   */
  public Dataset runOrFind(final SparkSession session, final String text) {
    return (Dataset) within(session, new AbstractFunction0() {
      public Object apply() {
        if (!isEnabled(session)) {
          return session.sql(text);
        }
        LogicalPlan plan = parsed(session, text);
        Statement statement = new Statement(session).of(plan);
        FOUND.set(statement);
        if (statement != null) {
          return null;
        }
        // Scripts are more than a plan.
        return isScript(plan) ? session.sql(text) : Dataset.ofRows(session, plan);
      }
    });
  }

  /** What `runOrFind` has found in this thread. */
  public Statement found() {
    Statement statement = (Statement) FOUND.get();
    FOUND.remove();
    return statement;
  }

  /** The same for a table or view by its name. */
  public Statement findTable(final SparkSession session, final String name, final Map options) {
    return (Statement) within(session, new AbstractFunction0() {
      public Object apply() {
        if (!isEnabled(session)) {
          return null;
        }
        Seq parts = split(session, name);
        CaseInsensitiveStringMap given = new CaseInsensitiveStringMap(options);
        return new Statement(session).of(new UnresolvedRelation(parts, given, false));
      }
    });
  }

  /** `spark.catalog` is about to cache a table or view, or to take it out of the cache. */
  public void noteCaching(final SparkSession session, final String name, final boolean isCached) {
    final Statement found = findTable(session, name, new LinkedHashMap());
    if (found == null) {
      return;
    }
    String known = found.cachedName(found.root);
    if (isCached) {
      Dataset table = (Dataset) session.table(name);
      CachedTables.cached(session, known, table.queryExecution().analyzed());
    } else {
      CachedTables.uncached(session, known);
    }
  }

  private static LogicalPlan parsed(SparkSession session, String text) {
    Object before = PARSING.get();
    PARSING.set(Boolean.TRUE);
    try {
      return session.sessionState().sqlParser().parsePlan(text);
    } catch (Exception error) {
      Internals.raise(error);
      return null;
    } finally {
      PARSING.set(before);
    }
  }

  /** Runs a statement that the front end leaves to Spark. */
  public static Dataset run(final SparkSession session, final String text) {
    return (Dataset) within(session, new AbstractFunction0() {
      public Object apply() {
        return Dataset.ofRows(session, parsed(session, text));
      }
    });
  }

  /** Whether this thread parses a statement that the front end has looked at already. */
  public static boolean isParsing() {
    return PARSING.get() != null;
  }

  /** The DataFrames by their references that the statement of this thread reads; may be null. */
  public static Map reads() {
    return (Map) READS.get();
  }

  public static boolean isEnabled(SparkSession session) {
    return "true".equals(session.sessionState().conf().getConfString(ENABLED, "false"));
  }

  private static boolean isScript(LogicalPlan plan) {
    return plan.getClass().getSimpleName().startsWith("Compound");
  }

  private static Seq split(SparkSession session, String name) {
    try {
      return session.sessionState().sqlParser().parseMultipartIdentifier(name);
    } catch (Exception error) {
      Internals.raise(error);
      return null;
    }
  }

  /** Spark reads its settings from the session that is active in the thread. */
  private static Object within(SparkSession session, AbstractFunction0 body) {
    return session.withActive(body);
  }

  /** A relation that takes the place of a name. */
  private static class Target {
    final int place;
    final AliasIdentifier alias;

    Target(int place, AliasIdentifier alias) {
      this.place = place;
      this.alias = alias;
    }
  }

  /** A view that reads Delta tables, with the plan of its text. */
  private static class Expansion {
    final SubqueryAlias alias;
    final View view;
    final LogicalPlan child;

    Expansion(SubqueryAlias alias, View view, LogicalPlan child) {
      this.alias = alias;
      this.view = view;
      this.child = child;
    }
  }

  /** A parsed statement, and what its leaves are to be replaced by. */
  public static class Statement {
    private final SparkSession session;
    private final SessionCatalog catalog;
    private final TableNames names;
    private final SQLConf conf;
    private final IdentityHashMap replaced = new IdentityHashMap();
    private final List references = new ArrayList();
    private LogicalPlan root = null;
    private LogicalPlan body = null;
    private boolean followsViews = true;

    Statement(SparkSession session) {
      this.session = session;
      this.catalog = session.sessionState().catalog();
      this.names = TableNames.of(session);
      this.conf = session.sessionState().conf();
    }

    Statement of(LogicalPlan plan) {
      if (isScript(plan)) {
        // Each of its statements is looked at when it is run, by `SqlRules`.
        return null;
      }
      root = plan;
      body = substituted(inner(plan));
      collect(body, TableNames.Scope.ofSession());
      return references.isEmpty() ? null : this;
    }

    /** The same for what Spark's analyser has at hand, which follows views by itself. */
    public static Statement inAnalysis(SparkSession session, LogicalPlan plan) {
      Statement found = new Statement(session);
      found.followsViews = false;
      found.body = plan;
      found.collect(plan, TableNames.Scope.ofAnalysis(session));
      return found.references.isEmpty() ? null : found;
    }

    public LogicalPlan replaced(List frames) {
      LogicalPlan found = replace(body, frames);
      if (found instanceof CacheTable) {
        LogicalPlan table = Dataset.ofRows(session, ((CacheTable) found).table())
            .queryExecution().analyzed();
        CachedTables.cached(session, cachedName(((CacheTable) body).table()), table);
      } else if (found instanceof UncacheTable) {
        CachedTables.uncached(session, cachedName(((UncacheTable) body).table()));
      }
      return found;
    }

    private String cachedName(LogicalPlan table) {
      List parts = Internals.list(((UnresolvedRelation) table).multipartIdentifier());
      boolean isTemporary = catalog.getRawLocalOrGlobalTempView(Internals.seq(parts)).isDefined();
      String[] name = isTemporary ? null : names.qualified(parts, TableNames.Scope.ofSession());
      return (name == null ? parts.toString() : name[0] + "." + name[1]).toLowerCase();
    }

    /** What each reference reads, as a text; where the statement names it does not count. */
    public List keys() throws Exception {
      List found = new ArrayList();
      for (int i = 0; i < references.size(); i++) {
        Map reference = new LinkedHashMap((Map) references.get(i));
        reference.remove("position");
        found.add(new ObjectMapper().writeValueAsString(reference));
      }
      return found;
    }

    /** The references as JSON, in the order in which `frame` takes their relations. */
    public String describe() throws Exception {
      return new ObjectMapper().writeValueAsString(references);
    }

    /** Runs the statement, if it is a command, and gives what `spark.sql` would give. */
    public Dataset frame(final List frames) throws Exception {
      Map reads = new LinkedHashMap();
      List keys = keys();
      for (int i = 0; i < keys.size(); i++) {
        reads.put(keys.get(i), frames.get(i));
      }
      Object before = READS.get();
      READS.set(reads);
      try {
        return (Dataset) within(session, new AbstractFunction0() {
          public Object apply() {
            LogicalPlan inner = replaced(frames);
            return root instanceof CacheTableAsSelect
                ? cached((CacheTableAsSelect) root, inner)
                : Dataset.ofRows(session, outer(root, inner));
          }
        });
      } finally {
        READS.set(before);
      }
    }

    // --- statements about a statement, which is none of their children ---

    private static LogicalPlan inner(LogicalPlan plan) {
      if (plan instanceof ExplainCommand) {
        return ((ExplainCommand) plan).logicalPlan();
      }
      if (plan instanceof CacheTableAsSelect) {
        return ((CacheTableAsSelect) plan).plan();
      }
      return plan instanceof DescribeQueryCommand ? ((DescribeQueryCommand) plan).plan() : plan;
    }

    private static LogicalPlan outer(LogicalPlan plan, LogicalPlan inner) {
      if (plan instanceof ExplainCommand) {
        return new ExplainCommand(inner, ((ExplainCommand) plan).mode());
      }
      if (plan instanceof DescribeQueryCommand) {
        return new DescribeQueryCommand(((DescribeQueryCommand) plan).queryText(), inner);
      }
      return inner;
    }

    /** Spark would make a view of the text, and read that. */
    private Dataset cached(CacheTableAsSelect command, LogicalPlan query) {
      // A text, which is wrapped from some version on.
      Object given = command.productElement(0);
      String name = String.valueOf(given instanceof Literal ? ((Literal) given).value() : given);
      try {
        Dataset.ofRows(session, query).createTempView(name);
      } catch (Exception error) {
        Internals.raise(error);
      }
      List parts = new ArrayList();
      parts.add(name);
      LogicalPlan view =
          new UnresolvedRelation(Internals.seq(parts), CaseInsensitiveStringMap.empty(), false);
      try {
        return Dataset.ofRows(
            session,
            new CacheTable(view, Internals.seq(parts), command.isLazy(), command.options(), false));
      } catch (RuntimeException error) {
        catalog.dropTempView(name);
        throw error;
      }
    }

    /** Names of common table expressions go before those of tables. */
    private static LogicalPlan substituted(LogicalPlan plan) {
      return (LogicalPlan) CTESubstitution$.MODULE$.apply(plan);
    }

    // --- looking for references ---

    private void collect(LogicalPlan plan, TableNames.Scope scope) {
      List found = CollectionConverters.asJava((Seq) plan.collectWithSubqueries(new Leaves()));
      for (int i = 0; i < found.size(); i++) {
        LogicalPlan leaf = (LogicalPlan) found.get(i);
        if (leaf instanceof UnresolvedRelation) {
          look(leaf, (UnresolvedRelation) leaf, null, scope);
        } else if (leaf instanceof RelationTimeTravel) {
          RelationTimeTravel travel = (RelationTimeTravel) leaf;
          if (travel.relation() instanceof UnresolvedRelation) {
            look(leaf, (UnresolvedRelation) travel.relation(), travel, scope);
          }
        } else {
          lookAtFunction((UnresolvedTableValuedFunction) leaf, scope);
        }
      }
    }

    private void look(
        LogicalPlan leaf,
        UnresolvedRelation relation,
        RelationTimeTravel travel,
        TableNames.Scope scope) {
      if (relation.isStreaming()) {
        return;
      }
      List parts = Internals.list(relation.multipartIdentifier());
      if (scope.seesTemporary(parts, conf)) {
        Option temporary = catalog.getRawLocalOrGlobalTempView(Internals.seq(parts));
        if (temporary.isDefined()) {
          if (!followsViews) {
            return;
          }
          expand(leaf, catalog.getTempViewRelation((TemporaryViewRelation) temporary.get()), scope);
          return;
        }
      }
      Map reference = names.reference(parts, scope);
      if (reference == null) {
        if (followsViews) {
          lookAtView(leaf, parts, scope);
        }
        return;
      }
      Map options = new LinkedHashMap(relation.options().asCaseSensitiveMap());
      if (reference.containsKey("options")) {
        options.putAll((Map) reference.get("options"));
      }
      if (travel != null && travel.version().isDefined()) {
        reference.put("version", travel.version().get());
      }
      if (travel != null && travel.timestamp().isDefined()) {
        reference.put("timestamp", moment((Expression) travel.timestamp().get()));
      }
      reference.put("options", options);
      add(leaf, reference);
    }

    private void add(LogicalPlan leaf, Map reference) {
      Option start = leaf.origin().startIndex();
      reference.put("position", start.isDefined() ? start.get() : null);
      replaced.put(leaf, new Target(references.size(), (AliasIdentifier) reference.remove("alias")));
      references.add(reference);
    }

    // --- views ---

    private void lookAtView(LogicalPlan leaf, List parts, TableNames.Scope scope) {
      String[] name = names.qualified(parts, scope);
      CatalogTable table = name == null ? null : names.metadata(name);
      if (table != null && table.tableType().equals(CatalogTableType.VIEW())) {
        expand(leaf, catalog.getRelation(table, CaseInsensitiveStringMap.empty()), scope);
      }
    }

    /** Follows the text of a view; one that was made of a DataFrame has none. */
    private void expand(LogicalPlan leaf, LogicalPlan relation, TableNames.Scope scope) {
      if (!(relation instanceof SubqueryAlias) || scope.depth >= conf.maxNestedViewDepth()) {
        return;
      }
      SubqueryAlias alias = (SubqueryAlias) relation;
      if (!(alias.child() instanceof View) || alias.child().resolved()) {
        return;
      }
      View view = (View) alias.child();
      LogicalPlan child = substituted(view.child());
      int before = replaced.size();
      collect(child, TableNames.Scope.ofView(view.desc(), scope.depth + 1));
      if (replaced.size() > before) {
        replaced.put(leaf, new Expansion(alias, view, child));
      }
    }

    // --- changes ---

    private void lookAtFunction(UnresolvedTableValuedFunction function, TableNames.Scope scope) {
      List name = Internals.list(function.name());
      String last = ((String) name.get(name.size() - 1)).toLowerCase();
      boolean byPath = last.equals("table_changes_by_path");
      if (name.size() > 1 || !(byPath || last.equals("table_changes"))) {
        return;
      }
      List arguments = Internals.list(function.functionArgs());
      List values = new ArrayList();
      for (int i = 0; i < arguments.size(); i++) {
        values.add(value((Expression) arguments.get(i)));
      }
      Object table = values.isEmpty() ? null : ((Map) values.get(0)).get("text");
      Map reference = null;
      if (table instanceof String) {
        List parts = new ArrayList();
        if (byPath) {
          parts.add("delta");
          parts.add(table);
          reference = TableNames.path(parts);
        } else {
          reference = named((String) table, scope);
        }
      }
      reference = reference == null ? new LinkedHashMap() : reference;
      reference.remove("alias");
      reference.put("changes", values);
      add(function, reference);
    }

    private Map named(String table, TableNames.Scope scope) {
      List parts = new ArrayList();
      try {
        parts.addAll(Internals.list(split(session, table)));
      } catch (Exception error) {
        parts.add(table);
      }
      Map found = names.reference(parts, scope);
      if (found == null && table.indexOf('/') >= 0) {
        List path = new ArrayList();
        path.add("delta");
        path.add(table);
        return TableNames.path(path);
      }
      if (found == null) {
        found = new LinkedHashMap();
        found.put("name", parts);
      }
      return found;
    }

    // --- values ---

    /** A time as Spark reads it, as a text. */
    private String moment(Expression expression) {
      if (expression instanceof Literal && ((Literal) expression).dataType() instanceof StringType) {
        return String.valueOf(((Literal) expression).value());
      }
      return instant(ExpressionUtils.column(expression), expression.sql());
    }

    private String instant(Column column, String otherwise) {
      Object millis = only(functions.unix_millis(column.try_cast("timestamp"))).head();
      Object found = ((Row) millis).get(0);
      return found == null ? otherwise : Instant.ofEpochMilli(((Long) found).longValue()).toString();
    }

    private Map value(Expression expression) {
      Map found = new LinkedHashMap();
      Column column = ExpressionUtils.column(expression);
      Dataset data = only(column);
      DataType type = data.schema().fields()[0].dataType();
      if (type instanceof IntegralType) {
        found.put("number", ((Row) data.head()).get(0));
      } else if (type instanceof StringType) {
        found.put("text", ((Row) data.head()).get(0));
      } else {
        found.put("time", instant(column, expression.sql()));
      }
      return found;
    }

    private Dataset only(Column column) {
      return Dataset.ofRows(session, new OneRowRelation()).select(new Column[] {column});
    }

    // --- replacing ---

    private LogicalPlan replace(LogicalPlan plan, List frames) {
      return (LogicalPlan) plan.transformUpWithSubqueries(new Replacing(this, frames));
    }

    private LogicalPlan instead(LogicalPlan leaf, List frames) {
      Object found = replaced.get(leaf);
      if (found instanceof Target) {
        Target target = (Target) found;
        LogicalPlan plan =
            ((Dataset) frames.get(target.place)).queryExecution().analyzed();
        return target.alias == null ? plan : new SubqueryAlias(target.alias, plan);
      }
      Expansion expansion = (Expansion) found;
      View view = expansion.view;
      LogicalPlan child = Internals.analyzed(session, view, replace(expansion.child, frames));
      LogicalPlan whole = (LogicalPlan) view.withNewChildren(one(child));
      return (LogicalPlan) expansion.alias.withNewChildren(one(whole));
    }

    private static Seq one(Object value) {
      List values = new ArrayList();
      values.add(value);
      return Internals.seq(values);
    }

  }

  /** The leaves that may be Delta tables. */
  private static class Leaves extends AbstractPartialFunction {
    public boolean isDefinedAt(Object node) {
      return node instanceof UnresolvedRelation
          || node instanceof RelationTimeTravel
          || node instanceof UnresolvedTableValuedFunction;
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
      return isDefinedAt(node) ? node : otherwise.apply(node);
    }
  }

  private static class Replacing extends AbstractPartialFunction {
    private final Statement statement;
    private final List frames;

    Replacing(Statement statement, List frames) {
      this.statement = statement;
      this.frames = frames;
    }

    public boolean isDefinedAt(Object node) {
      return statement.replaced.containsKey(node);
    }

    public Object applyOrElse(Object node, Function1 otherwise) {
      return isDefinedAt(node)
          ? statement.instead((LogicalPlan) node, frames)
          : otherwise.apply(node);
    }
  }
}
