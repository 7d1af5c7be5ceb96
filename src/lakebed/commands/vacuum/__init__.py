"""VACUUM: deletes files that no version inside the retention needs, and says what that costs."""

from lakebed.commands.vacuum.vacuum import vacuum_table
from lakebed.commands.vacuum.vacuum_options import VacuumOptions
from lakebed.commands.vacuum.vacuum_report import VacuumResult

__all__ = ["VacuumOptions", "VacuumResult", "vacuum_table"]
