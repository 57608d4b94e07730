"""Accounts: who may ask, what each key has spent, and what the same request found before."""

from discreet.server.accounts.accounts import Accounts
from discreet.server.accounts.errors import AccountsError, OlderCopy
from discreet.server.accounts.keys import CAP_IS_POLICY, Key, Limits
from discreet.server.accounts.meters import Meter
from discreet.server.accounts.outcomes import (
    InFlight,
    KeyExhausted,
    Mismatch,
    NotValid,
    Outcome,
    RateLimited,
    Replay,
    Reservation,
    Settled,
)
from discreet.server.accounts.requests import BudgetRequest

__all__ = [
    "CAP_IS_POLICY",
    "Accounts",
    "AccountsError",
    "BudgetRequest",
    "InFlight",
    "Key",
    "KeyExhausted",
    "Limits",
    "Meter",
    "Mismatch",
    "NotValid",
    "OlderCopy",
    "Outcome",
    "RateLimited",
    "Replay",
    "Reservation",
    "Settled",
]
