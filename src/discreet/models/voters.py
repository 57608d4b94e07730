"""Voters: one sealed prompt for each, and the public prompt, in one batch that is continued by the same tokens."""

import re
import unicodedata
from collections.abc import Callable, Sequence

from discreet.errors import EngineFailed, PrivateValueError
from discreet.models.answers import decode_or_empty, decode_rows, write_answers
from discreet.models.capabilities import Capability, capabilities
from discreet.models.prompts import DOCUMENT_TOKENS, Layout, layout
from discreet.models.protocol import Decoding, Prompt, Tokens, VotingModel
from discreet.privacy.private import Private

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_WORDS = dict(
    zip("zero one two three four five six seven eight nine ten eleven twelve".split(), range(13), strict=True)
)
_WORD = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b", re.IGNORECASE)


class VoterBatch:
    """The voters of one question: they continue one answer together, or each writes its own answer.

    The batch always has a row for each voter and a last row for the public prompt. A voter without a document, or with
    a prompt that cannot be built, gets the public prompt. So neither the shape nor an error depends on documents.
    The model is first asked by `votes`, `public_token`, `answers` or `grounded`.
    """

    __slots__ = ("__best", "__decoding", "__model", "__prompts", "__question", "__rows", "__shared", "__steps")

    def __init__(
        self,
        model: VotingModel,
        question: str,
        documents: Private[tuple[str, ...]],
        *,
        prefix: str = "",
        max_tokens: int = 32,
        units_per_voter: int = 1,
        document_tokens: int = 0,
        public: str = "",
        read: Callable[[str], Sequence[int]] | None = None,
    ) -> None:
        """Lay out the prompts.

        Args:
            model: the language model.
            question: the question, public.
            documents: the texts of one voter in each share.
            prefix: how the answer begins, public.
            max_tokens: the longest answer.
            units_per_voter: the most texts of a share, public.
            document_tokens: public number of tokens for each text; `DOCUMENT_TOKENS` if 0.
            public: the text of the public prompt in place of a document: released before, or empty.
            read: returns the tokens of one text, of which the first `document_tokens` are kept. It must depend on
                public values and on this text alone. The model's tokenizer if None.
        """
        tokens = (document_tokens or DOCUMENT_TOKENS) * units_per_voter
        laid_out = layout(model, question, prefix=prefix, document_tokens=tokens, max_tokens=max_tokens)
        alone = laid_out.prompt(model.encode(public)) if public else laid_out.prompt()
        prompts: list[Prompt] = []

        def lay_out(shares: Sequence[tuple[str, ...]]) -> list[tuple[int, tuple[str, ...]]]:
            prompts.extend(_prompt(read or model.encode, laid_out, texts, units_per_voter, alone) for texts in shares)
            return list(enumerate(shares))

        self.__rows = documents.map_batch(lay_out)
        self.__model, self.__steps, self.__shared, self.__question = model, max_tokens, laid_out.shared, question
        self.__prompts = [*prompts, alone]
        self.__decoding: Decoding | None = None
        self.__best: Tokens | None = None

    def votes(self) -> Private[int]:
        """Return the best next token of each voter."""
        best = self._steps()[1]
        return self.__rows.map(lambda share: int(best[share[0]]))

    def public_token(self) -> int:
        """Return the best next token without documents; it is public."""
        return int(self._steps()[1][-1])

    def append(self, token: int) -> None:
        """Continue every prompt with a released token."""
        decoding, _ = self._steps()
        decoding.append(token)
        self.__best = decoding.best()

    def answers(self) -> tuple[Private[str], str]:
        """Return the whole answer of each voter, and the public answer. Call it before any `append`.

        A voter without a document computes the public answer, but its answer is empty: it must not count as an answer
        on which documents agree. The number of steps is public; a longer answer is cut. Afterwards all rows are at the
        beginning, and can be continued together. An answer with a number that stands in no text of its voter is empty.
        """
        shares, public = self.grounded()
        return shares.map(lambda share: share[1]), public

    def grounded(self, *, continued: bool = False) -> tuple[Private[tuple[tuple[str, ...], str]], str]:
        """Return what `answers` returns, each answer with the texts of its voter, so that they can be compared.

        Args:
            continued: whether votes on tokens may follow. A model with steps then keeps what it computed of the
                prompts.

        Raises:
            EngineFailed: if an engine of this package failed. The traceback has no frame with prompts.
            PrivateValueError: if another model failed; its message is withheld.
        """
        if continued and Capability.VOTES in capabilities(self.__model):
            self._steps()
        written, failure = self._write()
        if failure is not None:
            raise failure

        def said(share: tuple[int, tuple[str, ...]]) -> tuple[tuple[str, ...], str]:
            row, texts = share
            said = written[row] if texts else ""
            return texts, "" if has_strange_number(said, texts, self.__question) else said

        return self.__rows.read(said, otherwise=((), "")), written[-1]

    def _write(self) -> tuple[list[str], EngineFailed | PrivateValueError | None]:
        # The failure is returned and not raised, so that this frame is not in its traceback.
        try:
            if self.__decoding is None or self.__best is None:
                answers = write_answers(self.__model, self.__shared, self.__prompts, self.__steps)
                return [answer.text for answer in answers], None
            ends = self.__model.end_tokens
            rows = decode_rows(self.__decoding, self.__best, self.__steps, ends, all_steps=True)
            self.__decoding.truncate(0)
            return [decode_or_empty(self.__model, tokens) for tokens, _ in rows], None
        except EngineFailed as error:
            error.__cause__ = error.__context__ = None
            return [], error.with_traceback(None)
        except Exception as error:
            return [], PrivateValueError(f"The model failed with {type(error).__name__}; its message is withheld.")

    def _steps(self) -> tuple[Decoding, Tokens]:
        """Return the batch, step by step, and its best next tokens; begin it if it has not begun."""
        if self.__decoding is None or self.__best is None:
            begun: list[Decoding] = []

            def begin(rows: Sequence[tuple[int, tuple[str, ...]]]) -> Sequence[tuple[int, tuple[str, ...]]]:
                begun.append(self.__model.start(self.__shared, self.__prompts, self.__steps))
                return rows

            self.__rows.map_batch(begin)  # an error of the model is withheld
            self.__decoding = begun[0]
            self.__best = self.__decoding.best()
        return self.__decoding, self.__best

    def __repr__(self) -> str:
        return "Voters(sealed)"

    def __reduce__(self) -> str:
        raise TypeError("A VoterBatch holds private values and cannot be pickled.")


def _prompt(
    read: Callable[[str], Sequence[int]], laid_out: Layout, texts: Sequence[str], units: int, alone: Prompt
) -> Prompt:
    if not texts:
        return alone
    try:
        each = laid_out.document_tokens // units
        tokens = [token for text in texts for token in read(text)[:each]]
        return laid_out.prompt(tokens)
    except Exception:
        # An error of the tokenizer must not show: it would depend on the document.
        return alone


def has_strange_number(answer: str, texts: Sequence[str], question: str) -> bool:
    """Return whether an answer has a number in digits that stands in none of the texts, and not in the question.

    "two" in a text is a 2. It depends on one voter's answer and texts, and on the question, alone.
    """
    wanted = _numbers(answer)
    return bool(wanted) and not wanted <= _numbers(" ".join((question, *texts)), words=True)


def _numbers(text: str, *, words: bool = False) -> set[str]:
    text = unicodedata.normalize("NFKC", text)
    numbers = {str(_WORDS[one.casefold()]) for one in _WORD.findall(text)} if words else set()
    return numbers.union(*map(_values, _NUMBER.findall(text)))


def _values(written: str) -> list[str]:
    """Return the one value of a decimal or a whole number, or those of a date: "31.01.2026" is 31, 1 and 2026."""
    plain = written.replace(",", "") if _THOUSANDS.fullmatch(written) else written.replace(",", ".")
    parts = plain.split(".")
    if len(parts) != 2:
        return [part.lstrip("0") or "0" for part in parts]
    whole, rest = parts[0].lstrip("0") or "0", parts[1].rstrip("0")
    return [f"{whole}.{rest}" if rest else whole]
