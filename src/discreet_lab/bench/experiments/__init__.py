"""The kinds of experiments of the tables, one a file: each returns the rows of a table."""
