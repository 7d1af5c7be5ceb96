"""What is in a table by readers that share no code with Lakebed, or by its JSON and its plans."""
