"""The shared idea of all adapters: a source that answers one question, with what was paid, and with nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from discreet.server.front.wording import EMPTY

Status = Literal["answered", "no_answer", "refused"]
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
        status: "answered"; "no_answer" if the question was asked and nothing useful was released; "refused".
        code: the reason for a status that is not "answered": see docs/adapters.md.
        details: the values of `FIELDS` that are known.
    """

    text: str
    status: Status = "answered"
    code: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def metadata(self) -> dict[str, Any]:
        """The reply as plain data, without its text. A value that is not known is None."""
        known = {name: self.details.get(name) for name in FIELDS}
        return {"status": self.status, "code": self.code, **known}

    @classmethod
    def of_answer(cls, text: str, about: Mapping[str, Any]) -> "Reply":
        """Return the reply for a question that was asked.

        Args:
            text: the answer, or the sentence that nothing was released.
            about: the object `usage.discreet` of a server's reply (docs/serving.md).
        """
        receipt: Mapping[str, Any] = about.get("receipt") or {}
        paid = {name: receipt.get(name) for name in ("epsilon", "delta", "unit", "payment")}
        details = {**about, **paid, "left": (about.get("key") or {}).get("left")}
        code = "nothing_released" if about.get("stopped") == "public" or text == EMPTY else ""
        code = "says_nothing" if about.get("useless") else code
        return cls(text, "no_answer" if code else "answered", code, details)

    @classmethod
    def of_refusal(cls, text: str, code: str, **details: Any) -> "Reply":
        """Return the reply for a question that was refused, or broken off."""
        sizes = (("it may cost", "asked"), ("left is", "left"), ("would fit", "would_fit"))
        known = [f"{words} {details[name]:.4g}" for words, name in sizes if details.get(name) is not None]
        told = f" Epsilon: {', '.join(known)}." if known else ""
        return cls(f"No answer: {text}{told}", "refused", code, details)


class AnswerSource(Protocol):
    """A source of answers: `VaultSource` in this process, or `ServerSource` over HTTP."""

    def ask(self, question: str, choices: Sequence[str] = ()) -> Reply:
        """Ask one question, and pay for it. A refusal is a reply, not an error.

        Args:
            question: the question. It stands alone: no earlier question is remembered.
            choices: public answers among which to choose; none for an answer in words.
        """

    def describe(self) -> dict[str, Any]:
        """Return the arguments with which `open_source` opens this source again; a key is not among them."""


def open_source(where: str, **options: Any) -> AnswerSource:
    """Return the source at an address: a server for one that begins with http, else a vault in this process.

    Args:
        where: the URL of a server, or the folder of a vault.
        options: further arguments of `ServerSource` or `VaultSource`.

    Raises:
        DiscreetError: if the vault cannot be opened, or the address or the key is wrong.
    """
    if where.startswith(("http://", "https://")):
        from discreet.adapters.server_source import ServerSource

        return ServerSource(where, **options)
    from discreet.adapters.vault_source import VaultSource

    return VaultSource(where, **options)
