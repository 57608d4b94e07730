"""A demonstration on a fictional corpus of the project."""
