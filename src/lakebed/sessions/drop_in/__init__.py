"""Lakebed as a replacement for delta-spark: its package name, its settings, its sessions."""
