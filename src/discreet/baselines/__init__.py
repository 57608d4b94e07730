"""Baselines without a privacy guarantee: an answer may repeat any document."""
