"""The store in PostgreSQL, with the vectors of pgvector and without an index of vectors."""
