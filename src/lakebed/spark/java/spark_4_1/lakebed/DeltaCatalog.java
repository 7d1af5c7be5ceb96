package lakebed;

import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import lakebed.errors.Errors;
import lakebed.tables.DeltaCatalogBase;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalogCapability;
import org.apache.spark.sql.connector.catalog.TableInfo;
import org.apache.spark.sql.connector.catalog.constraints.Check;
import org.apache.spark.sql.connector.catalog.constraints.Constraint;

/** For Spark 4.1 and newer, whose new tables may have constraints. */
public class DeltaCatalog extends DeltaCatalogBase {
  public Set capabilities() {
    Set found = new LinkedHashSet(super.capabilities());
    found.add(TableCatalogCapability.SUPPORT_TABLE_CONSTRAINT);
    return found;
  }

  public Table createTable(Identifier ident, TableInfo info)
      throws TableAlreadyExistsException, NoSuchNamespaceException {
    if (!isDelta(ident, info.properties())) {
      return super.createTable(ident, info.columns(), info.partitions(), info.properties());
    }
    return created(ident, definition("create", ident, info));
  }

  public StagedTable stageCreate(Identifier ident, TableInfo info)
      throws TableAlreadyExistsException, NoSuchNamespaceException {
    return staged(ident, info, "create");
  }

  public StagedTable stageReplace(Identifier ident, TableInfo info)
      throws NoSuchNamespaceException, NoSuchTableException {
    return staged(ident, info, "replace");
  }

  public StagedTable stageCreateOrReplace(Identifier ident, TableInfo info)
      throws NoSuchNamespaceException {
    return staged(ident, info, "create_or_replace");
  }

  private StagedTable staged(Identifier ident, TableInfo info, String mode) {
    return staged(
        ident, info.columns(), info.partitions(), info.properties(), definition(mode, ident, info));
  }

  private static Map definition(String mode, Identifier ident, TableInfo info) {
    Map found = definition(mode, ident, info.columns(), info.partitions(), info.properties());
    Map checks = new HashMap();
    Constraint[] constraints = info.constraints();
    for (int i = 0; i < constraints.length; i++) {
      if (!(constraints[i] instanceof Check)) {
        throw Errors.analysis(
            "UNSUPPORTED_FEATURE",
            "Delta tables have CHECK constraints alone: "
                + constraints[i].toDDL());
      }
      checks.put(constraints[i].name(), ((Check) constraints[i]).predicateSql());
    }
    found.put("checks", checks);
    return found;
  }
}
