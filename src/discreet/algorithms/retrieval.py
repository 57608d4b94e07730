"""PrivateRAG: a retrieval combined with a generation, for many questions. Each unit pays for its own part.

A subclass is a retrieval: it selects the units that take part, and charges them. `inner` is the generation: any
ensemble that is private for the units that it was dealt.
"""

import math
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import ClassVar, TypeVar, cast

from discreet.algorithms.base import Algorithm, AlgorithmSpec, GeneratedAnswer, Input, Plan, Query
from discreet.algorithms.consensus import Consensus
from discreet.algorithms.consensus_release import RECEIPT, order_prices
from discreet.algorithms.ensemble import (
    MOST_VOTERS,
    RoundBudget,
    VoterEnsemble,
    calibrate_to_epsilon,
    calibrate_to_uses,
    check_number,
)
from discreet.errors import UsageError
from discreet.models.protocol import VotingModel
from discreet.privacy.account import Account, Payment
from discreet.privacy.accounting import ATTO, NANO, Budget, Spending, budget_of, largest
from discreet.privacy.costs import Cost, Pure, Together, ZeroConcentrated
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.mechanisms.counting import GaussianCount, NoisyCount
from discreet.privacy.partition import ADD_REMOVE_ONE, REPLACE_ONE, Count, RowRule
from discreet.privacy.private import Change, Private
from discreet.privacy.transcript import MISSED
from discreet.store.sealed_corpus import Found, SealedCorpus

PRICE = 2.5
"""The default epsilon of a question for a unit. It suffices for the retrieval and a consensus of 40 voters."""


@dataclass(frozen=True, kw_only=True)
class PrivateRAG(Algorithm):
    """Parameters of an algorithm in which each unit pays for the questions in which it takes part.

    Attributes:
        inner: the generation: any algorithm that is private for the units that it was dealt.
        epsilon: the epsilon that a question may cost a unit (epsilon_q).
        uses: in place of `epsilon`, the number of questions in which each unit may take part (M). A unit's budget is
            divided evenly among them.

    With neither, a question costs `PRICE`, or a unit's whole budget if that is less.
    """

    spec: ClassVar[AlgorithmSpec] = AlgorithmSpec(Payment.EACH_UNIT)

    inner: VoterEnsemble = field(default_factory=Consensus)
    epsilon: float | None = None
    uses: int | None = None

    def __post_init__(self) -> None:
        if self.uses is not None and self.uses < 1:
            raise UsageError(f"A unit takes part in at least 1 question (uses), not {self.uses}.")
        if self.epsilon is not None:
            check_number("epsilon", self.epsilon)
        own, heard = self.inner.spec, isinstance(self.inner, Consensus) and self.inner.hears_candidates(self._change)
        inputs = own.inputs - {Input.PROPOSALS} | ({Input.PROPOSALS} if heard else set())
        self.declare(
            capabilities=own.capabilities, inputs=inputs, choices=own.choices, counts_choices=own.counts_choices
        )

    @property
    def _change(self) -> Change:
        """What one unit changes about the votes."""
        return REPLACE_ONE

    @abstractmethod
    def retrieve(
        self, query: Query, corpus: SealedCorpus, rounds: RoundBudget, account: Account
    ) -> tuple[Private[Found], PrivacyFilter]:
        """Select and charge the units that take part.

        Returns:
            the units that paid, the nearest first, and the filter that spends the cost of the rounds.
        """

    def run(self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account) -> GeneratedAnswer:
        """Retrieve units, deal their documents to voters, and answer."""
        return self.answer(query, corpus, model, account, self.calibrate(account.budget, model.vocabulary_size))

    def answer(
        self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account, rounds: RoundBudget
    ) -> GeneratedAnswer:
        """Answer `query` with a budget for each round."""
        paying, paid = self.retrieve(query, corpus, rounds, account)
        documents = corpus.partition_to_voters(paying, self.inner.voters, self.inner.units_per_voter)
        documents = self.inner.look_up(query.text, documents, corpus)
        return self.inner.respond(query.text, documents, model, paid, rounds, query.public)

    @property
    def selection_epsilon(self) -> float:
        """The pure epsilon that the retrieval costs a unit."""
        return 0.0

    def plan(self, budget: Budget, vocabulary: int) -> Plan:
        """Return the most that a question may cost a unit."""
        rounds = self.calibrate(budget, vocabulary)
        self.inner.check(rounds)
        return rounds.plan

    def calibrate(self, budget: Budget, vocabulary: int) -> RoundBudget:
        """Return the budget of a round, and the largest number of rounds.

        Raises:
            UsageError: if the question's delta is above the vault's, or its epsilon does not pay the retrieval.
        """
        delta = self.check_delta(budget)
        selection = Pure(self.selection_epsilon) if self.selection_epsilon else None
        if self.epsilon is None and self.uses:
            return calibrate_to_uses(self.inner, budget, self.uses, selection, vocabulary)
        price = self.price(budget)
        if price <= self.selection_epsilon:
            raise UsageError(
                f"Epsilon {price:g} does not pay for the retrieval, which costs {self.selection_epsilon:g}. "
                "Raise epsilon."
            )
        rounds = calibrate_to_epsilon(replace(self.inner, epsilon=price - self.selection_epsilon), delta, vocabulary)
        return replace(rounds, plan=replace(rounds.plan, selection=selection))

    def check_delta(self, budget: Budget) -> float:
        """Return the question's delta.

        Raises:
            UsageError: if it is above the vault's.
        """
        delta = self.inner.delta or budget.delta
        if delta > budget.delta:
            raise UsageError(
                f"The question's delta, {delta:g}, is above the vault's, {budget.delta:g}. Give a smaller one, or none."
            )
        return delta

    def price(self, budget: Budget) -> float:
        """Return the epsilon that a question may cost a unit, if `uses` does not decide it."""
        # Parts are rounded up to billionths. Three billionths are left, since the sum might else exceed a small grant.
        return min(PRICE, budget.epsilon - 3 / NANO) if self.epsilon is None else self.epsilon

    def count_votes(self, budget: Budget, vocabulary: int) -> tuple[VoterEnsemble, RoundBudget]:
        """Return the generation and the budget of its rounds."""
        return self.inner, self.calibrate(budget, vocabulary)

    @property
    def units_read(self) -> int:
        """The number of units that the generation reads."""
        return self.inner.units_read


A = TypeVar("A", bound=Algorithm)


def change_vote(algorithm: A, change: Callable[[Consensus], Consensus]) -> A:
    """Return an algorithm whose voters reach consensus in another way; itself if its voters reach none."""
    if isinstance(algorithm, Consensus):
        return cast(A, change(algorithm))
    if isinstance(algorithm, PrivateRAG) and isinstance(algorithm.inner, Consensus):
        return cast(A, replace(algorithm, inner=change(algorithm.inner)))
    return algorithm


def vote_by_readings(algorithm: A) -> A:
    """Return an algorithm that votes by what was read of the documents before; itself if it cannot."""
    return change_vote(algorithm, Consensus.with_readings)


def propose_answers(algorithm: A, answers: tuple[str, ...]) -> A:
    """Return an algorithm with public answers as candidates, at the same price; itself if it hears none."""
    if Input.PROPOSALS not in algorithm.spec.inputs:
        return algorithm
    return change_vote(algorithm, lambda vote: vote.with_candidates(answers))


BINS_SHARE, GAUSSIAN_SHARE, LAPLACE_SHARE = 0.08, 0.12, 0.12
"""The parts of a question for the counts: of the bins, and of the rows by either kind of noise.

They are parts of zCDP for Gaussian noise, and of epsilon for Laplace noise, whose tail is longer."""
CURVE_SHARES = ((0.13, 0.20), (0.15, 0.35), (0.20, 0.50))
"""The same parts beside a curve, of bins and of rows. It costs about half of Gaussian counts, so that the counts keep
their noise. Where the tail of a count would fill the rows, the next parts are tried."""
ROWS_FAILURE = 0.2
"""The part of a question's failures for the rows."""
USUAL_USES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100)
"""The numbers of questions among which a grant is divided if neither `uses` nor `epsilon` is given."""
USUAL_UNITS = 24
"""The largest number for which so few units suffice is used: 60 % of them release an answer nine times in ten."""
STEPS_TO_HALF, MOST_STEPS = 4, 24
"""By what steps a price falls with the support: the number that halves it, and the most, which leave 1/64."""
_LARGEST_RHO = 100.0
_ROUNDED = 4
"""So many failures of a question are rounded up at most, each to the next 1e-18."""


@dataclass(frozen=True)
class VotingBudget(RoundBudget):
    """The budget of a question in which all admitted units vote. It has one round.

    Attributes:
        inner: the generation, with the release that was chosen.
        rule: the count of the rows.
        bin_count: the count of a bin, if the retrieval counts bins.
        enough: the number of admitted units that suffices.
        crowded: whether no number suffices: under the limit of rows, the coins let too few of any number vote.
    """

    inner: VoterEnsemble | None = None
    rule: RowRule | None = None
    bin_count: Count | None = None
    enough: int = 0
    crowded: bool = False


@dataclass(frozen=True, kw_only=True)
class AllVoteRAG(PrivateRAG):
    """Parameters of an algorithm that admits units one by one: those of `PrivateRAG`, and more.

    Every admitted unit votes in a row of its own, so that one vote comes or goes, for half of the price (privacy-spec,
    parts 10.1 to 10.3; docs/privacy-details.md has the proof). The number of rows is public: a noisy count of the
    admitted units, and a tail (`RowRule`). There are two kinds of count, and a generation can have several releases.
    Public arithmetic chooses the two for which the fewest units suffice.

    With neither `uses` nor `epsilon`, a unit's grant is divided among as many questions as it pays for well
    (`usual_uses`). The former way deals the nearest units to a fixed number of voters (MuRAG's Algorithm 3), and one
    unit replaces another.

    Attributes:
        all_vote: whether every admitted unit votes. Otherwise, the nearest ones are dealt to voters (the paper's
            Algorithm 3). They are dealt in any case if the generation does not let units come and go, if a voter reads
            several units, or if no part of delta is left for failures.
        rows: the largest number of units that are read, if all vote. If more may be admitted, secret coins choose.
        by_support: whether a question costs less if more units were counted than suffice (privacy-spec, part 10.6).
    """

    all_vote: bool = True
    rows: int = 100
    by_support: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.rows <= MOST_VOTERS:
            raise UsageError(f"rows lies between 1 and {MOST_VOTERS}, not {self.rows}. Try 100.")

    def can_all_vote(self, budget: Budget) -> bool:
        """Return whether every admitted unit votes in a vault of this budget: public."""
        return self._come_and_go and budget.failures > 0

    @property
    def _come_and_go(self) -> bool:
        """Whether units come and go in a vault with a delta for failures."""
        return self.all_vote and self.inner.abstains and self.inner.units_per_voter == 1

    @property
    def _change(self) -> Change:
        """What one unit changes about the votes, in a vault with a delta for failures: no other releases an answer."""
        return ADD_REMOVE_ONE if self._come_and_go else REPLACE_ONE

    def calibrate(self, budget: Budget, vocabulary: int) -> RoundBudget:
        """Return the budget of a question.

        Raises:
            UsageError: if the question's delta is above the vault's, or its epsilon pays for no answer.
        """
        if not self.can_all_vote(budget):
            return super().calibrate(budget, vocabulary)
        self.check_delta(budget)
        counted = self.counts_bins, self.bin_epsilon
        uses = self.uses if self.epsilon is None else None
        if self.epsilon is None and uses is None and self.inner.delta is None:
            usual = usual_uses(self.inner, budget, self.rows, *counted, vocabulary)
            uses = usual if usual > 1 else None  # a grant for one question pays `PRICE`, or all it has
        if uses:
            return calibrate_votes(self.inner, _Limit(budget, uses=uses), self.rows, *counted, vocabulary)
        price, delta = self.price(budget), self.inner.delta or budget.delta
        limit = _Limit(budget, ensemble=replace(self.inner, epsilon=price), delta=delta)
        return calibrate_votes(self.inner, limit, self.rows, *counted, vocabulary)

    @property
    def counts_bins(self) -> bool:
        """Whether the retrieval counts bins before the rows are counted."""
        return False

    @property
    def bin_epsilon(self) -> float | None:
        """The epsilon of the count of a bin, if it is given."""
        return None

    def count_votes(self, budget: Budget, vocabulary: int) -> tuple[VoterEnsemble, RoundBudget]:
        """Return the generation, with the release that was chosen, and the budget of its round."""
        rounds = self.calibrate(budget, vocabulary)
        inner = rounds.inner if isinstance(rounds, VotingBudget) else None
        return inner or self.inner, rounds

    def plan(self, budget: Budget, vocabulary: int) -> Plan:
        """Return the most that a question may cost a unit."""
        inner, rounds = self.count_votes(budget, vocabulary)
        inner.check(rounds)
        return rounds.plan

    def answer(
        self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account, rounds: RoundBudget
    ) -> GeneratedAnswer:
        """Retrieve units, count them, give each a row, and answer from all rows."""
        if not isinstance(rounds, VotingBudget) or rounds.rule is None or rounds.inner is None:
            return super().answer(query, corpus, model, account, rounds)
        paying, paid = self.retrieve(query, corpus, rounds, account)
        counted = paid.release(rounds.rule.count, paying.map(lambda _: True))
        paid.note_payers(max(0, counted + rounds.rule.count.tail(MISSED)))
        rows = rounds.rule.rows(counted)
        documents = corpus.partition_to_rows(paying, rows, account.noise)
        inner = replace(rounds.inner, voters=rows.number)
        documents = inner.look_up(query.text, documents, corpus)
        if self.by_support:
            rounds = price_by_support(rounds, math.floor(counted * rows.probability))
        draft = inner.respond(query.text, documents, model, paid, rounds, query.public)
        if draft.support is None:
            return draft
        return replace(draft, support=replace(draft.support, of=max(1, round(counted * rows.probability))))


@lru_cache(maxsize=4096)
def price_by_support(rounds: VotingBudget, units: int) -> VotingBudget:
    """Return the least budget of an answer for which `units` suffice; `rounds` itself if they do not suffice for less.

    The number of units is released, so the price is public, and the unspent part is returned to the units. A cheaper
    answer takes the same part of delta as of epsilon: otherwise delta would limit the number of questions.
    """
    inner = rounds.inner
    assert inner is not None
    # Thresholds are whole numbers, so a release may use less than its delta. A cheaper one must not use more.
    most = _cost_of(inner, rounds)
    delta = most.delta or rounds.delta

    def cheaper(step: int) -> VotingBudget:
        part = 2 ** (-step / STEPS_TO_HALF)
        return replace(rounds, epsilon=part * rounds.epsilon, delta=part * delta)

    def suffices(step: int) -> bool:
        try:
            return inner.units_needed(cheaper(step)) <= units
        except ValueError:  # the release cannot be drawn at such a small epsilon
            return False

    steps = bisect_left(range(1, MOST_STEPS + 1), True, key=lambda step: not suffices(step))
    # A curve with smaller prices at its own orders may cost more at another one. That would exceed what was reserved.
    while steps and not _cost_of(inner, cheaper(steps)).within(most):
        steps -= 1
    return cheaper(steps) if steps else rounds


def _cost_of(inner: VoterEnsemble, rounds: RoundBudget) -> Spending:
    """Return what all releases of an answer cost."""
    releases = inner.mechanisms(rounds.epsilon, rounds.delta, rounds.change, 0)
    return sum((Spending.of(one.cost(rounds.change)) for one in releases), Spending.nothing())


@dataclass(frozen=True)
class _Limit:
    """What one question may cost: a part of a unit's budget, or an epsilon and a delta of its own.

    Attributes:
        budget: a unit's whole budget.
        uses: the number of questions among which it is divided; 0 for none.
        ensemble: the generation, whose epsilon is the price of the question.
        delta: the question's delta.
    """

    budget: Budget
    uses: int = 0
    ensemble: VoterEnsemble | None = None
    delta: float = 0.0

    @property
    def failures(self) -> float:
        """The failures of one question, a little less than they are: each is rounded up."""
        if self.ensemble is None:
            each = self.budget.failures / self.uses * (1 - 1e-9)
            return each - min(each / 2, _ROUNDED / ATTO)
        return self.ensemble.failures(self.delta) * (1 - 1e-9)

    @property
    def epsilon(self) -> float:
        """An upper bound of the epsilon of one question."""
        return self.ensemble.epsilon if self.ensemble else self.budget.epsilon

    def ceiling(self, cost: Cost) -> Budget:
        """Return the budget by which a question of this cost is counted."""
        if self.ensemble is None:
            return budget_of(cost, self.budget.delta)
        return self.ensemble.ceiling(cost, self.delta, self.ensemble.failures(self.delta))

    def admits(self, cost: Cost) -> bool:
        """Return whether a question may have this cost."""
        spending = Spending.of(cost)
        if self.ensemble is None:
            return self.budget.admits(spending.times(self.uses))
        # A vault whose whole grant is the price must admit it, too, by its own order and its own failures.
        whole = replace(self.budget, epsilon=self.ensemble.epsilon, order=0.0)
        paid = whole.admits(Spending(spending.loss_nano, min(spending.failure_atto, whole.limit.failures)))
        return paid and self.ceiling(cost).admits(spending)


@lru_cache(maxsize=128)
def calibrate_votes(
    inner: VoterEnsemble, limit: _Limit, most: int, bins: bool, bin_epsilon: float | None, vocabulary: int
) -> VotingBudget:
    """Return the budget of a question in which all admitted units vote: of all that fit, the one that needs the fewest.

    Args:
        inner: the generation.
        limit: what the question may cost.
        most: the largest number of rows.
        bins: whether the retrieval counts bins.
        bin_epsilon: the epsilon of such a count; None for a part of the question's.
        vocabulary: the number of tokens of the model's vocabulary.

    Raises:
        UsageError: if nothing fits.
    """
    rows_failure = ROWS_FAILURE * limit.failures
    budgets: list[VotingBudget] = []
    for counts in _counts(limit, rows_failure):
        bin_count = NoisyCount.calibrated(bin_epsilon, ADD_REMOVE_ONE) if bin_epsilon else counts[0]
        rule = RowRule.of(counts[1], rows_failure, most)
        for release in inner.releases():
            fitting = _fit(release, limit, bin_count if bins else None, rule, vocabulary)
            budgets += [fitting] if fitting else []
    if not budgets:
        each = f" for {limit.uses} questions" if limit.uses else ""
        raise UsageError(
            f"Epsilon {limit.epsilon:g}{each} does not pay for the counts of a question and for an answer. "
            "Raise epsilon, or use fewer `uses`."
        )
    best = min(budgets, key=_rank)
    curved = _at_order(inner, limit, best, most, bin_epsilon, vocabulary)
    return min((one for one in (best, curved) if one), key=_rank)


@lru_cache(maxsize=128)
def usual_uses(
    inner: VoterEnsemble, budget: Budget, most: int, bins: bool, bin_epsilon: float | None, vocabulary: int
) -> int:
    """Return among how many questions a grant is divided by default: 1 if it is too small for more."""

    def suffices(uses: int) -> bool:
        try:
            votes = calibrate_votes(inner, _Limit(budget, uses=uses), most, bins, bin_epsilon, vocabulary)
        except UsageError:
            return False
        return (votes.inner or inner).units_needed(votes) <= USUAL_UNITS

    # More questions need more votes, so the largest number is found by bisection: from small ones on, since a curve for
    # many questions of a small grant is long.
    low, high = 0, 1
    while high < len(USUAL_USES) and suffices(USUAL_USES[high]):
        low, high = high, 2 * high
    high = min(high, len(USUAL_USES))
    return USUAL_USES[bisect_left(USUAL_USES, True, low + 1, high, key=lambda uses: not suffices(uses)) - 1]


def _counts(limit: _Limit, failure: float) -> list[tuple[Count, Count]]:
    """Return the counts of a bin and of the rows, for each kind of noise of which the whole question could consist."""
    pairs: list[tuple[Count, Count]] = []
    rho = largest(lambda rho: limit.admits(ZeroConcentrated(rho, limit.failures)), 1e-9, _LARGEST_RHO)
    if limit.admits(ZeroConcentrated(rho, limit.failures)):
        parts = [GaussianCount.calibrated(share * rho, ADD_REMOVE_ONE) for share in (BINS_SHARE, GAUSSIAN_SHARE)]
        pairs.append((parts[0], parts[1]))
    epsilon = largest(lambda epsilon: limit.admits(Pure(epsilon, limit.failures)), 1e-9, limit.epsilon)
    if limit.admits(Pure(epsilon, limit.failures)):
        laplace = [NoisyCount.calibrated(share * epsilon, ADD_REMOVE_ONE) for share in (BINS_SHARE, LAPLACE_SHARE)]
        pairs.append((laplace[0], laplace[1]))
    return pairs


def _at_order(
    inner: VoterEnsemble, limit: _Limit, other: VotingBudget, most: int, bin_epsilon: float | None, vocabulary: int
) -> VotingBudget | None:
    """Return the budget of an answer by the curve that is best at the vault's order; None if it has no room.

    The question costs no more than `other` there, or than an equal part of the grant. By itself it costs no more than
    `RECEIPT`, or than `other` if that is more, and what is bought after an answer; and no more than its epsilon if it
    has one.
    """
    # A little less, as the curve's first entry is rounded.
    budget, delta = limit.budget, (1 - ROWS_FAILURE) * limit.failures * (1 - 1e-8)
    if limit.ensemble is None:
        price, alone = budget.limit.curve // limit.uses, max(RECEIPT, other.plan.ceiling.epsilon)
    else:
        price, alone = budget.filter_state(other.plan.max_cost).curve, limit.epsilon
    # A vault, or the cap of a key, whose whole epsilon is that of the receipt admits the question by its own order.
    receipt = replace(budget, epsilon=alone, order=0.0)
    later = Spending.of(Together(tuple(one.cost(ADD_REMOVE_ONE) for one in inner.bought_later())))
    rho = (price - budget.filter_state(later).curve) / NANO / budget.counted_order
    budgets: list[VotingBudget] = []
    for bins_share, rows_share in CURVE_SHARES if rho > 0 else ():
        rows = GaussianCount.calibrated(rows_share * rho, ADD_REMOVE_ONE)
        rule = RowRule.of(rows, ROWS_FAILURE * limit.failures, most)
        bins: Count | None = None
        if other.bin_count:
            bins = GaussianCount.calibrated(bins_share * rho, ADD_REMOVE_ONE)
            bins = NoisyCount.calibrated(bin_epsilon, ADD_REMOVE_ONE) if bin_epsilon else bins
        counts = Spending.of(Together(tuple(one.cost(ADD_REMOVE_ONE) for one in (bins, rule.count) if one)))
        prices = order_prices(budget, price, counts + later, receipt, counts if limit.uses else counts + later)
        curved = inner.at_prices(tuple((order, each / receipt.epsilon) for order, each in prices))
        if not prices or curved is None:
            continue
        fitting = _planned(curved, limit, bins, rule, receipt.epsilon, delta, vocabulary)
        budgets += [fitting] if fitting else []
        needed = curved.units_needed(fitting) if fitting else most + 1
        if fitting is None or needed > most or (fitting.enough == needed and not fitting.crowded):
            break  # all of them have rows, or no count helps; a more precise one would leave less for the answer
    return min(budgets, key=_rank, default=None)


def _rank(one: VotingBudget) -> tuple[bool, int]:
    """Of two budgets the better one comes first: it has rows for enough units, and needs fewer of them."""
    return one.crowded, one.enough


def _fit(
    inner: VoterEnsemble, limit: _Limit, bin_count: Count | None, rule: RowRule, vocabulary: int
) -> VotingBudget | None:
    """Return the largest budget of an answer that fits beside the counts; None if none does."""
    delta = (1 - ROWS_FAILURE) * limit.failures
    selection = bin_count.cost(ADD_REMOVE_ONE) if bin_count else None
    counts = [cost for cost in (selection, rule.count.cost(ADD_REMOVE_ONE)) if cost]

    def answers(epsilon: float) -> list[Cost]:
        return [one.cost(ADD_REMOVE_ONE) for one in inner.mechanisms(epsilon, delta, ADD_REMOVE_ONE, vocabulary)]

    def fits(epsilon: float) -> bool:
        try:
            return limit.admits(Together((*counts, *answers(epsilon))))
        except ValueError:  # the release cannot be drawn at such a small epsilon
            return False

    least = limit.epsilon / max(1, limit.uses) / 1000
    epsilon = largest(fits, least, limit.epsilon)
    if not fits(epsilon):
        return None
    return _planned(inner, limit, bin_count, rule, epsilon, delta, vocabulary)


def _planned(
    inner: VoterEnsemble,
    limit: _Limit,
    bin_count: Count | None,
    rule: RowRule,
    epsilon: float,
    delta: float,
    vocabulary: int,
) -> VotingBudget | None:
    """Return the budget with these counts and an answer of (epsilon, delta); None if it does not fit."""
    selection = bin_count.cost(ADD_REMOVE_ONE) if bin_count else None
    try:
        releases = inner.mechanisms(epsilon, delta, ADD_REMOVE_ONE, vocabulary)
        answer = Together((rule.count.cost(ADD_REMOVE_ONE), *(one.cost(ADD_REMOVE_ONE) for one in releases)))
        whole = Together((selection, *answer.costs)) if selection else answer
        if not limit.admits(whole):
            return None
        plan = Plan(limit.ceiling(whole), answer, 1, selection)
        votes = inner.units_needed(RoundBudget(plan, epsilon, delta, ADD_REMOVE_ONE))
    except ValueError:  # the release cannot be drawn at such a price, or leaks more than delta
        return None
    enough = rule.units_for(votes)
    crowded = not rule.hold(enough, votes)
    return VotingBudget(plan, epsilon, delta, ADD_REMOVE_ONE, inner, rule, bin_count, enough, crowded)
