"""From a question to sealed documents."""
