"""Data sets, metrics and experiments: for the custodian."""
