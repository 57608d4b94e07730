"""Voters: one sealed prompt each, and the public prompt beside them, continued in one batch by the same tokens."""

from collections.abc import Sequence

from discreet.generation.model import Decoding, LanguageModel, Prompt
from discreet.generation.own_tokens import own_tokens
from discreet.generation.prompts import DOCUMENT_TOKENS, Layout, layout
from discreet.privacy.private import Private


class Voters:
    """The voters of one question: they continue one answer together, or write an answer each.

    The batch has a row for each voter and a last one for the public prompt, always; a voter without a document, or
    whose prompt cannot be built, gets the public prompt: neither the shape nor an error tells.
    """

    __slots__ = ("__best", "__decoding", "__model", "__rows", "__steps")

    def __init__(
        self,
        model: LanguageModel,
        question: str,
        documents: Private[tuple[str, ...]],
        *,
        prefix: str = "",
        max_tokens: int = 32,
        units_per_voter: int = 1,
        document_tokens: int = 0,
        public: str = "",
    ) -> None:
        """Lay out the prompts and begin decoding.

        Args:
            model: the language model.
            question: the question, public.
            documents: a voter's texts in each share.
            prefix: how the answer begins, public.
            max_tokens: the longest answer.
            units_per_voter: how many texts a share holds at most, public.
            document_tokens: public number of tokens for each text; a default if 0.
            public: what the public prompt has in place of a document: released before, or nothing.
        """
        tokens = (document_tokens or DOCUMENT_TOKENS) * units_per_voter
        laid_out = layout(model, question, prefix=prefix, document_tokens=tokens, max_tokens=max_tokens)
        alone = laid_out.prompt(model.encode(public)) if public else laid_out.prompt()
        begun: list[Decoding] = []

        def begin(shares: Sequence[tuple[str, ...]]) -> list[tuple[int, bool]]:
            prompts = [_prompt(model, laid_out, texts, units_per_voter, alone) for texts in shares]
            begun.append(model.start(laid_out.shared, [*prompts, alone], max_tokens))
            return [(row, bool(texts)) for row, texts in enumerate(shares)]

        self.__rows = documents.map_batch(begin)
        self.__decoding = begun[0]
        self.__best = self.__decoding.best()
        self.__model, self.__steps = model, max_tokens

    def votes(self) -> Private[int]:
        """Each voter's best next token."""
        best = self.__best
        return self.__rows.map(lambda share: int(best[share[0]]))

    def public_token(self) -> int:
        """The best next token without documents: public."""
        return int(self.__best[-1])

    def append(self, token: int) -> None:
        """Continue every prompt with a released token."""
        self.__decoding.append(token)
        self.__best = self.__decoding.best()

    def answers(self) -> tuple[Private[str], str]:
        """Each voter's whole answer, each its own tokens, and the public one. To be called before any `append`.

        A voter without a document writes like the others, and then says nothing: what it wrote is the public answer,
        and would pass for one that documents agree on. The number of steps is public, whenever the voters end; one
        that does not is cut. Afterwards the voters are where they were, and can be continued together.
        """
        found = own_tokens(self.__decoding, self.__best, self.__steps, self.__model.end_tokens, all_steps=True)
        written = [tokens for tokens, _ in found]
        self.__decoding.truncate(0)
        decode = self.__model.decode
        answers = self.__rows.read(lambda share: decode(written[share[0]]) if share[1] else "", otherwise="")
        return answers, decode(written[-1])

    def __repr__(self) -> str:
        return "Voters(sealed)"

    def __reduce__(self) -> str:
        raise TypeError("Voters hold private values and cannot be pickled.")


def _prompt(model: LanguageModel, laid_out: Layout, texts: Sequence[str], units: int, alone: Prompt) -> Prompt:
    if not texts:
        return alone
    try:
        each = laid_out.document_tokens // units
        tokens = [token for text in texts for token in model.encode(text)[:each]]
        return laid_out.prompt(tokens)
    except Exception:
        # Whatever a document does to a tokenizer must not show as an error.
        return alone
