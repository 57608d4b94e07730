"""What became of a question: an answer or an error, and its form in the store of replays."""

from dataclasses import dataclass
from typing import Any

from discreet.server.front.errors import ERRORS, FrontError

_NUMBERS = ("asked", "left", "would_fit")


@dataclass(frozen=True)
class Outcome:
    """An answered question, with nothing but what was released.

    Attributes:
        question_id: the question's id in the ledger.
        created: when it was answered, in seconds since 1970.
        model: the model's name as the client sent it.
        unit: the name of the field that names an individual.
        free: whether the model reads no private document, so that its own words are the answer.
        task: whether the free model answered a client's own request.
        answer: the public fields of the answer (`wire.Answered`).
        asked: the question that was asked, if the message was rewritten; else None.
        replayed: whether it was answered before.
    """

    question_id: str
    created: int
    model: str
    unit: str
    free: bool
    task: bool
    answer: dict[str, Any]
    asked: str | None = None
    replayed: bool = False

    def stored(self) -> dict[str, Any]:
        """Return the outcome as plain data, to be kept. The words of the question are written nowhere."""
        answer = {name: value for name, value in self.answer.items() if name != "understood"}
        return {"outcome": "answered", **vars(self), "answer": answer, "replayed": False}

    @property
    def stopped(self) -> str:
        """Why the answer ended; "task" for a client's own request."""
        return "task" if self.task else str(self.answer["stopped"])

    @property
    def receipt(self) -> dict[str, Any]:
        """The receipt, as the analyst gets it."""
        receipt: dict[str, Any] = dict(self.answer["receipt"] or {})
        charges = receipt.get("charges", [])
        return receipt | {"charges": sum(charge["times"] for charge in charges)}

    @property
    def epsilon(self) -> float:
        """What the answer cost any one unit at most."""
        return float(self.receipt.get("epsilon") or 0.0)

    @property
    def delta(self) -> float:
        """The failure probability of the receipt."""
        return float(self.receipt.get("delta") or 0.0)


def stored_error(error: FrontError) -> dict[str, Any]:
    """Return an error as plain data, to be kept: the same request gets it again, unpaid."""
    numbers = {name: getattr(error, name) for name in _NUMBERS}
    return {"outcome": "error", "code": error.code, "paid": error.paid, **numbers}


def restored(kept: dict[str, Any]) -> Outcome:
    """Return the outcome that was kept.

    Raises:
        FrontError: if an error was kept, or something that cannot be read.
    """
    fields = dict(kept)
    kind = fields.pop("outcome", "")
    if kind == "answered":
        return Outcome(**{**fields, "replayed": True})
    code = str(fields.get("code"))
    if kind != "error" or code not in ERRORS:
        raise FrontError("interrupted")
    asked, left, would_fit = (fields.get(name) for name in _NUMBERS)
    raise FrontError(code, paid=bool(fields.get("paid")), asked=asked, left=left, would_fit=would_fit)
