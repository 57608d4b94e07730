"""Requests of analysts for more budget, which the custodian approves or denies."""

from dataclasses import dataclass

from discreet.errors import UsageError

PENDING, APPROVED, DENIED = "pending", "approved", "denied"
LONGEST_REASON = 500
MOST_PENDING = 5
"""How many requests of one key may wait for an answer."""
LARGEST = 1e6


@dataclass(frozen=True)
class BudgetRequest:
    """A request for more budget.

    Attributes:
        id: the number of the request.
        key: the id of the key that asks.
        epsilon: how much more epsilon is asked for.
        reason: why it is asked for, in the analyst's words: not to be trusted.
        state: "pending", "approved" or "denied".
        made: the moment it was made, ISO 8601.
        decided: when it was decided; None while it is pending.
    """

    id: int
    key: str
    epsilon: float
    reason: str
    state: str
    made: str
    decided: str | None


def check_request(epsilon: float, reason: str, pending: int) -> str:
    """Return the reason of a request with spaces in place of control characters.

    Args:
        epsilon: how much more is asked for.
        reason: why, in the analyst's words.
        pending: how many requests of the key wait for an answer.

    Raises:
        UsageError: if epsilon or the reason is out of range, or too many requests of the key are pending.
    """
    text = " ".join("".join(c if c.isprintable() else " " for c in reason).split())
    if not 0 < epsilon <= LARGEST:
        raise UsageError(f"The epsilon of a request is a number above 0, at most {LARGEST:g}. Ask for less.")
    if not 0 < len(text) <= LONGEST_REASON:
        raise UsageError(f"The reason of a request has 1 to {LONGEST_REASON} characters. Shorten it.")
    if pending >= MOST_PENDING:
        raise UsageError(f"{MOST_PENDING} requests of this key are pending. Wait for the custodian.")
    return text


def check_pending(found: BudgetRequest) -> None:
    """Refuse a request that was decided before.

    Raises:
        UsageError: if it was.
    """
    if found.state != PENDING:
        raise UsageError(
            f"Request {found.id} was {found.state} before. List what is pending: discreet key requests VAULT"
        )
