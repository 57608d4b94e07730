"""Durable ledgers of all payments."""
