"""Baselines WITHOUT a guarantee: an answer may repeat any document."""
