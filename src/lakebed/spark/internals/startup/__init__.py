"""Starting sessions, and loading Lakebed's Java classes into them."""
