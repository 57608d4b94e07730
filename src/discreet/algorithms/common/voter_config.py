"""The configuration of voters, for all answers by voters, private or not."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from discreet.errors import UsageError
from discreet.generation.model import VotingModel
from discreet.generation.prompts import DOCUMENT_TOKENS, layout
from discreet.generation.voters import VoterBatch
from discreet.privacy.private import Private
from discreet.retrieval.documents import Passage
from discreet.retrieval.sealed_corpus import SealedCorpus

MOST_VOTERS = 1000
MOST_PREFIX = 1000
"""The largest prefix in characters. Each answer is parsed with its prefix, so a long prefix would take long."""


@dataclass(frozen=True, kw_only=True)
class VoterConfig:
    """Parameters of voters.

    Attributes:
        voters: the number of voters (m), each with documents of its own.
        units_per_voter: the number of units that each voter reads (k).
        max_tokens: the longest answer in tokens (T_max).
        prefix: the first words of the answer: public and free.
        document_tokens: the public length in tokens to which a unit's passage is cut or padded; 0 for the model's
            default.
    """

    voters: int = 40
    units_per_voter: int = 1
    max_tokens: int = 32
    prefix: str = ""
    document_tokens: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.voters <= MOST_VOTERS:
            raise UsageError(f"The number of voters lies between 1 and {MOST_VOTERS}, not {self.voters}. Try 40.")
        for name in ("units_per_voter", "max_tokens"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is at least 1, not {getattr(self, name)}.")
        check_prefix(self.prefix)

    def asked(self, question: str) -> str:
        """Return the question that voters read."""
        return question

    @property
    def text_tokens(self) -> int:
        """The public number of tokens for a unit's passage."""
        return self.document_tokens or DOCUMENT_TOKENS

    def reader(self, question: str, model: VotingModel) -> Callable[[str], Sequence[int]]:
        """Return a function from the text of a passage to its tokens; voters read the first `text_tokens` of them."""
        return model.encode

    def check_fits(self, question: str, model: VotingModel) -> None:
        """Refuse a question that does not fit into the model's context, before anything is paid.

        Raises:
            UsageError: if the question, the answer or the documents may be too long.
        """
        tokens = self.text_tokens * self.units_per_voter
        asked = self.asked(question)
        layout(model, asked, prefix=self.prefix, document_tokens=tokens, max_tokens=self.max_tokens)

    def look_up(
        self, question: str, documents: Private[tuple[Passage, ...]], corpus: SealedCorpus
    ) -> Private[tuple[Passage, ...]]:
        """Return the documents of the voters with what the corpus knows of them; by default, unchanged."""
        return documents

    def start_voters(
        self, question: str, documents: Private[tuple[Passage, ...]], model: VotingModel, public: str = ""
    ) -> VoterBatch:
        """Return one batch with a prompt for each voter and the public prompt."""
        texts = documents.map(lambda passages: tuple(passage.text for passage in passages))
        return VoterBatch(
            model,
            self.asked(question),
            texts,
            units_per_voter=self.units_per_voter,
            prefix=self.prefix,
            max_tokens=self.max_tokens,
            document_tokens=self.text_tokens,
            public=public,
            read=self.reader(self.asked(question), model),
        )


def check_prefix(prefix: str) -> None:
    """Refuse a prefix that is longer than `MOST_PREFIX`.

    Raises:
        UsageError: if it is longer.
    """
    if len(prefix) > MOST_PREFIX:
        raise UsageError(f"A prefix has at most {MOST_PREFIX} characters, not {len(prefix)}. Shorten it.")
