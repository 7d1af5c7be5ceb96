"""Runs statements: which function runs which."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame

from lakebed.sql.context import SqlContext
from lakebed.sql.grammar import (
    alter,
    copy_into,
    create,
    describe,
    drop,
    insert,
    merge,
    multi_insert,
    row_changes,
    services,
)
from lakebed.sql.run.alter import (
    run_add_columns,
    run_add_constraint,
    run_alter_columns,
    run_cluster_by,
    run_comment,
    run_drop_columns,
    run_drop_constraint,
    run_drop_feature,
    run_refused,
    run_rename_column,
    run_replace_columns,
    run_set_properties,
    run_sync_identity,
    run_unset_properties,
)
from lakebed.sql.run.clone import run_clone
from lakebed.sql.run.copy_into import run_copy
from lakebed.sql.run.create import run_create, run_create_like
from lakebed.sql.run.describe import (
    run_describe,
    run_detail,
    run_history,
    run_show_columns,
    run_show_partitions,
    run_show_properties,
)
from lakebed.sql.run.drop import (
    run_create_schema,
    run_drop,
    run_drop_schema,
    run_refresh,
    run_rename,
    run_set_location,
    run_show_create,
    run_truncate,
    run_undrop,
)
from lakebed.sql.run.insert import run_insert
from lakebed.sql.run.merge import run_merge
from lakebed.sql.run.multi_insert import run_multi_insert
from lakebed.sql.run.row_changes import run_delete, run_update
from lakebed.sql.run.services import (
    run_convert,
    run_fsck,
    run_generate,
    run_optimize,
    run_reorg,
    run_restore,
    run_vacuum,
)
from lakebed.sql.run.show_tables import run_show_extended
from lakebed.sql.statement import Statement

RUNNERS: dict[type[Statement], Callable[[SqlContext, Any], DataFrame | None]] = {
    alter.AddColumns: run_add_columns,
    alter.AddConstraint: run_add_constraint,
    alter.AlterColumns: run_alter_columns,
    alter.ClusterBy: run_cluster_by,
    alter.DropColumns: run_drop_columns,
    alter.DropConstraint: run_drop_constraint,
    alter.DropFeature: run_drop_feature,
    alter.RefusedChange: run_refused,
    alter.RenameColumn: run_rename_column,
    alter.ReplaceColumns: run_replace_columns,
    alter.SetProperties: run_set_properties,
    alter.SyncIdentity: run_sync_identity,
    alter.UnsetProperties: run_unset_properties,
    copy_into.CopyStatement: run_copy,
    describe.CommentOn: run_comment,
    describe.DescribeDetail: run_detail,
    describe.DescribeHistory: run_history,
    describe.DescribeTable: run_describe,
    describe.ShowColumns: run_show_columns,
    describe.ShowPartitions: run_show_partitions,
    describe.ShowProperties: run_show_properties,
    describe.ShowTablesExtended: run_show_extended,
    insert.InsertStatement: run_insert,
    multi_insert.MultiInsert: run_multi_insert,
    merge.MergeStatement: run_merge,
    row_changes.DeleteStatement: run_delete,
    row_changes.UpdateStatement: run_update,
    services.ConvertStatement: run_convert,
    services.FsckStatement: run_fsck,
    services.GenerateStatement: run_generate,
    services.OptimizeStatement: run_optimize,
    services.ReorgStatement: run_reorg,
    services.RestoreStatement: run_restore,
    services.VacuumStatement: run_vacuum,
    create.CloneTable: run_clone,
    create.CreateLike: run_create_like,
    create.CreateTable: run_create,
    drop.CreateSchema: run_create_schema,
    drop.DropSchema: run_drop_schema,
    drop.DropTable: run_drop,
    drop.RefreshTable: run_refresh,
    drop.RenameTable: run_rename,
    drop.SetLocation: run_set_location,
    drop.ShowCreateTable: run_show_create,
    drop.TruncateTable: run_truncate,
    drop.UndropTable: run_undrop,
}
"""A runner gives what `spark.sql` returns; None leaves the statement to Spark, nothing done."""


def execute(context: SqlContext, statement: Statement) -> DataFrame | None:
    return RUNNERS[type(statement)](context, statement)
