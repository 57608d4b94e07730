"""A price and a receipt in plain words."""

import math
from collections.abc import Mapping
from typing import Any

from discreet.server.front.replies import KeyNumbers, Outcome, unit_word

_LARGEST_FACTOR = 1e6
STOPPED = {
    "end": "answered",
    "length": "answered, cut at its longest length",
    "budget": "answered, cut where the budget ended",
    "public": "nothing was released",
    "task": "answered without documents",
}
"""How a question ended, by the receipt's word; an error's code stands for itself."""


def number(value: float) -> str:
    """Return a number with at most four digits."""
    return f"{value:.4g}"


def ended(stopped: str) -> str:
    """Return how a question ended."""
    return STOPPED.get(stopped, stopped.replace("_", " ") or "not settled")


def price_words(found: Mapping[str, Any]) -> list[str]:
    """Return sentences about the price of a question, from an estimate."""
    unit, key = unit_word(str(found["unit"])), found["key"]
    if found["free"]:
        return ["This question costs nothing.", f"Your key keeps epsilon {number(key['left'])}."]
    words = [f"This question costs any one {unit} at most epsilon {number(found['epsilon_most'])}."]
    if found["fits"]:
        words.append(f"Your key has epsilon {number(key['left'])} left, and {number(key['left_after'])} afterwards.")
        words.append("What the answer does not use comes back.")
    else:
        words.append(f"Your key cannot pay for it: it has epsilon {number(key['left'])} left.")
    return words


def receipt_words(outcome: Outcome, key: KeyNumbers) -> list[str]:
    """Return the receipt of an answer as sentences."""
    unit, receipt = unit_word(outcome.unit), outcome.receipt
    words = []
    if outcome.replayed:
        words.append("You asked this before. This is the same answer, and it was not paid again.")
    if outcome.free or outcome.task:
        words.append("No private document was read, and nothing was paid. The text is the language model's own.")
    elif receipt.get("payment") == "nobody":
        words.append("The vault released this answer before, so nothing was paid.")
    else:
        words.append(f"This may have cost any one {unit} at most epsilon {number(outcome.epsilon)}.")
        words.append(_paid_by(str(receipt.get("payment", "")), unit))
        words.append(_odds(outcome.epsilon, outcome.delta, unit))
    words.append(f"Your key has spent epsilon {number(key.spent)} of {number(key.granted)}.")
    if key.more is not None:
        words.append(f"{key.more} more questions fit at the model's price.")
    return [one for one in words if one]


def _paid_by(payment: str, unit: str) -> str:
    if payment.startswith("each"):
        return f"Each {unit} whose documents could have been used was charged, and no other."
    return f"Payment: {payment}." if payment else ""


def _odds(epsilon: float, delta: float, unit: str) -> str:
    factor = math.exp(min(epsilon, 50.0))
    if factor > _LARGEST_FACTOR:
        return ""
    return (
        f"By this answer, the odds of a guess about any one {unit} change at most by the factor {number(factor)}, "
        f"apart from a failure probability of {delta:.2g}."
    )
