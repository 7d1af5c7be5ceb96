"""The port that both data planes on Spark implement."""
