"""Budgets of keys and vaults. Each is made once: its limits take longer to compute than a row to read."""

from functools import lru_cache

from discreet.privacy.accounting import Accountant, Budget

_MOST_KEPT = 1024


@lru_cache(_MOST_KEPT)
def budget_of(
    epsilon: float, delta: float, failures: float, order: float = 0.0, accountant: Accountant = "renyi"
) -> Budget:
    """Return the budget with these values."""
    return Budget(epsilon, delta, failures, order, accountant)
