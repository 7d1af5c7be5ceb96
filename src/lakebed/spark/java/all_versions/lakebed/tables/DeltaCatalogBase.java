package lakebed.tables;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import lakebed.bridge.Bridge;
import lakebed.bridge.Internals;
import lakebed.errors.Errors;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.analysis.NamespaceAlreadyExistsException;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.NonEmptyNamespaceException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogV2Util;
import org.apache.spark.sql.connector.catalog.CatalogV2Util$;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.DelegatingCatalogExtension;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.StagingTableCatalog;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalogCapability;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.TableWritePrivilege;
import org.apache.spark.sql.connector.catalog.V1Table;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.StructType;

/**
 * Spark's own session catalog, in memory or a Hive metastore, whose tables of the provider delta
 * are Lakebed's. Names like delta.`/data/orders` are paths. `DeltaCatalog` adds what versions of
 * Spark have of their own.
 */
public abstract class DeltaCatalogBase extends DelegatingCatalogExtension
    implements StagingTableCatalog {
  private static final String EMBEDDED = "spark.lakebed.catalog";
  private static final Pattern VERSIONED =
      Pattern.compile("(.+)@(?:[vV]([0-9]+)|([0-9]{17}))", Pattern.DOTALL);

  // --- names ---

  static boolean isPath(Identifier ident) {
    return ident.namespace().length == 1
        && ident.namespace()[0].equalsIgnoreCase("delta")
        && ident.name().contains("/");
  }

  /** Lets Spark see what other processes have changed in an embedded catalog. */
  private static void sync() {
    SparkSession session = Bridge.session();
    if (session.sessionState().conf().contains(EMBEDDED)) {
      Bridge.ask("sync", new HashMap(), session, null);
    }
  }

  private DeltaTable table(Identifier ident, Map options, int kind) throws NoSuchTableException {
    Table found = found(ident);
    if (found == null) {
      return null;
    }
    CatalogTable entry = ((V1Table) found).catalogTable();
    String location = new Path(entry.location()).toString();
    String shown = name() + "." + ident.toString();
    SparkSession session = Bridge.session();
    if (kind == TARGET) {
      return new DeltaTarget(session, shown, location, options, entry);
    }
    return kind == READ
        ? new DeltaRowTable(session, shown, location, options, entry)
        : new DeltaTable(session, shown, location, options, entry);
  }

  private static final int READ = 0;
  private static final int TARGET = 1;
  private static final int VERSION = 2;

  /** The entry of a Delta table; null for tables of other kinds. */
  private Table found(Identifier ident) throws NoSuchTableException {
    sync();
    Table found = super.loadTable(ident);
    if (!(found instanceof V1Table)) {
      return null;
    }
    CatalogTable entry = ((V1Table) found).catalogTable();
    boolean isDelta = entry.provider().isDefined()
        && "delta".equalsIgnoreCase((String) entry.provider().get())
        && entry.storage().locationUri().isDefined();
    return isDelta ? found : null;
  }

  private Table load(Identifier ident, Map options, int kind) throws NoSuchTableException {
    try {
      DeltaTable known = table(ident, options, kind);
      return known != null ? known : other(ident, options);
    } catch (NoSuchTableException error) {
      if (isPath(ident)) {
        String shown = "delta." + Internals.quoted(ident.name());
        SparkSession session = Bridge.session();
        return kind == TARGET
            ? new DeltaTarget(session, shown, ident.name(), options, null)
            : new DeltaTable(session, shown, ident.name(), options, null);
      }
      Table versioned = versioned(ident, kind);
      if (versioned != null) {
        return versioned;
      }
      throw error;
    }
  }

  /** A table of another format; Spark says that it has no versions. */
  private Table other(Identifier ident, Map options) throws NoSuchTableException {
    if (options.containsKey("versionAsOf")) {
      return super.loadTable(ident, (String) options.get("versionAsOf"));
    }
    if (options.containsKey(MICROS)) {
      return super.loadTable(ident, Long.parseLong((String) options.get(MICROS)));
    }
    return super.loadTable(ident);
  }

  /** The table of a name like `orders@v3`; null if it is another name, or not of a Delta table. */
  private Table versioned(Identifier ident, int kind) throws NoSuchTableException {
    Matcher parts = VERSIONED.matcher(ident.name());
    if (!parts.matches() || kind == TARGET) {
      return null;
    }
    Identifier unversioned = Identifier.of(ident.namespace(), parts.group(1));
    String version = parts.group(2);
    Map options = version != null
        ? Bridge.map(new Object[] {"versionAsOf", version})
        : Bridge.map(new Object[] {"timestampAsOf", spaced(parts.group(3))});
    try {
      return table(unversioned, options, VERSION);
    } catch (NoSuchTableException error) {
      return null;
    }
  }

  private static String spaced(String digits) {
    return digits.replaceAll(
        "(\\d{4})(\\d\\d)(\\d\\d)(\\d\\d)(\\d\\d)(\\d\\d)(\\d{3})", "$1-$2-$3 $4:$5:$6.$7");
  }

  /** The option for a time in microseconds. */
  private static final String MICROS = "__lakebed_micros";

  public Table loadTable(Identifier ident) throws NoSuchTableException {
    return load(ident, new HashMap(), READ);
  }

  /** Targets of INSERT, UPDATE, DELETE and MERGE. */
  public Table loadTable(Identifier ident, Set privileges) throws NoSuchTableException {
    Table found = load(ident, new HashMap(), TARGET);
    boolean overwrites = privileges.contains(TableWritePrivilege.DELETE) && isSaveAsTable();
    if (found instanceof V1Table && overwrites) {
      // Spark would drop it first, and write then.
      throw Errors.analysis(
          "TABLE_EXISTS",
          ident
              + " is not a Delta table; drop it first, or choose another name");
    }
    return found;
  }

  public Table loadTable(Identifier ident, String version) throws NoSuchTableException {
    return load(ident, Bridge.map(new Object[] {"versionAsOf", version}), VERSION);
  }

  public Table loadTable(Identifier ident, long micros) throws NoSuchTableException {
    return load(ident, Bridge.map(new Object[] {MICROS, Long.toString(micros)}), VERSION);
  }

  public boolean tableExists(Identifier ident) {
    sync();
    boolean mayBeName = !isPath(ident) || super.namespaceExists(ident.namespace());
    if (mayBeName && super.tableExists(ident)) {
      return true;
    }
    Map request = Bridge.map(new Object[] {"path", ident.name()});
    return isPath(ident)
        && Boolean.TRUE.equals(Bridge.ask("exists", request, Bridge.session(), null));
  }

  public Identifier[] listTables(String[] namespace) throws NoSuchNamespaceException {
    sync();
    return super.listTables(namespace);
  }

  // --- definitions ---

  public Set capabilities() {
    Set found = new LinkedHashSet(super.capabilities());
    found.add(TableCatalogCapability.SUPPORT_COLUMN_DEFAULT_VALUE);
    found.add(TableCatalogCapability.SUPPORTS_CREATE_TABLE_WITH_GENERATED_COLUMNS);
    found.add(TableCatalogCapability.SUPPORTS_CREATE_TABLE_WITH_IDENTITY_COLUMNS);
    return found;
  }

  protected static boolean isDelta(Identifier ident, Map properties) {
    Object provider = properties.get("provider");
    if (provider == null && isPath(ident)) {
      return true;
    }
    if (provider == null) {
      provider = Bridge.session().sessionState().conf().defaultDataSourceName();
    }
    return "delta".equalsIgnoreCase((String) provider);
  }

  protected static Map definition(
      String mode, Identifier ident, Column[] columns, Transform[] partitions, Map properties) {
    return Bridge.map(new Object[] {
        "mode", mode,
        "parts", parts(ident),
        "columns", TableChanges.columns(columns),
        "partitions", TableChanges.transforms(partitions),
        "properties", properties,
        "checks", new HashMap()});
  }

  public static List parts(Identifier ident) {
    List parts = new ArrayList(Arrays.asList(ident.namespace()));
    parts.add(ident.name());
    return parts;
  }

  public Table createTable(
      Identifier ident, StructType schema, Transform[] partitions, Map properties)
      throws TableAlreadyExistsException, NoSuchNamespaceException {
    Column[] columns = (Column[]) Internals.invoke(
        CatalogV2Util$.MODULE$, "structTypeToV2Columns", new Object[] {schema});
    return createTable(ident, columns, partitions, properties);
  }

  public Table createTable(
      Identifier ident, Column[] columns, Transform[] partitions, Map properties)
      throws TableAlreadyExistsException, NoSuchNamespaceException {
    if (!isDelta(ident, properties)) {
      return super.createTable(ident, columns, partitions, properties);
    }
    return created(ident, definition("create", ident, columns, partitions, properties));
  }

  protected Table created(Identifier ident, Map definition) {
    Bridge.ask("create", definition, Bridge.session(), null);
    try {
      return loadTable(ident);
    } catch (NoSuchTableException error) {
      throw new IllegalStateException(error);
    }
  }

  public Table alterTable(Identifier ident, TableChange... changes) throws NoSuchTableException {
    Table found = load(ident, new HashMap(), TARGET);
    if (!(found instanceof DeltaTable)) {
      return super.alterTable(ident, changes);
    }
    Map request = ((DeltaTable) found).request();
    request.put("parts", parts(ident));
    request.put("changes", TableChanges.of(changes));
    Bridge.ask("alter", request, Bridge.session(), null);
    return loadTable(ident);
  }

  public boolean dropTable(Identifier ident) {
    return dropped(ident, false);
  }

  public boolean purgeTable(Identifier ident) {
    return dropped(ident, true);
  }

  private boolean dropped(Identifier ident, boolean purges) {
    boolean isDelta = false;
    try {
      isDelta = found(ident) != null;
    } catch (NoSuchTableException error) {
      isDelta = isPath(ident);
    }
    if (!isDelta) {
      return purges ? super.purgeTable(ident) : super.dropTable(ident);
    }
    Map request =
        Bridge.map(new Object[] {"parts", parts(ident), "purge", Boolean.valueOf(purges)});
    return Boolean.TRUE.equals(Bridge.ask("drop", request, Bridge.session(), null));
  }

  public void renameTable(Identifier from, Identifier to)
      throws NoSuchTableException, TableAlreadyExistsException {
    if (isPath(from) && !super.namespaceExists(from.namespace())) {
      throw Errors.analysis(
          "INVALID_ARGUMENT",
          from.name() + " is a path: it has no name that could change");
    }
    if (found(from) == null) {
      super.renameTable(from, to);
      return;
    }
    Map request = Bridge.map(new Object[] {"parts", parts(from), "new", parts(to)});
    Bridge.ask("rename", request, Bridge.session(), null);
  }

  public void createNamespace(String[] namespace, Map metadata)
      throws NamespaceAlreadyExistsException {
    Map request =
        Bridge.map(new Object[] {"parts", Arrays.asList(namespace), "metadata", metadata});
    boolean isEmbedded = Bridge.session().sessionState().conf().contains(EMBEDDED);
    if (!isEmbedded
        || !Boolean.TRUE.equals(Bridge.ask("create_schema", request, Bridge.session(), null))) {
      super.createNamespace(namespace, metadata);
    }
  }

  /** Spark deletes the whole folder, with the files of external tables in it. */
  public boolean dropNamespace(String[] namespace, boolean cascade)
      throws NoSuchNamespaceException, NonEmptyNamespaceException {
    Map request = Bridge.map(
        new Object[] {"parts", Arrays.asList(namespace), "cascade", Boolean.valueOf(cascade)});
    if (Boolean.TRUE.equals(Bridge.ask("drop_schema", request, Bridge.session(), null))) {
      return true;
    }
    return super.dropNamespace(namespace, cascade);
  }

  // --- tables that are made with their rows ---

  @SuppressWarnings("deprecation")
  public StagedTable stageCreate(
      Identifier ident, Column[] columns, Transform[] partitions, Map properties)
      throws TableAlreadyExistsException, NoSuchNamespaceException {
    return staged("create", ident, columns, partitions, properties);
  }

  @SuppressWarnings("deprecation")
  public StagedTable stageReplace(
      Identifier ident, Column[] columns, Transform[] partitions, Map properties)
      throws NoSuchNamespaceException, NoSuchTableException {
    return staged("replace", ident, columns, partitions, properties);
  }

  @SuppressWarnings("deprecation")
  public StagedTable stageCreateOrReplace(
      Identifier ident, Column[] columns, Transform[] partitions, Map properties)
      throws NoSuchNamespaceException {
    return staged("create_or_replace", ident, columns, partitions, properties);
  }

  private StagedTable staged(
      String mode, Identifier ident, Column[] columns, Transform[] partitions, Map properties) {
    Map definition = definition(mode, ident, columns, partitions, properties);
    return staged(ident, columns, partitions, properties, definition);
  }

  protected StagedTable staged(
      Identifier ident, Column[] columns, Transform[] partitions, Map properties, Map definition) {
    StructType schema = CatalogV2Util.v2ColumnsToStructType(columns);
    if (!isDelta(ident, properties)) {
      return OtherStagedTable.of(this, ident, columns, partitions, properties, definition);
    }
    definition.put("is_save", Boolean.valueOf(isSaveAsTable()));
    return new StagedDeltaTable(
        Bridge.session(), name() + "." + ident.toString(), schema, partitions, definition);
  }

  /**
   * Whether `df.write.saveAsTable` asks. In the mode overwrite it means the rows, but comes as
   * CREATE OR REPLACE TABLE, which means the whole table.
   */
  private static boolean isSaveAsTable() {
    StackTraceElement[] trace = Thread.currentThread().getStackTrace();
    for (int i = 0; i < trace.length; i++) {
      String type = trace[i].getClassName();
      if (type.equals("org.apache.spark.sql.classic.DataFrameWriter")
          && trace[i].getMethodName().startsWith("saveAsTable")) {
        return true;
      }
    }
    return false;
  }
}
