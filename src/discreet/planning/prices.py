"""What questions of each kind cost, how often a grant pays for them, and how many voters must agree."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from discreet.algorithms.common.algorithm import Algorithm
from discreet.algorithms.common.ensemble import RoundBudget, VoterEnsemble
from discreet.algorithms.common.private_rag import PrivateRAG
from discreet.algorithms.consensus import Consensus
from discreet.algorithms.dp_vote_rag import DPVoteRAG
from discreet.algorithms.murag import MuRAG
from discreet.algorithms.murag_ada import MuRAGAda
from discreet.algorithms.naive_multi_rag import NaiveMultiRAG
from discreet.errors import UsageError
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.mechanisms.exponential import ExponentialMechanism
from discreet.privacy.mechanisms.limited_domain import ObservedSelection
from discreet.privacy.partition import REPLACE_ONE

VOCABULARY = 49_152
"""How many tokens the packaged model knows: how many voters a token needs follows from it, a price does not."""
FAILURE_SHARE = 0.5
"""Of a vault's delta, this part is for failure probabilities, the rest for converting Renyi curves."""
EVER, LIKELY, SURELY = 0.01, 0.5, 0.9
"""How probably an answer is released: hardly ever, every other time, nine times in ten."""
_CHOICES = ("yes", "no", "not said")
_MOST_TIMES = 10_000
_LARGE = 700.0
"""About the largest exponent of e that a float holds."""


@dataclass(frozen=True)
class Kind:
    """A kind of question.

    Attributes:
        name: as for `discreet ask --algorithm`.
        what: what is asked.
        algorithm: how it is answered in a vault in which units pay by themselves.
        everybody: whether every unit of the vault pays, or only those that the question is about.
    """

    name: str
    what: str
    algorithm: PrivateRAG
    everybody: bool = False


KINDS = (
    Kind("murag-ada", "short answer, default", MuRAGAda()),
    Kind("murag-ada", ", ".join(_CHOICES), MuRAGAda(inner=Consensus(choices=_CHOICES))),
    Kind("murag", "short answer", MuRAG()),
    Kind("naive-multi-rag", "short answer", NaiveMultiRAG(), everybody=True),
    Kind("consensus", "short answer", NaiveMultiRAG(epsilon=Consensus().epsilon), everybody=True),
    Kind("dp-vote-rag", "text, 8 tokens", NaiveMultiRAG(inner=DPVoteRAG(), epsilon=10.0), everybody=True),
)
"""The kinds of question that a plan prices."""


def vault_budget(epsilon: float, delta: float) -> Budget:
    """The budget of a vault that is made with these two numbers."""
    return Budget(epsilon, delta, FAILURE_SHARE * delta)


def usual_algorithm(payment: str) -> Algorithm:
    """How a question is answered if nothing else is said, in a vault where "unit" or "corpus" pays."""
    return MuRAGAda() if payment == "unit" else Consensus()


def usual_charge(payment: str, grant: Budget) -> Spending | None:
    """Return the charge of a usual question where "unit" or "corpus" pays; None if the grant is too small."""
    algorithm = usual_algorithm(payment)
    try:
        spending: Spending = algorithm.calibrate(grant, VOCABULARY).plan.max_cost  # type: ignore[attr-defined]
    except UsageError:
        return None
    return spending


def times(budget: Budget, most: Spending) -> int:
    """How many such questions a unit can pay for that has paid nothing yet; at most ten thousand."""
    low, high = 0, _MOST_TIMES
    while high > low:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if budget.admits(most.times(middle)) else (low, middle - 1)
    return low


def price(budget: Budget, most: Spending) -> float:
    """The epsilon of one question by itself, at the vault's delta."""
    return most.epsilon(budget.delta)


def chance(voters: VoterEnsemble, rounds: RoundBudget, votes: int) -> float | None:
    """Return how probably what `votes` of the voters say is released; None if votes are not counted so.

    Among public choices, and among tokens, all other voters say one other thing: the worst case.
    """
    selection = voters.mechanisms(rounds.epsilon, rounds.delta, REPLACE_ONE, VOCABULARY)[0]
    if isinstance(selection, ObservedSelection):
        return selection.chance(votes)
    if isinstance(selection, ExponentialMechanism):
        behind = min((voters.voters - 2 * votes) / selection.scale, _LARGE)
        return 1 / (1 + math.exp(behind) + (selection.candidates - 2) * math.exp(-votes / selection.scale))
    return None


def agreement(voters: VoterEnsemble, rounds: RoundBudget, wanted: float) -> int | None:
    """Return the least number of voters whose answer is released with probability `wanted`; None if all are too few."""
    found = (votes for votes in range(1, voters.voters + 1) if (chance(voters, rounds, votes) or 0.0) >= wanted)
    return next(found, None)


def shared(algorithm: PrivateRAG, budget: Budget, uses: int) -> RoundBudget:
    """The rounds of a question if a unit's budget is shared out evenly among `uses` questions.

    Raises:
        UsageError: the budget cannot pay for so many.
    """
    return replace(algorithm, epsilon=None, uses=uses).calibrate(budget, VOCABULARY)


def grant_for(algorithm: PrivateRAG, budget: Budget, uses: int) -> float:
    """The smallest grant, to three digits, that pays each unit `uses` questions of the usual strength."""
    usual = algorithm.calibrate(vault_budget(1e3, budget.delta), VOCABULARY)

    def pays(epsilon: float) -> bool:
        try:
            found = shared(algorithm, vault_budget(epsilon, budget.delta), uses)
        except UsageError:
            return False
        return found.epsilon >= usual.epsilon * (1 - 1e-6)

    return smallest(pays, high=4 * uses * usual.plan.ceiling.epsilon)


def smallest(works: Callable[[float], bool], high: float) -> float:
    """The smallest epsilon that works, rounded up to three digits; infinite if none up to `high` does."""
    if not works(high):
        return math.inf
    low = 1e-3
    while high / low > 1.0005:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if works(middle) else (middle, high)
    step = 10.0 ** (math.floor(math.log10(high)) - 2)
    found = math.ceil(low / step) * step
    while not works(found):
        found += step
    return float(f"{found:.10g}")
