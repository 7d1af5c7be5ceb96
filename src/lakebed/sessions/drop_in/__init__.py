"""Lakebed in the place of delta-spark: its package name, its settings, its sessions."""
