"""Durable ledgers: who has paid what."""
