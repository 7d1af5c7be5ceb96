"""SQL scripts on Spark Connect: BEGIN ... END, run by the client statement after statement."""
