"""Grammars: SQL text to statements, one file for each kind."""
