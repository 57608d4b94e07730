"""A threshold of similarity for MuRAG, released privately: the one that leaves about as many units as are wanted.

For each of a few public questions, the threshold is chosen at which the wanted number of units is relevant; the
middle one of them is the suggestion. Every unit above the lowest threshold pays, for every question.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from discreet.algorithms.ensemble import check_number
from discreet.algorithms.murag_ada import MuRAGAda
from discreet.errors import UsageError
from discreet.privacy.accounting import Spending
from discreet.privacy.individual import PRESENCE, Member, UnitFilter, together
from discreet.privacy.mechanisms.threshold_choice import ThresholdChoice
from discreet.retrieval.documents import Passage
from discreet.retrieval.retriever import Corpus


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """Parameters.

    Attributes:
        epsilon: what all questions together cost a unit, as a plain sum.
        wanted: how many units should be relevant to a question.
        bins: the thresholds to choose from.
    """

    epsilon: float = 1.0
    wanted: int = 40
    bins: MuRAGAda = field(default_factory=MuRAGAda)

    def __post_init__(self) -> None:
        check_number("epsilon", self.epsilon)
        if self.wanted < 1:
            raise UsageError(f"At least 1 unit is wanted, not {self.wanted}.")

    def release(self, questions: Sequence[str], corpus: Corpus, privacy: UnitFilter) -> list[float]:
        """A threshold for each question, released; `statistics.median` of them is the suggestion."""
        edges = self.bins.edges
        choice = ThresholdChoice.calibrated(self.epsilon / len(questions), len(edges), self.wanted, PRESENCE)
        most = Spending.of(choice.cost(PRESENCE))
        found = []
        for question in questions:
            members = together(
                [part.map(partial(_placed, place)) for place, part in enumerate(corpus.bins(question, edges))]
            )
            admitted, paid = privacy.admit(members, most)
            found.append(edges[paid.release(choice, admitted.map(_place))])
        return found


def suggestion(released: Sequence[float]) -> float:
    """The middle one of the released thresholds."""
    return statistics.median_low(released)


def _placed(place: int, member: Member[Passage]) -> Member[int]:
    return Member(member.key, place)


def _place(member: Member[int]) -> int:
    return member.value
