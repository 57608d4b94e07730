"""Baselines that only comparison needs: an answer may repeat any document."""
