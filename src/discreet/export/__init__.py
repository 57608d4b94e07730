"""Noisy projected vectors for a database outside the vault."""
