"""A language model on the workers of a Ray cluster."""
