"""Pages for analysts in a browser: ask, see what it costs, and read the receipts. They go the way of /v1."""
