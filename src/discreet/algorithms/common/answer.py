"""What an algorithm generates, and the answer with its receipt that an analyst gets."""

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from discreet.privacy.filter import Receipt

Stopped = Literal["end", "length", "budget", "undecided", "public"]
SCHEMA = 1
"""The version of an answer as plain data (schemas/answer.json). A new key keeps it; another meaning raises it."""


@dataclass(frozen=True)
class GeneratedAnswer:
    """What an algorithm wrote, before its receipt is attached.

    Attributes:
        text: the answer, as it was released; empty if nothing was.
        stopped: "end" (the model ended it), "length" (the maximum), "budget" (what was left could not pay for
            another token), "undecided" (the voters did not agree on a token), "public" (nothing was released from
            documents).
        tokens: how many tokens were written.
        private_tokens: how many of them were paid for. Public: each payment is itself a released decision.
        released: what was paid for as a whole: the short answer, or keywords in alphabetical order.
        shares: noisy numbers of votes for each public choice, if they were asked and paid for.
        public_text: what the model says without documents, and perhaps invented: if nothing was released, or if a
            consensus released the same.
    """

    text: str
    stopped: Stopped
    tokens: int
    private_tokens: int = 0
    released: tuple[str, ...] = ()
    shares: dict[str, int] | None = None
    public_text: str = ""

    @classmethod
    def unreleased(cls, public_text: str, tokens: int) -> "GeneratedAnswer":
        """Return a draft without an answer: nothing was released from documents."""
        return cls("", "public", tokens, public_text=public_text)

    @property
    def same_without_documents(self) -> bool:
        """Whether the model says what a consensus released without documents, too: they may have had no part in it."""
        return self.stopped != "public" and bool(self.public_text.strip())

    @property
    def text_or_public(self) -> str:
        """The answer; what the model says without documents if nothing was released. For comparisons, not readers."""
        return self.public_text if self.stopped == "public" else self.text


@dataclass(frozen=True)
class UnitCost:
    """What an answer may have cost any one unit, under the vault's grant: public.

    Attributes:
        epsilon: the most that the answer, by itself, may have cost any one unit.
        granted: the epsilon that all answers together may cost any one unit.
        uses: in how many such questions one unit can take part, from its first one on, if each costs all that it may;
            in more, if some cost less. None if it is not known.
    """

    epsilon: float
    granted: float
    uses: int | None = None


@dataclass(frozen=True)
class Answer(GeneratedAnswer):
    """An answer with its receipt, and what it cost.

    Attributes:
        algorithm: the name of the algorithm.
        receipt: what was paid, and what that means.
        remaining: the epsilon that is left of the grant, where every unit pays for every question; None where units
            pay by themselves, since what one unit has left is private.
        cost: what the answer may have cost any one unit. None if nothing is known of a grant.
        useless: why the released answer says nothing, by public rules; empty if it may say something.
        kept: false if it should have been kept, to be given again for nothing, and could not be written.
    """

    algorithm: str = ""
    receipt: Receipt | None = None
    remaining: float | None = None
    cost: UnitCost | None = None
    useless: str = ""
    kept: bool = True

    @classmethod
    def of(
        cls, generated: GeneratedAnswer, algorithm: str, receipt: Receipt, remaining: float | None = None
    ) -> "Answer":
        """Return the answer that an algorithm generated, with its receipt."""
        parts = {field.name: getattr(generated, field.name) for field in fields(GeneratedAnswer)}
        return cls(**parts, algorithm=algorithm, receipt=receipt, remaining=remaining)

    @property
    def answer(self) -> str | None:
        """The text, if something was released that says something; else None."""
        return None if self.stopped == "public" or self.useless else self.text

    def describe(self, show_public: bool = False) -> dict[str, Any]:
        """Return the answer as plain data: the object of `discreet ask --json` (docs/json.md).

        Args:
            show_public: whether the object has `public_answer`, what the model says without documents.
        """
        released = self.released or ((self.text,) if self.useless else ())
        described: dict[str, Any] = {
            "schema": SCHEMA,
            "answer": self.answer,
            "useless": bool(self.useless),
            "same_without_documents": self.same_without_documents,
            "stopped": self.stopped,
            "algorithm": self.algorithm,
            "private": self.receipt.private if self.receipt else False,
            "tokens": self.tokens,
            "private_tokens": self.private_tokens,
            "released": list(released),
            "shares": self.shares,
            "receipt": self.receipt.describe() if self.receipt else None,
            "cost": asdict(self.cost) if self.cost else None,
            "remaining": self.remaining,
            "kept": self.kept,
        }
        return described | ({"public_answer": self.public_text or None} if show_public else {})
