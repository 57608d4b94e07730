"""The errors that a client can get: one table of codes with their statuses, types and messages.

The table is errors.toml. A message is one of it. The text of an exception never passes the front.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, ConfigDict


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


_TABLE = tomllib.loads(files("discreet_server.front").joinpath("errors.toml").read_text(encoding="utf-8"))
KIND_ADVICE: Mapping[str, str] = MappingProxyType(_TABLE["advice"])
"""What the client can do about a kind of question that cannot be answered."""
ERRORS = MappingProxyType({code: ErrorEntry(**entry) for code, entry in _TABLE["errors"].items()})
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
