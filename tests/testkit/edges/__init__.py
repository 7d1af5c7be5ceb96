"""Values at the edges of their types: NaN, -0.0, infinities; their writers and readers."""
