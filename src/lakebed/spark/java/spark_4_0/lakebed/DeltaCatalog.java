package lakebed;

import lakebed.tables.DeltaCatalogBase;

/** For Spark 4.0, whose tables are created without constraints. */
public class DeltaCatalog extends DeltaCatalogBase {}
