"""Expressions on rows of Arrow."""
