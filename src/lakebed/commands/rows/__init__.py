"""What DELETE, UPDATE and MERGE share: finding rows, and committing what becomes of them."""
