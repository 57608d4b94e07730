"""The mathematics of privacy: no documents, no models, no stores, no files."""
