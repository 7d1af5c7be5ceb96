package lakebed;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.ref.WeakReference;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.UndeclaredThrowableException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.catalyst.analysis.AnalysisContext$;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.AnalysisHelper$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SingleStatement;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.ExternalCommandRunner;
import org.apache.spark.sql.errors.QueryCompilationErrors;
import org.apache.spark.sql.execution.command.ExternalCommandExecutor;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.codehaus.janino.SimpleCompiler;
import scala.Option;
import scala.Product;
import scala.collection.Iterable;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction0;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractFunction2;
import scala.runtime.BoxedUnit;

/**
 * Delta tables in what Spark analyses without the front end: statements of scripts, bodies of
 * functions, texts of EXECUTE IMMEDIATE.
 *
 * A rule among Spark's first ones puts relations in the place of names. Statements that change
 * tables, and those that Spark's parser does not know, become commands that the front end runs.
 * Spark's own Janino compiles this in the driver, on top of `SqlPlans`.
 */
public class SqlRules {
  private static final ThreadLocal GIVEN = new ThreadLocal();
  /** Whether the text that this thread parses next has to be a query. */
  private static final ThreadLocal INTO = new ThreadLocal();
  /** The text of a statement that the front end may have to run. */
  private static final TreeNodeTag TEXT = new TreeNodeTag("lakebed.text");
  private static final TreeNodeTag SEEN = new TreeNodeTag("lakebed.seen");
  private static final Pattern FIRST_WORD =
      Pattern.compile("(?:\\s|--[^\\n]*(?:\\n|$)|/\\*(?:(?!/\\*).)*?\\*/)*(\\w+)", Pattern.DOTALL);

  /**
   * Adds all to a session, and to those that will be made of it. `front` answers in Python: it gets
   * a text of JSON and the session. `words` are those that its statements begin with.
   */
  public boolean install(SparkSession session, BiFunction front, Set words) throws Exception {
    Object analyzer = session.sessionState().analyzer();
    Field rules = field(analyzer.getClass(), "hintResolutionRules");
    Seq known = (Seq) rules.get(analyzer);
    if (has(known)) {
      return false;
    }
    final Front to = new Front(front, words);
    final Field parser = field(session.sessionState().getClass(), "sqlParser");
    Field catalogParser =
        field(session.sessionState().catalog().getClass(), "parser");
    ParserInterface own = to.around(session, session.sessionState().sqlParser());
    rules.set(analyzer, known.appended(new Reads(session, to)));
    parser.set(session.sessionState(), own);
    catalogParser.set(session.sessionState().catalog(), own);
    // Sessions that are made of this one have analysers and parsers of their own.
    session.extensions().injectHintResolutionRule(new AbstractFunction1() {
      public Object apply(Object made) {
        return new Reads((SparkSession) made, to);
      }
    });
    session.extensions().injectParser(new AbstractFunction2() {
      public Object apply(Object made, Object parser) {
        return to.around((SparkSession) made, (ParserInterface) parser);
      }
    });
    return true;
  }

  /** What the front end's last statement in this thread gave; null if there was none since. */
  public Object given() {
    Object found = GIVEN.get();
    GIVEN.remove();
    return found;
  }

  private static boolean has(Seq rules) {
    for (int i = 0; i < rules.length(); i++) {
      if (rules.apply(i).getClass().getName().startsWith("lakebed.SqlRules")) {
        return true;
      }
    }
    return false;
  }

  /** The field of an object that overrides the getter of that name. */
  private static Field field(Class type, String name) throws Exception {
    for (Class each = type; each != null; each = each.getSuperclass()) {
      Field[] fields = each.getDeclaredFields();
      for (int i = 0; i < fields.length; i++) {
        if (fields[i].getName().equals(name)) {
          fields[i].setAccessible(true);
          return fields[i];
        }
      }
    }
    throw new NoSuchFieldException(name);
  }

  /** The way to Python. */
  private static class Front {
    private static final ThreadLocal RECENT = new ThreadLocal();
    private static final Pattern CODE = Pattern.compile("\\s*\\[([A-Z_0-9.]+)\\]");

    private final BiFunction python;
    private final Set words;

    Front(BiFunction python, Set words) {
      this.python = python;
      this.words = words;
    }

    Object ask(SparkSession session, String what, Object about) {
      try {
        Map request = new LinkedHashMap();
        request.put(what, about);
        return python.apply(new ObjectMapper().writeValueAsString(request), session);
      } catch (UndeclaredThrowableException error) {
        // An error of Spark's that Java would have declared.
        Internals.raise(error.getCause());
        return null;
      } catch (RuntimeException error) {
        throw error instanceof SparkThrowable ? error : (RuntimeException) failure(error);
      } catch (Exception error) {
        throw new IllegalStateException(error);
      }
    }

    /** Handlers of scripts catch nothing but errors that have a condition. */
    private static Failure failure(RuntimeException error) {
      String message = String.valueOf(error.getMessage());
      Matcher code = CODE.matcher(message);
      return new Failure(message, code.lookingAt() ? code.group(1) : "LAKEBED", error);
    }

    /** A text with the values of its parameters. */
    String bound(SparkSession session, String text, List names, List values) {
      List texts = new ArrayList();
      for (int i = 0; i < values.size(); i++) {
        Object value = values.get(i);
        texts.add((value instanceof Alias ? ((Alias) value).child() : (Expression) value).sql());
      }
      Map request = new LinkedHashMap();
      request.put("text", text);
      request.put("names", names);
      request.put("values", texts);
      return (String) ask(session, "bind", request);
    }

    /** The tables of a query, each opened once for all that is analysed for one statement. */
    List frames(SparkSession session, SqlPlans.Statement statement) throws Exception {
      Map known = opened();
      Map given = SqlPlans.reads();
      List keys = statement.keys();
      List missing = new ArrayList();
      for (int i = 0; i < keys.size(); i++) {
        Object key = keys.get(i);
        if (given != null && given.containsKey(key)) {
          known.put(key, given.get(key));
        }
        if (!known.containsKey(key) && !missing.contains(key)) {
          missing.add(key);
        }
      }
      for (int i = 0; i < missing.size(); i++) {
        known.put(missing.get(i), ask(session, "read", missing.get(i)));
      }
      List found = new ArrayList();
      for (int i = 0; i < keys.size(); i++) {
        found.add(known.get(keys.get(i)));
      }
      return found;
    }

    /** Spark keeps relations for a statement, with its views and functions, in one map. */
    private static Map opened() {
      Object statement = AnalysisContext$.MODULE$.get().relationCache();
      LinkedList recent = (LinkedList) RECENT.get();
      if (recent == null) {
        recent = new LinkedList();
        RECENT.set(recent);
      }
      for (int i = 0; i < recent.size(); i++) {
        Object[] each = (Object[]) recent.get(i);
        if (((WeakReference) each[0]).get() == statement) {
          return (Map) each[1];
        }
      }
      Map made = new LinkedHashMap();
      recent.addFirst(new Object[] {new WeakReference(statement), made});
      if (recent.size() > 8) {
        recent.removeLast();
      }
      return made;
    }

    /** Whether a statement begins like one of the front end's. */
    boolean mayRun(String text) {
      Matcher word = FIRST_WORD.matcher(text);
      return word.lookingAt() && words.contains(word.group(1).toUpperCase());
    }

    boolean runs(SparkSession session, String text) {
      return Boolean.TRUE.equals(ask(session, "claims", text));
    }

    LogicalPlan command(SparkSession session, String text) {
      return new ExternalCommandExecutor(
          new Runner(session, this), text, (scala.collection.immutable.Map) Map$.MODULE$.empty());
    }

    ParserInterface around(SparkSession session, ParserInterface parser) {
      return parser.getClass().getName().equals(Parser.MADE)
          ? parser
          : Parser.made(new Parser(session, parser, this));
    }
  }

  /** An error of Lakebed's as one of Spark's. */
  private static class Failure extends RuntimeException implements SparkThrowable {
    private final String condition;

    Failure(String message, String condition, Throwable cause) {
      super(message, cause);
      this.condition = condition;
    }

    public String getCondition() {
      return condition;
    }

    public String getErrorClass() {
      return condition;
    }

    public String getSqlState() {
      return "KD000";
    }
  }

  /** A statement that the front end runs. */
  private static class Runner implements ExternalCommandRunner {
    private final SparkSession session;
    private final Front front;

    Runner(SparkSession session, Front front) {
      this.session = session;
      this.front = front;
    }

    public String[] executeCommand(String text, CaseInsensitiveStringMap options) {
      Object given = front.ask(session, "run", text);
      GIVEN.set(given == null ? SqlPlans.run(session, text) : given);
      return new String[0];
    }
  }

  /** One of the first rules that Spark's analyser applies, to views and functions too. */
  private static class Reads extends Rule {
    /** How deep it may be: in the query of an INSERT, under common table expressions. */
    private static final int DEPTH = 3;

    private final SparkSession session;
    private final Front front;

    Reads(SparkSession session, Front front) {
      this.session = session;
      this.front = front;
    }

    public TreeNode apply(TreeNode given) {
      final LogicalPlan plan = (LogicalPlan) given;
      if (plan.containsPattern(TreePattern.EXECUTE_IMMEDIATE())) {
        INTO.set(Boolean.valueOf(hasVariables(plan)));
      }
      String text = text(plan, DEPTH);
      boolean isRead = plan.containsPattern(TreePattern.UNRESOLVED_RELATION())
          || plan.containsPattern(TreePattern.RELATION_TIME_TRAVEL())
          || plan.containsPattern(TreePattern.UNRESOLVED_TABLE_VALUED_FUNCTION());
      if (text == null && !isRead || !SqlPlans.isEnabled(session)) {
        return plan;
      }
      if (text != null && plan.getTagValue(SEEN).isEmpty()) {
        text = bound(plan, text);
        if (front.runs(session, text)) {
          return front.command(session, text);
        }
        plan.setTagValue(SEEN, Boolean.TRUE);
      }
      return (TreeNode) AnalysisHelper$.MODULE$.allowInvokingTransformsInAnalyzer(
          new AbstractFunction0() {
            public Object apply() {
              return read(plan);
            }
          });
    }

    /** In 4.0 the parameters of a statement are in a node around it. */
    private String bound(LogicalPlan plan, String text) {
      String kind = plan.getClass().getSimpleName();
      boolean isNamed = kind.equals("NameParameterizedQuery");
      if (!isNamed && !kind.equals("PosParameterizedQuery")) {
        return text;
      }
      List first = new ArrayList(CollectionConverters.asJava((Seq) plan.productElement(1)));
      List second = isNamed
          ? new ArrayList(CollectionConverters.asJava((Seq) plan.productElement(2)))
          : first;
      return front.bound(session, text, isNamed ? first : new ArrayList(), second);
    }

    /** Whether EXECUTE IMMEDIATE has INTO; a node of two classes, but with the same place for it. */
    private static boolean hasVariables(LogicalPlan plan) {
      Object third = plan.productArity() > 2 ? plan.productElement(2) : null;
      return third instanceof Seq && !((Seq) third).isEmpty();
    }

    private LogicalPlan read(LogicalPlan plan) {
      SqlPlans.Statement statement = SqlPlans.Statement.inAnalysis(session, plan);
      if (statement == null) {
        return plan;
      }
      try {
        return statement.replaced(front.frames(session, statement));
      } catch (RuntimeException error) {
        throw error;
      } catch (Exception error) {
        throw new IllegalStateException(error);
      }
    }

    /** Rules before this one may have put the node with the text under another. */
    private static String text(LogicalPlan plan, int depth) {
      Option own = plan.getTagValue(TEXT);
      if (own.isDefined()) {
        return (String) own.get();
      }
      List children = CollectionConverters.asJava(plan.children());
      for (int i = 0; i < children.size() && depth > 0; i++) {
        String found = text((LogicalPlan) children.get(i), depth - 1);
        if (found != null) {
          return found;
        }
      }
      return null;
    }
  }

  /** Spark's parser, which tells statements that the front end may have to run by their texts. */
  private static class Parser implements InvocationHandler {
    static final String MADE = "lakebed.SqlParser";

    private final SparkSession session;
    private final ParserInterface parser;
    private final Front front;

    Parser(SparkSession session, ParserInterface parser, Front front) {
      this.session = session;
      this.parser = parser;
      this.front = front;
    }

    /**
     * A parser that asks this object. Versions of Spark have different methods. Proxies of Java will
     * not do: what they throw has to be declared, and Scala declares nothing.
     */
    static ParserInterface made(Parser parser) {
      try {
        Method[] methods = ParserInterface.class.getMethods();
        SimpleCompiler compiler = new SimpleCompiler();
        compiler.setParentClassLoader(ParserInterface.class.getClassLoader());
        compiler.cook(source(methods));
        Object made = compiler.getClassLoader().loadClass(MADE).newInstance();
        made.getClass().getField("methods").set(made, methods);
        made.getClass().getField("handler").set(made, parser);
        return (ParserInterface) made;
      } catch (Exception error) {
        throw new IllegalStateException(error);
      }
    }

    private static String source(Method[] methods) {
      StringBuilder text = new StringBuilder();
      text.append("package lakebed; public class SqlParser implements ");
      text.append(ParserInterface.class.getName()).append(" {");
      text.append("public java.lang.reflect.Method[] methods;");
      text.append("public java.lang.reflect.InvocationHandler handler;");
      text.append("private Object call(int place, Object[] all) {");
      text.append("  try { return handler.invoke(this, methods[place], all); }");
      text.append("  catch (Throwable error) {");
      text.append("    org.apache.spark.unsafe.Platform.throwException(error); return null;");
      text.append("  }}");
      for (int i = 0; i < methods.length; i++) {
        if (!Modifier.isStatic(methods[i].getModifiers())) {
          append(text, methods[i], i);
        }
      }
      return text.append("}").toString();
    }

    private static void append(StringBuilder text, Method method, int place) {
      String type = method.getReturnType().getCanonicalName();
      Class[] given = method.getParameterTypes();
      StringBuilder parameters = new StringBuilder();
      StringBuilder values = new StringBuilder();
      for (int i = 0; i < given.length; i++) {
        String comma = i == 0 ? "" : ", ";
        parameters.append(comma).append(given[i].getCanonicalName()).append(" a").append(i);
        values.append(comma).append("a").append(i);
      }
      text.append("public ").append(type).append(" ").append(method.getName());
      text.append("(").append(parameters).append(") { return (").append(type).append(") call(");
      text.append(place).append(", new Object[] {").append(values).append("}); }");
    }

    public Object invoke(Object made, Method method, Object[] arguments) throws Throwable {
      boolean isPlan = method.getName().equals("parsePlan")
          || method.getName().equals("parsePlanWithParameters");
      boolean isInto = isPlan && Boolean.TRUE.equals(INTO.get());
      if (isPlan) {
        INTO.remove();
      }
      try {
        Object found = method.invoke(parser, arguments);
        if (isPlan && !SqlPlans.isParsing()) {
          mark(found, arguments);
          if (isInto) {
            refuseCommand((LogicalPlan) found, (String) arguments[0]);
          }
        }
        return found;
      } catch (InvocationTargetException error) {
        Throwable cause = error.getCause();
        boolean isOurs = isPlan
            && cause instanceof ParseException
            && !SqlPlans.isParsing()
            && front.mayRun((String) arguments[0])
            && SqlPlans.isEnabled(session);
        if (isOurs) {
          String text = bound(arguments);
          if (front.runs(session, text)) {
            if (isInto) {
              throw (Throwable) QueryCompilationErrors.invalidStatementForExecuteInto(text);
            }
            return front.command(session, text);
          }
        }
        throw cause;
      }
    }

    /** Spark would run it first, and then say that INTO takes queries alone. */
    private void refuseCommand(LogicalPlan plan, String text) {
      boolean mayBe = plan.getTagValue(TEXT).isDefined() && SqlPlans.isEnabled(session);
      if (mayBe && front.runs(session, (String) plan.getTagValue(TEXT).get())) {
        Internals.raise(QueryCompilationErrors.invalidStatementForExecuteInto(text));
      }
    }

    private void mark(Object found, Object[] arguments) {
      boolean isScript = found.getClass().getSimpleName().startsWith("Compound");
      if (isScript) {
        markWithin(found);
      } else if (front.mayRun((String) arguments[0])) {
        note((LogicalPlan) found, bound(arguments));
      }
    }

    /** The text with the values of its parameters, which come with it from 4.1 on. */
    private String bound(Object[] arguments) {
      if (arguments.length < 2) {
        return (String) arguments[0];
      }
      Product context = (Product) arguments[1];
      List values = new ArrayList();
      List names = new ArrayList();
      if (context.productElement(0) instanceof scala.collection.Map) {
        Map named = CollectionConverters.asJava((scala.collection.Map) context.productElement(0));
        names.addAll(named.keySet());
        values.addAll(named.values());
      } else {
        values.addAll(CollectionConverters.asJava((Seq) context.productElement(0)));
        if (context.productArity() > 1) {
          names.addAll(CollectionConverters.asJava((Seq) context.productElement(1)));
        }
      }
      if (values.isEmpty()) {
        return (String) arguments[0];
      }
      return front.bound(session, (String) arguments[0], names, values);
    }

    /** The statements of a script are parts of many kinds of nodes. */
    private void markWithin(Object node) {
      if (node instanceof SingleStatement) {
        SingleStatement statement = (SingleStatement) node;
        if (front.mayRun(statement.getText())) {
          note(statement.parsedPlan(), statement.getText());
        }
      } else if (node instanceof Iterable) {
        List all = new ArrayList(CollectionConverters.asJavaCollection((Iterable) node));
        for (int i = 0; i < all.size(); i++) {
          markWithin(all.get(i));
        }
      } else if (node instanceof Product) {
        Product parts = (Product) node;
        for (int i = 0; i < parts.productArity(); i++) {
          markWithin(parts.productElement(i));
        }
      }
    }

    private void note(LogicalPlan plan, final String text) {
      plan.foreach(new AbstractFunction1() {
        public Object apply(Object node) {
          ((LogicalPlan) node).setTagValue(TEXT, text);
          return BoxedUnit.UNIT;
        }
      });
    }
  }
}
