"""From an error to what the front may know of it: a code, public numbers, and what was paid. Never its text."""

from pydantic import ValidationError

from discreet.errors import (
    BadData,
    BudgetExhausted,
    CannotAnswer,
    LedgerError,
    MissingPart,
    PriceChanged,
    QuestionTooLong,
    StoreError,
    UsageError,
)
from discreet.server.keeper.presets import NoSuchModel
from discreet.server.wire import Charge, Refused

_CODES: tuple[tuple[type[BaseException], str], ...] = (
    (NoSuchModel, "model_not_found"),
    (QuestionTooLong, "question_too_long"),
    (PriceChanged, "price_changed"),
    (MissingPart, "internal_error"),
    (UsageError, "invalid_request"),
    (LedgerError, "ledger_unavailable"),
    (StoreError, "store_unavailable"),
    (BadData, "store_unavailable"),
    (ValidationError, "interrupted"),  # what the schema of the wall does not let pass
)
"""The first that fits counts."""


def refusal(error: BaseException, paid: Charge | None = None) -> Refused:
    """Return the refusal for an error.

    Args:
        error: what was raised.
        paid: what any one unit paid at most by then; nothing if None.
    """
    paid = paid or Charge.nothing()
    if isinstance(error, BudgetExhausted):
        return Refused(
            "vault_budget_exhausted", _size(error.asked), _size(error.left), _size(error.would_fit), paid=paid
        )
    if paid.is_something:
        return Refused("interrupted", paid=paid)
    if isinstance(error, CannotAnswer):
        return Refused("cannot_answer", kind=error.kind)
    code = next((code for kind, code in _CODES if isinstance(error, kind)), "internal_error")
    return Refused(code)


def _size(epsilon: float) -> float | None:
    """Return an epsilon as the wire takes it; None for one without an end."""
    return float(epsilon) if 0 <= epsilon <= 1e9 else None
