"""The interface of all algorithms that answer a question: guarantee, price, payment and run.

A private algorithm has two parts that can be combined freely:

- retrieval selects the units that take part: by rank, above a threshold, in noisy bins, or by a noisy count;
- generation makes an answer of their documents: consensus, token votes, sparse votes, keywords (`ensemble`).

`VoterEnsemble` retrieves by rank. `PrivateRAG` combines another retrieval with any ensemble. Each algorithm of a paper
is such a combination, in one file.
"""

from abc import ABC, abstractmethod
from dataclasses import Field, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Self

from discreet.algorithms.common.answer import GeneratedAnswer
from discreet.algorithms.common.plan import Plan
from discreet.errors import UsageError
from discreet.generation.capabilities import Capability, capabilities
from discreet.generation.model import VotingModel
from discreet.privacy.account import Account, Payment
from discreet.privacy.accounting import Budget
from discreet.retrieval.sealed_corpus import SealedCorpus

if TYPE_CHECKING:
    from discreet.algorithms.common.ensemble import RoundBudget, VoterEnsemble


class Guarantee(StrEnum):
    """The kinds of guarantee of an algorithm.

    Attributes:
        DP: differential privacy, with the epsilon and delta on the receipt.
        CLAIMED: a published bound that does not cover the released values (docs/privacy-details.md).
        NONE: no guarantee.
    """

    DP = "differential privacy"
    CLAIMED = "a published claim, no guarantee"
    NONE = "none"


@dataclass(frozen=True)
class Query:
    """A question for an algorithm.

    Attributes:
        text: the question.
        public: the text that the public prompt reads in place of a document, such as earlier answers; empty for none.
        search: the text that documents are compared with, if it is not the question: a function of the question alone.
    """

    text: str
    public: str = ""
    search: str = ""

    @property
    def searched(self) -> str:
        """The text that documents are compared with."""
        return self.search or self.text


class Algorithm(ABC):
    """A way to answer a question. Subclasses are frozen dataclasses; their fields are the parameters.

    Attributes:
        name: the name for `discreet ask --algorithm`.
        guarantee: the kind of guarantee.
        payment: which units pay. A class without one is refused before anything is recorded.
        requires: the capabilities that the model must have. They are checked before anything is paid.
        private: whether its answers have a guarantee; follows from `guarantee`.
        generates: whether it can be the generation of another algorithm (its `inner`).
        decides: the parameters of its `inner` that the algorithm chooses itself.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    name: ClassVar[str]
    guarantee: ClassVar[Guarantee]
    payment: ClassVar[Payment]
    requires: ClassVar[frozenset[Capability]] = frozenset()
    private: ClassVar[bool] = False
    generates: ClassVar[bool] = False
    decides: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.private = getattr(cls, "guarantee", None) is Guarantee.DP

    @abstractmethod
    def plan(self, budget: Budget, vocabulary: int) -> Plan | None:
        """Return the most that a question may cost, or None if it costs nothing.

        Args:
            budget: the most that any unit may spend in all its questions.
            vocabulary: the number of tokens of the model's vocabulary.

        Raises:
            UsageError: if the budget is too small for any answer.
        """

    @abstractmethod
    def run(self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account) -> GeneratedAnswer:
        """Answer `query` from `corpus`. Every release is paid through `account`, within `plan`.

        Raises:
            BudgetExhausted: if the account cannot pay.
        """

    def scaled_to(self, epsilon: float) -> Self:
        """Return the same algorithm for a question of `epsilon`; the algorithm itself if it costs nothing."""
        return self

    def prepare(self, question: str, model: VotingModel) -> None:
        """Check that `model` can answer `question`, before anything is paid.

        Raises:
            UsageError: if it cannot do what the algorithm requires, or has no room for the question.
        """
        check_model(self.name, self.required, model)

    @property
    def required(self) -> frozenset[Capability]:
        """The capabilities that the model must have with these parameters."""
        return self.requires

    @property
    def needs_model(self) -> bool:
        """Whether it asks a model. If not, none is loaded, and the answer depends on no earlier one."""
        return True

    @property
    def needs_readings(self) -> bool:
        """Whether it votes by what was read of the documents before (`discreet read`)."""
        return False

    @property
    def label(self) -> str:
        """The name, with the parameter that distinguishes two instances in a table."""
        return self.name

    @property
    def question_epsilon(self) -> float | None:
        """The epsilon that a question may cost; None if it is no parameter."""
        return getattr(self, "epsilon", None)

    @property
    def least_epsilon(self) -> float:
        """The epsilon that a question costs before its answer is paid."""
        return 0.0

    @property
    def shares_budget(self) -> bool:
        """Whether a question's price is a share of a unit's whole budget."""
        return False

    @property
    def prices_by_grant(self) -> bool:
        """Whether a question's price follows from a unit's whole budget, and is not given."""
        return False

    @property
    def units_read(self) -> int:
        """The largest number of units that an answer reads; 0 if it is not fixed."""
        return 0

    @property
    def public_choices(self) -> tuple[str, ...]:
        """The public answers to choose from; empty if any answer can be released."""
        return ()

    @property
    def set_apart(self) -> tuple[str, ...]:
        """What distinguishes two answers to one question, beside its words: an earlier answer must have the same."""
        return self.public_choices

    @property
    def releases_shares(self) -> bool:
        """Whether the algorithm also releases noisy numbers of votes for each choice."""
        return False

    def with_choices(self, choices: tuple[str, ...], unsaid: str) -> Self:
        """Return the algorithm that chooses among `choices` by grounded votes; itself if it cannot.

        Args:
            choices: yes, no, and `unsaid`.
            unsaid: the choice of a voter whose documents do not decide the question.
        """
        return self

    def with_readings(self) -> Self:
        """Return the algorithm that votes by what was read of the documents before; itself if it cannot."""
        return self

    @property
    def hears_proposals(self) -> bool:
        """Whether public answers can be candidates of the vote (`with_proposals`)."""
        return False

    def with_proposals(self, answers: tuple[str, ...]) -> Self:
        """Return the algorithm with public answers as candidates, at the same price; itself if it hears none."""
        return self

    def count_votes(self, budget: Budget, vocabulary: int) -> "tuple[VoterEnsemble, RoundBudget] | None":
        """Return the voters of one question and their budget; None if the number of votes is not fixed.

        Raises:
            UsageError: if the budget is too small.
        """
        return None


_NEEDS: dict[Capability, str] = {
    Capability.COMPLETIONS: "that completes prompts",
    Capability.VOTES: "that votes on each token",
    Capability.LOGITS: "that returns the probability of each token",
    Capability.STATES: "that returns its hidden states",
}


def check_model(name: str, required: frozenset[Capability], model: VotingModel) -> None:
    """Check that `model` can do what the algorithm called `name` requires.

    Raises:
        UsageError: if it cannot.
    """
    for capability in sorted(required - capabilities(model)):
        needs = _NEEDS[capability]
        raise UsageError(f"'{name}' needs a language model {needs}; '{model.name}' does not. Use another model.")
