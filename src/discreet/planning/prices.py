"""The cost of each kind of question, how many a grant pays for, how many voters must agree, and whether enough can."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from discreet.algorithms.base import Algorithm
from discreet.algorithms.consensus import Consensus
from discreet.algorithms.consensus_release import OpenSelection
from discreet.algorithms.dp_vote_rag import DPVoteRAG
from discreet.algorithms.ensemble import RoundBudget, VoterConfig, VoterEnsemble
from discreet.algorithms.murag import MuRAG, MuRAGAda, NaiveMultiRAG
from discreet.algorithms.retrieval import PRICE, USUAL_UNITS, PrivateRAG
from discreet.config import VaultConfig
from discreet.errors import UsageError
from discreet.privacy.account import Payment
from discreet.privacy.accounting import Budget, Spending, how_many
from discreet.privacy.mechanisms.selection import ExponentialMechanism
from discreet.privacy.partition import ADD_REMOVE_ONE
from discreet.system.words import quoted

VOCABULARY = 49_152
"""The vocabulary of the packaged model. The voters that a token needs depend on it; the cost does not."""
FAILURE_SHARE = 0.5
"""The share of a vault's delta for failure probabilities. The rest is for the conversion of Renyi curves."""
EVER, LIKELY, SURELY = 0.01, 0.5, 0.9
"""Probabilities of a release that plans and checks refer to."""
_CHOICES = ("yes", "no", "not said")
_MOST_TIMES = 10_000
_LARGE = 700.0
"""Approximately the largest x with a finite float e^x."""


@dataclass(frozen=True)
class QuestionKind:
    """A kind of question.

    Attributes:
        name: the name for `discreet ask --algorithm`.
        what: the kind of answer.
        algorithm: the algorithm in a vault with unit payment.
        all_pay: whether all units of the vault pay; else only those that the question could have used.
    """

    name: str
    what: str
    algorithm: PrivateRAG
    all_pay: bool = False


KINDS = (
    QuestionKind("murag-ada", "short answer, default", MuRAGAda()),
    QuestionKind("murag-ada", ", ".join(_CHOICES), MuRAGAda(inner=Consensus(choices=_CHOICES))),
    QuestionKind("murag", "short answer", MuRAG()),
    QuestionKind("naive-multi-rag", "short answer", NaiveMultiRAG(), all_pay=True),
    QuestionKind("consensus", "short answer", NaiveMultiRAG(epsilon=Consensus().epsilon), all_pay=True),
    QuestionKind("dp-vote-rag", "text, 8 tokens", NaiveMultiRAG(inner=DPVoteRAG(), epsilon=10.0), all_pay=True),
)
"""The kinds of question that a plan prices."""


def vault_budget(epsilon: float, delta: float) -> Budget:
    """Return the budget of a vault with this grant."""
    return Budget(epsilon, delta, FAILURE_SHARE * delta)


def usual_algorithm(payment: str) -> MuRAGAda | Consensus:
    """Return the default algorithm of a vault with the payment "unit" or "corpus"."""
    return MuRAGAda() if payment == "unit" else Consensus()


def usual_charge(payment: str, grant: Budget) -> Spending | None:
    """Return the charge of a usual question where "unit" or "corpus" pays; None if the grant is too small."""
    algorithm = usual_algorithm(payment)
    try:
        return algorithm.calibrate(grant, VOCABULARY).plan.max_cost
    except UsageError:
        return None


def times(budget: Budget, most: Spending) -> int:
    """Return how many such questions a full budget can pay for; at most ten thousand."""
    return how_many(lambda count: budget.admits(most.times(count)), _MOST_TIMES)


def price(budget: Budget, most: Spending) -> float:
    """Return the epsilon of one question alone, at the vault's delta."""
    return most.epsilon(budget.delta)


def chance(voters: VoterEnsemble, rounds: RoundBudget, votes: int) -> float | None:
    """Return the probability that an answer with `votes` votes is released; None if the mechanism counts no votes.

    For public choices and tokens, all other voters give one other answer: the worst case.
    """
    selection = voters.mechanisms(rounds.epsilon, rounds.delta, rounds.change, VOCABULARY)[0]
    if isinstance(selection, OpenSelection):
        return selection.chance(votes)
    if isinstance(selection, ExponentialMechanism):
        behind = min((voters.voters - 2 * votes + len(selection.public_votes)) / selection.scale, _LARGE)
        return 1 / (1 + math.exp(behind) + (selection.candidates - 2) * math.exp(-votes / selection.scale))
    return None


def agreement(voters: VoterEnsemble, rounds: RoundBudget, wanted: float) -> int | None:
    """Return how many voters must agree for a release with probability `wanted`; None if all are too few."""
    enough = (votes for votes in range(1, voters.voters + 1) if (chance(voters, rounds, votes) or 0.0) >= wanted)
    return next(enough, None)


def shared(algorithm: PrivateRAG, budget: Budget, uses: int) -> tuple[VoterEnsemble, RoundBudget]:
    """Return the voters and the round budget of a question if a unit's budget is split evenly among `uses` questions.

    Raises:
        UsageError: if the budget cannot pay for `uses` questions.
    """
    return replace(algorithm, epsilon=None, uses=uses).count_votes(budget, VOCABULARY)


def grant_for(algorithm: PrivateRAG, budget: Budget, uses: int) -> float:
    """Return the smallest grant, to three digits, that pays for `uses` questions of each unit as good as usual ones."""
    priced = replace(algorithm, epsilon=algorithm.epsilon or PRICE)
    _, usual = priced.count_votes(vault_budget(1e3, budget.delta), VOCABULARY)

    def pays(epsilon: float) -> bool:
        try:
            voters, found = shared(algorithm, vault_budget(epsilon, budget.delta), uses)
        except UsageError:
            return False
        if found.change == ADD_REMOVE_ONE:  # two releases may differ, and their epsilons cannot be compared
            return voters.units_needed(found) <= USUAL_UNITS
        return found.epsilon >= usual.epsilon * (1 - 1e-6)

    return smallest(pays, high=4 * uses * usual.plan.ceiling.epsilon)


def smallest(works: Callable[[float], bool], high: float) -> float:
    """Return the smallest epsilon that works, rounded up to three digits; infinite if none up to `high` works."""
    if not works(high):
        return math.inf
    low = 1e-3
    while high / low > 1.0005:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if works(middle) else (middle, high)
    step = 10.0 ** (math.floor(math.log10(high)) - 2)
    multiple = math.ceil(low / step) * step
    while not works(multiple):
        multiple += step
    return float(f"{multiple:.10g}")


def check_askable(path: Path, settings: VaultConfig, algorithm: Algorithm, budget: Budget) -> None:
    """Check that an `add` has ended, and that enough people were declared for such a question.

    Both are public acts of the custodian: the end of an `add`, and the number declared at `init`. Neither depends on
    the documents. A free algorithm that reads no document always passes.

    Raises:
        UsageError: if no `add` has ended yet, or if an answer needs more units than were declared. Nothing was charged.
    """
    if algorithm.spec.private and algorithm.spec.payment is Payment.NOTHING:
        return
    if is_empty(path):
        raise UsageError(
            f"The vault at {path} has no documents yet. Add some: discreet add {quoted(path)} FILES. "
            "Nothing was released or charged."
        )
    needed = fewest_units(algorithm, budget) if settings.people else 0
    if settings.people < needed:
        raise UsageError(
            f"The vault at {path} was made for about {settings.people:,} individuals ('{settings.unit_field}'). Such "
            f"an answer needs at least {needed} that agree. Ask with public choices (--choice yes --choice no), which "
            "need fewer, or make a vault for more people. Nothing was released or charged."
        )


def fewest_units(algorithm: Algorithm, budget: Budget) -> int:
    """Return the least number of units whose common answer is released with probability 0.01 or more: public.

    Return 0 if the algorithm does not count votes, or always releases one of its public choices. Return 0 also if the
    budget is too small; another check refuses that.
    """
    if algorithm.spec.choices or not isinstance(algorithm, VoterEnsemble | PrivateRAG):
        return 0
    try:
        return agreement(*algorithm.count_votes(budget, VOCABULARY), EVER) or 0
    except UsageError:
        return 0


def too_few(settings: VaultConfig, units: int) -> str:
    """Return a warning for the custodian if the vault has too few units, otherwise "". The text is private."""
    if units >= VoterConfig.voters:  # no more than the voters have to agree, so nothing is to be computed
        return ""
    needed = fewest_units(usual_algorithm(settings.payment), vault_budget(settings.epsilon, settings.delta))
    if units >= needed:
        return ""
    held = "1 unit" if units == 1 else f"{units} units"
    return (
        f"The vault holds {held}. With fewer than {needed} units, an answer from documents is released in less than "
        "1 % of cases. The question is charged in any case."
    )


EMPTY = "empty"
"""The name of the mark: a public file in a new vault, until an `add` has ended."""


def is_empty(folder: Path) -> bool:
    """Return whether no `add` to the vault has ended yet. The result is public: it does not depend on any document.

    A vault without the mark counts as filled.
    """
    return (folder / EMPTY).exists()


def no_longer_empty(folder: Path) -> None:
    """Remove the mark, because an `add` has ended. The number of added documents plays no part."""
    (folder / EMPTY).unlink(missing_ok=True)
