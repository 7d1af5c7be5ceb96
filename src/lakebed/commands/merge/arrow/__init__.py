"""MERGE on Arrow, without Spark. Twins of files in the room above."""
