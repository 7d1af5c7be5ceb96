"""VACUUM: deletes files that no version inside the retention needs, and says what that costs."""

from lakebed.commands.vacuum.options import VacuumOptions
from lakebed.commands.vacuum.report import VacuumResult
from lakebed.commands.vacuum.vacuum import vacuum_table

__all__ = ["VacuumOptions", "VacuumResult", "vacuum_table"]
