"""The mathematics of privacy, without documents, models, stores and files."""
