"""Where the program has its table."""

TABLE = "stock"
