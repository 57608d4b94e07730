"""The errors that a client can get: one table of codes with their statuses, types and messages.

A message is one of this table. The text of an exception never passes the front.
"""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, ConfigDict

KIND_ADVICE = MappingProxyType(
    {
        "count": "It asks for a number. Ask the vault's own model how many have a thing, or name public choices.",
        "comparison": "It compares a number with an expectation. Compare two groups, or ask for the number.",
        "list": "It asks for several things. Ask for one thing at a time.",
        "nothing-named": "It names nothing that documents could speak of. Name a thing.",
        "follow-up": "It refers to an earlier question. Write the whole question.",
        "summary": "It asks for a summary. Ask for one fact.",
        "superlative": "It asks for the most, the main or the best. Ask for a list, a share or a typical number.",
        "two-things": "It joins or compares several things. Ask about each by itself: How many patients have fever?",
        "left-out": "A part of it would not be looked for in the texts, such as 'on', 'before', a month, a letter or "
        "'+'. Leave it out if the rest alone is what you mean.",
        "population": "Which values the declared fields have is not public. Ask about all, or name what texts say.",
        "unsure": "It can be read in several ways. Ask in simpler words, or write it as a request, with quotes: "
        'count: "fever", among "winter hand".',
        "misspelled": "A word of it is near to another one. Write that one, or put the word in quotes if it is meant.",
        "other": "It asks for what no document states. Ask for a fact, a number or a list.",
        "other-language": "It is in a language that the vault's model does not read.",
        "bound": "The key is bound to a population, and the model's voters read the documents of all. Ask for a "
        "statistic of the vault's own model: a count, a share, a list.",
        "person": "It asks about one individual. Ask what holds for many of them.",
    }
)
"""What the client can do about a kind of question that cannot be answered."""


@dataclass(frozen=True)
class ErrorEntry:
    """A line of the table.

    Attributes:
        status: the HTTP status.
        type: the type in OpenAI's envelope.
        message: the sentence for the client.
        retry_after: seconds until a retry makes sense; 0 if the header is left out.
        retry: whether a client may send the same request again by itself. Never if something may have been paid.
        paid: whether something may have been paid.
    """

    status: int
    type: str
    message: str
    retry_after: int = 0
    retry: bool = False
    paid: bool = False


_INVALID = "invalid_request_error"
_QUOTA = "insufficient_quota"
_SERVER = "server_error"

ERRORS = MappingProxyType(
    {
        "invalid_request": ErrorEntry(400, _INVALID, "The request is not valid. Nothing was paid."),
        "question_too_long": ErrorEntry(
            400,
            _INVALID,
            "The question, with its choices, is too long. It may have 600 characters, or fewer if the vault's model "
            "takes no more. Shorten it. Nothing was paid.",
        ),
        "cannot_answer": ErrorEntry(
            400, _INVALID, "The vault cannot answer a question of this kind. Nothing was paid."
        ),
        "invalid_api_key": ErrorEntry(
            401, "authentication_error", "The API key is not valid. Send a valid key as 'Authorization: Bearer KEY'."
        ),
        "not_allowed": ErrorEntry(
            403, "permission_error", "The key may not use this model. GET /v1/models lists the models of the key."
        ),
        "per_question_limit": ErrorEntry(
            402, _QUOTA, "The question may cost more than the key may pay for one question. Nothing was paid."
        ),
        "key_budget_exhausted": ErrorEntry(
            402,
            _QUOTA,
            "The budget of the key cannot pay for this question. Ask the custodian for more: "
            "POST /v1/budget/requests. Nothing was paid.",
        ),
        "key_questions_exhausted": ErrorEntry(
            402, _QUOTA, "The key has used its number of questions. Ask the custodian for more. Nothing was paid."
        ),
        "price_changed": ErrorEntry(
            402,
            _QUOTA,
            "The question costs more than it did when it was estimated. Ask again to see the new price. "
            "Nothing was paid.",
        ),
        "vault_budget_exhausted": ErrorEntry(
            402, _QUOTA, "The budget of the vault cannot pay for this question. The request was refused."
        ),
        "not_found": ErrorEntry(404, _INVALID, "There is no such route. See docs/serve.md for the routes."),
        "model_not_found": ErrorEntry(
            404, _INVALID, "There is no such model. GET /v1/models lists the models of the key."
        ),
        "method_not_allowed": ErrorEntry(405, _INVALID, "The route does not allow this method."),
        "timed_out": ErrorEntry(408, _INVALID, "The body of the request did not arrive in time. Nothing was paid."),
        "too_large": ErrorEntry(413, _INVALID, "The body is larger than 64 KiB. Shorten it. Nothing was paid."),
        "idempotency_mismatch": ErrorEntry(
            422, _INVALID, "This Idempotency-Key was sent with another request. Use a new one. Nothing was paid."
        ),
        "rate_limited": ErrorEntry(
            429, "rate_limit_error", "The key asks or signs in too often. Wait. Nothing was paid.", 10, retry=True
        ),
        "queue_full": ErrorEntry(503, _SERVER, "Too many questions wait. Nothing was paid.", 10, retry=True),
        "starting": ErrorEntry(503, _SERVER, "The server starts. Nothing was paid.", 5, retry=True),
        "stopping": ErrorEntry(503, _SERVER, "The server stops. Nothing was paid.", 10, retry=True),
        "ledger_unavailable": ErrorEntry(
            503, _SERVER, "The ledger cannot be written. Without it nothing is released.", 30, retry=True
        ),
        "store_unavailable": ErrorEntry(503, _SERVER, "The documents cannot be read.", 30, retry=True),
        "interrupted": ErrorEntry(
            500,
            _SERVER,
            "The question was interrupted after it may have been paid. GET /v1/budget shows what was charged. "
            "To pay again before ten minutes have passed, set discreet.anew.",
            paid=True,
        ),
        "internal_error": ErrorEntry(
            500, _SERVER, "The server met an unexpected error. GET /v1/budget shows what was charged.", paid=True
        ),
    }
)
"""Every error by its code."""


class ClosedModel(BaseModel):
    """An object that a client sends or gets, and that has no other fields."""

    model_config = ConfigDict(strict=True, frozen=True, hide_input_in_errors=True, extra="forbid", allow_inf_nan=False)


class ErrorFields(ClosedModel):
    """What OpenAI's envelope holds."""

    message: str
    type: str
    code: str
    param: str | None


class ErrorNumbers(ClosedModel):
    """Epsilon."""

    asked: float | None
    left: float | None
    would_fit: float | None


class ErrorReply(ClosedModel):
    """The body of an error."""

    error: ErrorFields
    discreet: ErrorNumbers


RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorReply, "description": "An error of the table."}
    for status in sorted({entry.status for entry in ERRORS.values()} - {405})
}
"""Every error that a described route can give."""


@dataclass(eq=False)
class FrontError(Exception):
    """An error of the table, with the public numbers that belong to it.

    Attributes:
        code: a key of `ERRORS`.
        param: the field of the request that is wrong; a name from this package, never one that the client sent.
        reason: what is wrong with it, a fixed sentence.
        asked, left, would_fit: epsilon asked for, epsilon left, and the largest epsilon that fits; None if not known.
        retry_after: seconds; the table's if 0.
        paid: whether something may have been paid, although the table does not say so.
    """

    code: str
    param: str | None = None
    reason: str = ""
    asked: float | None = None
    left: float | None = None
    would_fit: float | None = None
    retry_after: int = 0
    paid: bool = False

    @property
    def entry(self) -> ErrorEntry:
        """The line of the table."""
        return ERRORS[self.code]

    @property
    def status(self) -> int:
        """The HTTP status. After a payment, 500 stands in place of a status that clients retry."""
        entry = self.entry
        return 500 if self.paid and entry.retry else entry.status

    @property
    def may_have_paid(self) -> bool:
        """Whether something may have been paid."""
        return self.paid or self.entry.paid

    def body(self) -> ErrorReply:
        """Return the body: OpenAI's envelope, and what was asked, is left and would fit."""
        entry = self.entry
        message = f"{entry.message} {self.reason}".strip()
        if self.paid and not entry.paid:
            message = message.replace("Nothing was paid.", "").strip() + " Something may have been paid."
        error = ErrorFields(message=message, type=entry.type, code=self.code, param=self.param)
        numbers = ErrorNumbers(asked=self.asked, left=self.left, would_fit=self.would_fit)
        return ErrorReply(error=error, discreet=numbers)

    def headers(self) -> dict[str, str]:
        """Return the headers; `x-should-retry: false` unless the same request may be sent again for nothing."""
        entry, headers = self.entry, {"cache-control": "no-store"}
        may_retry = entry.retry and not self.may_have_paid
        headers["x-should-retry"] = "true" if may_retry else "false"
        if may_retry:
            headers["retry-after"] = str(self.retry_after or entry.retry_after)
        if entry.status == 401:
            headers["www-authenticate"] = "Bearer"
        return headers


def invalid(param: str | None, reason: str) -> FrontError:
    """Return the error for a request of which `param` is wrong. Both texts are this package's own."""
    return FrontError("invalid_request", param=param, reason=reason)
