"""The configuration of voters that read the window of a passage that fits the question."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from discreet.algorithms.common.voter_config import VoterConfig
from discreet.algorithms.text.fitting_window import fitting_window
from discreet.errors import UsageError
from discreet.generation.model import VotingModel


@dataclass(frozen=True, kw_only=True)
class PassageConfig(VoterConfig):
    """Parameters of voters: those of `VoterConfig`, and one more.

    Attributes:
        passage_tokens: the public number of tokens of the window of a unit's passage that fits the question, which is
            read in place of the passage's beginning; 0 for the beginning. Fewer tokens take less time.
    """

    passage_tokens: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.passage_tokens < 0:
            raise UsageError(f"passage_tokens is at least 1, or 0 for no window, not {self.passage_tokens}. Try 64.")
        if self.passage_tokens and self.document_tokens:
            raise UsageError(
                f"document_tokens ({self.document_tokens}) reads the beginning of a passage, and passage_tokens "
                f"({self.passage_tokens}) a window of it. Leave out one of both."
            )

    @property
    def text_tokens(self) -> int:
        """The public number of tokens for a unit's passage, or for its window."""
        return self.passage_tokens or super().text_tokens

    def reader(self, question: str, model: VotingModel) -> Callable[[str], Sequence[int]]:
        """Return a function from a passage to its tokens, or to those of the window that fits the question."""
        if not self.passage_tokens:
            return super().reader(question, model)
        return partial(fitting_window, model.encode, question, tokens=self.passage_tokens)
