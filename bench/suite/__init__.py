"""Lakebed beside what one would use instead: the benchmark that `./run bench` runs."""
