"""The shared idea of all adapters: a source that answers one question, with what was paid, and with nothing else."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, Protocol, runtime_checkable

from discreet.config import LARGEST_EPSILON, SMALLEST_EPSILON
from discreet.errors import UsageError
from discreet.system.words import EMPTY

Status = Literal["answered", "no_answer", "refused", "estimated"]
FIELDS = (
    *("question_id", "algorithm", "stopped", "epsilon", "delta", "unit", "payment", "same_without_documents"),
    *("support", "shares", "table", "understood", "replayed", "asked", "left", "would_fit"),
)
"""The details of a reply. Each is public: it was released, or follows from public values."""


@dataclass(frozen=True)
class Reply:
    """The reply to a question.

    Attributes:
        text: the released answer, or a sentence with the reason why no answer is there.
        status: "answered"; "no_answer" if the question was asked and nothing useful was released; "refused"; or
            "estimated" if nothing was asked.
        code: the reason why there is no answer: see docs/extend.md.
        details: the values of `FIELDS` that are known.
    """

    text: str
    status: Status = "answered"
    code: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def metadata(self) -> dict[str, Any]:
        """The reply as plain data, without its text. A value that is not known is None."""
        fields = {name: self.details.get(name) for name in FIELDS}
        return {"status": self.status, "code": self.code, **fields}

    @classmethod
    def of_answer(cls, text: str, about: Mapping[str, Any]) -> "Reply":
        """Return the reply for a question that was asked.

        Args:
            text: the answer, or the sentence that nothing was released.
            about: the object `usage.discreet` of a server's reply (docs/serve.md).
        """
        receipt: Mapping[str, Any] = about.get("receipt") or {}
        paid = {name: receipt.get(name) for name in ("epsilon", "delta", "unit", "payment")}
        details = {**about, **paid, "left": (about.get("key") or {}).get("left")}
        if receipt.get("payment") == "nobody" and receipt.get("reused"):
            details["replayed"] = True  # from the history of the vault
        code = "nothing_released" if about.get("stopped") == "public" or text == EMPTY else ""
        code = "says_nothing" if about.get("useless") else code
        return cls(text, "no_answer" if code else "answered", code, details)

    @classmethod
    def of_estimate(cls, found: Mapping[str, Any]) -> "Reply":
        """Return the reply for a question that may be asked.

        Args:
            found: what the route /v1/estimate of a server replies (docs/serve.md).
        """
        understood, price = found["understood"], found["epsilon_most"]
        details = {"epsilon": 0.0, "understood": understood, "asked": price, "unit": found["unit"]}
        said = f"Understood as: {understood}. " if understood else ""
        cost = "It costs nothing." if found["free"] else f"It may cost epsilon {price:.4g}. Nothing was paid yet."
        return cls(said + cost, "estimated", "", details | {"left": found["key"]["left"]})

    @classmethod
    def of_refusal(cls, text: str, code: str, **details: Any) -> "Reply":
        """Return the reply for a question that was refused, or broken off."""
        sizes = (("it may cost", "asked"), ("left is", "left"), ("would fit", "would_fit"))
        sizes_known = [f"{words} {details[name]:.4g}" for words, name in sizes if details.get(name) is not None]
        told = f" Epsilon: {', '.join(sizes_known)}." if sizes_known else ""
        return cls(f"No answer: {text}{told}", "refused", code, details)


@runtime_checkable
class AnswerSource(Protocol):
    """A source of answers: `VaultSource` in this process, or `ServerSource` over HTTP."""

    def ask(self, question: str, choices: Sequence[str] = ()) -> Reply:
        """Ask one question, and pay for it. A refusal is a reply, not an error.

        Args:
            question: the question. It stands alone: no earlier question is remembered.
            choices: public answers among which to choose; none for an answer in words.
        """

    def estimate(self, question: str, choices: Sequence[str] = ()) -> Reply:
        """Tell how a question is understood and what it may cost. Nothing is paid; a refusal is that of `ask`."""

    def describe(self) -> dict[str, Any]:
        """Return the arguments with which `open_source` opens this source again; a key is not among them."""


class Reopened:
    """A source that is pickled as its address, to be opened anew: neither its key nor its documents are in a pickle."""

    def describe(self) -> dict[str, Any]:
        """Return the arguments of `open_source`; see `AnswerSource`."""
        raise NotImplementedError

    def __reduce__(self) -> tuple[Any, ...]:
        kind: Any = type(self)
        described = self.describe()
        return partial(kind, described.pop("where"), **described), ()

    def __deepcopy__(self, _: dict[int, Any]) -> "Reopened":
        return self


def check_source(source: object) -> None:
    """Check that an adapter got a source of answers. A vault has a method `ask`, too, which would be paid in vain.

    Raises:
        UsageError: if it is something else.
    """
    if not isinstance(source, AnswerSource):
        raise UsageError(
            f"The source is an object of the type {type(source).__name__}. Expected: a source of answers, such as "
            'open_source("FOLDER or URL") or VaultSource(vault).'
        )


def check_epsilon(epsilon: object) -> None:
    """Check the most that a question may cost.

    Raises:
        UsageError: if it is no such number.
    """
    if epsilon is not None and not is_number(epsilon, SMALLEST_EPSILON, LARGEST_EPSILON):
        raise UsageError(
            f"epsilon is {epsilon!r}. Expected: the most that a question may cost, a number from {SMALLEST_EPSILON:g} "
            f"to {LARGEST_EPSILON:g}; or None for the price of the model."
        )


def is_number(value: object, least: float, most: float) -> bool:
    """Return whether a value is a number of this range."""
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most


def request_body(model: str, question: str, choices: Sequence[str], epsilon: float | None) -> bytes:
    """Return the body of a request to a server (docs/serve.md). A text in place of choices is sent, and refused.

    Raises:
        UsageError: if a value is no plain data.
    """
    listed = choices if isinstance(choices, str) else list(choices)
    options = {"epsilon": epsilon, "choices": listed or None}
    body = {"model": model, "messages": [{"role": "user", "content": question}], "discreet": options}
    try:
        return json.dumps(body).encode()
    except (TypeError, ValueError, RecursionError):
        raise UsageError("The question must be a text, and the choices a list of texts. Nothing was paid.") from None


def refusal_of(body: Mapping[str, Any], *, unpaid: bool) -> Reply:
    """Return the reply for the body of an error: OpenAI's envelope, with numbers.

    Raises:
        LookupError, TypeError, ValueError: if it is none.
    """
    code, words, param = str(body["error"]["code"]), str(body["error"]["message"]), body["error"].get("param")
    if isinstance(param, str) and re.fullmatch(r"[\w.]{1,40}", param):
        words += f" The parameter is: {_PARAMS.get(param, param.removeprefix('discreet.'))}."
    return Reply.of_refusal(words, code, **dict(body["discreet"]) | {"epsilon": 0.0 if unpaid else None})


_PARAMS = {"messages": "question"}
"""Parameters of a server that have another name here."""
