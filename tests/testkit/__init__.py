"""What the tests of several rooms share: builders of tables, other readers, servers, faults."""
