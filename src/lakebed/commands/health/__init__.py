"""How a table is doing: what makes it slow or large, and the command that mends it."""

from lakebed.commands.health.check import table_health
from lakebed.commands.health.finding import Finding, Severity
from lakebed.commands.health.health_report import Health

__all__ = ["Finding", "Health", "Severity", "table_health"]
