"""A demonstration on a corpus that the project makes up itself."""
