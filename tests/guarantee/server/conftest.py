"""Fixtures of the server's tests that guards need, too."""

from tests.server.accounts.conftest import bank

__all__ = ["bank"]
