"""MuRAG-Ada: as MuRAG, with a threshold of its own for every question.

"Privacy-Preserving Retrieval-Augmented Generation for multiple questions", Algorithm 2. Similarities are cut into
public bins, visited from the top; noisy counts of those who could pay for being counted are summed until there are
enough units. A unit is in one bin only, so being counted costs it the same however many bins are visited.
"""

from dataclasses import dataclass
from typing import ClassVar

from discreet.algorithms.answer import Draft
from discreet.algorithms.ensemble import check_number
from discreet.algorithms.multi import ManyQuestions
from discreet.errors import UsageError
from discreet.generation.model import LanguageModel
from discreet.privacy.accounting import Spending
from discreet.privacy.costs import Pure
from discreet.privacy.individual import PRESENCE, UnitFilter, together
from discreet.privacy.mechanisms.counting import NoisyCount
from discreet.retrieval.retriever import Corpus, deal_passages


@dataclass(frozen=True, kw_only=True)
class MuRAGAda(ManyQuestions):
    """Algorithm 2. Parameters: see `ManyQuestions`, and more.

    Attributes:
        epsilon_threshold: what being counted costs a unit (epsilon_thr).
        highest, lowest: between these similarities lie the bins; units below the lowest never take part.
        bins: how many bins there are, of equal width; the first one also has all above it.
        enough: bins are visited until so many units were counted (K); the number of places if 0.
    """

    name: ClassVar[str] = "murag-ada"

    epsilon_threshold: float = 0.5
    highest: float = 0.8
    lowest: float = 0.2
    bins: int = 40
    enough: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("epsilon_threshold", self.epsilon_threshold)
        if not -1 <= self.lowest < self.highest <= 1 or self.bins < 1 or self.enough < 0:
            raise UsageError("Bins lie between similarities -1 <= lowest < highest <= 1; there is at least one bin.")

    @property
    def entry(self) -> float:
        """What being counted costs."""
        return self.epsilon_threshold

    @property
    def edges(self) -> list[float]:
        """The lower ends of the bins, from the top."""
        width = (self.highest - self.lowest) / self.bins
        return [self.highest - width * (number + 1) for number in range(self.bins)]

    def answer(self, question: str, corpus: Corpus, model: LanguageModel, privacy: UnitFilter) -> Draft:
        """Answer from the nearest of the units in the bins visited that can pay."""
        voters, each = self.inner.voters, self.inner.units_per_voter
        rounds = self.rounds(privacy.budget, model.vocabulary_size)
        count = NoisyCount.calibrated(self.epsilon_threshold, PRESENCE)
        price = Spending.of(Pure(self.epsilon_threshold))
        enough, counted, visited = self.enough or voters * each, 0, []
        for bin_ in corpus.bins(question, self.edges):  # line 2
            able, paid = privacy.admit(bin_, price, apart=True)  # lines 3, 6-7
            counted += paid.release(count, able.map(lambda _: True))  # line 4
            visited.append(able)  # line 5
            if counted > enough:  # line 8
                break
        paying, paid = privacy.admit(together(visited), rounds.plan.answering)  # lines 11, 14-15
        documents = deal_passages(paying, voters, each)  # line 12
        return self.inner.respond(question, documents, model, paid, rounds, corpus.public)  # line 13
