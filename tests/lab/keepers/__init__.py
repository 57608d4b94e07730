"""Several keepers on one vault in PostgreSQL, while keepers, fronts, hosts and the database are killed."""
