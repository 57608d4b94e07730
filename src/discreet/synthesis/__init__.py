"""Synthetic corpora: one method, one file, and what runs it."""
