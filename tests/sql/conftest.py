"""Tests of the SQL front end. The session is in tests/."""
