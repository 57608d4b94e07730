"""All admitted units vote: exact laws on neighbouring vaults, from the store to the answer, and broken twins."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.algorithms.base import Plan, Query
from discreet.algorithms.ensemble import RoundBudget
from discreet.algorithms.retrieval import (
    USUAL_UNITS,
    USUAL_USES,
    AllVoteRAG,
    VotingBudget,
    price_by_support,
    usual_uses,
)
from discreet.errors import UsageError
from discreet.models.toy import ToyModel
from discreet.planning.prices import vault_budget
from discreet.privacy.account import UnitAccount
from discreet.privacy.accounting import Budget, Spending, compose
from discreet.privacy.costs import Pure
from discreet.privacy.filter import MemoryLedger, PrivacyFilter
from discreet.privacy.mechanisms.counting import GaussianCount, GaussianHistogram, NoisyCount, ThresholdedCounts
from discreet.privacy.mechanisms.optimal_selection import CountedSelection, counted_curve
from discreet.privacy.mechanisms.order_selection import OrderSelection
from discreet.privacy.mechanisms.selection import ExponentialMechanism
from discreet.privacy.noise import InsecureSeededNoise, Noise
from discreet.privacy.partition import ADD_REMOVE_ONE, REPLACE_ONE, Count, RowRule, RowShape
from discreet.privacy.private import Private, unseal
from discreet.registry import DPKSA, Consensus, DPVoteRAG, MuRAG, MuRAGAda, NaiveMultiRAG, make_algorithm
from discreet.store.documents import Passage
from discreet.store.sealed_corpus import Found, SealedCorpus
from tests.exact import paths
from tests.guarantee.algorithms.test_multi import corpus_of
from tests.indexing import read_once

Law = dict[object, float]
OPEN = Consensus(sentence=False, max_tokens=2)
CHOOSING = replace(OPEN, choices=("x", "b", "c"))
BUDGET = Budget(9.0, 0.3, 0.3)
"""With so large a delta an answer of two votes is released, and overflow is frequent."""
VAULTS = {
    "the only one who says b": {"u1": "x", "u2": "x", "u3": "b"},
    "all agree": {"u1": "x", "u2": "x", "u3": "x"},
    "alone": {"u1": "x"},
}


def law(folder: Path, units: dict[str, str], algorithm: AllVoteRAG, budget: Budget, questions: int = 1) -> Law:
    """The probability of all that is released: text, reason, count, and the number of charges."""
    corpus, found = read_once(corpus_of(folder, units)), Law()
    model = ToyModel(["x", "b", "c", "who", "knows"], default="who knows", size=8)
    for noise in paths():
        ledger, transcript = MemoryLedger(budget), list[object]()
        for number in range(questions):
            account = UnitAccount(ledger, str(number), noise=noise)
            draft = algorithm.run(Query("fever"), corpus, model, account)
            account.settle()
            rows = [charge.mechanism for charge in account.receipt().charges]
            transcript.append((draft.text, draft.stopped, draft.support, len(rows)))
        found[tuple(transcript)] = found.get(tuple(transcript), 0.0) + noise.probability
    assert sum(found.values()) == pytest.approx(1.0, abs=1e-6)
    return found


def divergence(first: Law, second: Law, epsilon: float) -> float:
    """The larger of the two hockey-stick divergences: the least delta for which epsilon holds."""
    keys = first.keys() | second.keys()
    both = ((first, second), (second, first))
    return max(sum(max(0.0, p.get(k, 0.0) - math.exp(epsilon) * q.get(k, 0.0)) for k in keys) for p, q in both)


def lost(
    folder: Path,
    algorithm: AllVoteRAG,
    budget: Budget = BUDGET,
    questions: int = 1,
    vaults: Sequence[dict[str, str]] = tuple(VAULTS.values()),
) -> float:
    """The largest delta over all vaults and all units that may be gone."""
    found = []
    for number, units in enumerate(vaults):
        whole = law(folder / f"{number}", units, algorithm, budget, questions)
        for gone in units:
            rest = {unit: words for unit, words in units.items() if unit != gone}
            other = law(folder / f"{number}{gone}", rest, algorithm, budget, questions)
            found.append(divergence(whole, other, budget.epsilon))
    return max(found)


def paid(algorithm: AllVoteRAG, budget: Budget = BUDGET) -> Spending:
    return algorithm.calibrate(budget, 8).plan.max_cost


# -- the law of an answer --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("inner", [OPEN, CHOOSING], ids=["open", "choices"])
def test_murag_keeps_epsilon_and_delta_where_all_vote(tmp_path: Path, inner: Consensus) -> None:
    algorithm = MuRAG(inner=inner, similarity=-1.0, uses=1)
    found = lost(tmp_path, algorithm)
    assert found <= paid(algorithm).delta <= BUDGET.delta
    if not inner.choices:
        assert found > 0.05 * BUDGET.delta  # nor is it far below


def test_murag_ada_keeps_epsilon_and_delta_where_all_vote(tmp_path: Path) -> None:
    """With counts of its bins, and a stop that depends on them: u1 is in the first bin, the others in the second."""
    algorithm = MuRAGAda(inner=OPEN, uses=1, epsilon_threshold=3.0, highest=0.9, lowest=-0.9, bins=2, enough=1)
    vaults = [VAULTS["the only one who says b"], VAULTS["alone"]]
    assert lost(tmp_path, algorithm, vaults=vaults) <= paid(algorithm).delta


def test_stream_of_two_questions_keeps_epsilon_and_delta(tmp_path: Path) -> None:
    """After the first question each unit has half of its budget left, and votes again."""
    budget = Budget(18.0, 0.3, 0.3)
    algorithm = MuRAG(inner=OPEN, similarity=-1.0, uses=2)
    found = lost(tmp_path, algorithm, budget, questions=2, vaults=[{"u1": "x", "u2": "b"}])
    assert found <= 2 * paid(algorithm, budget).delta <= budget.delta
    assert found > 0.02 * budget.delta


def test_price_by_support_keeps_epsilon_and_delta(tmp_path: Path) -> None:
    """The price of the answer follows from the released count, and the charges are a part of the transcript."""
    algorithm = MuRAG(inner=OPEN, similarity=-1.0, uses=1, by_support=True)
    found = lost(tmp_path, algorithm)
    assert found <= paid(algorithm).delta <= BUDGET.delta


def test_counts_with_gaussian_noise_keep_epsilon_and_delta(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Consensus, "releases", lambda self: (replace(self, counts=True),))
    budget = Budget(9.0, 0.3, 0.15)
    algorithm = MuRAG(inner=OPEN, similarity=-1.0, uses=1)
    rounds = algorithm.calibrate(budget, 8)
    assert isinstance(rounds, VotingBudget)
    assert rounds.rule is not None
    # One kind of noise for both, as in a stream.
    assert isinstance(rounds.rule.count, GaussianCount)
    assert isinstance(OPEN.releases()[0].mechanisms(1.0, 0.1, ADD_REMOVE_ONE, 8)[0], ThresholdedCounts)
    assert lost(tmp_path, algorithm, budget) <= budget.delta


def by_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    prices = ((1.5, 0.3), (3.0, 0.6))
    monkeypatch.setattr(Consensus, "releases", lambda self: (replace(self, prices=prices),))
    monkeypatch.setattr(Consensus, "at_prices", lambda self, prices: None)


@pytest.mark.parametrize(("questions", "counted"), [(1, False), (2, False), (1, True)])
def test_the_curve_keeps_epsilon_and_delta(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, questions: int, counted: bool
) -> None:
    """Alone, and in a stream in which each unit votes twice; the count after a release is drawn from the same votes."""
    by_curve(monkeypatch)
    budget = Budget(6.0, 0.3, 0.15)
    inner = replace(OPEN, with_count=counted)
    algorithm = MuRAG(inner=inner, similarity=-1.0, uses=questions)
    voters, rounds = algorithm.count_votes(budget, 8)
    kinds = [type(one) for one in voters.mechanisms(rounds.epsilon, rounds.delta, rounds.change, 8)]
    assert kinds == [OrderSelection] + [GaussianHistogram] * counted
    vaults = [{"u1": "x", "u2": "x"}] if counted else [{"u1": "x"}] if questions > 1 else list(VAULTS.values())
    found = lost(tmp_path, algorithm, budget, questions, vaults)
    assert found <= budget.delta
    if not counted:
        assert found > 0.02 * budget.delta  # nor is it far below


def test_a_curve_that_is_read_one_vote_too_high_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    by_curve(monkeypatch)
    budget = Budget(6.0, 0.02, 0.01)
    algorithm, draw = MuRAG(inner=OPEN, similarity=-1.0, uses=1), OrderSelection.draw
    vaults = [{"u1": "x"}]
    assert lost(tmp_path / "honest", algorithm, budget, vaults=vaults) <= budget.delta

    def broken(self: OrderSelection[str], shares: Sequence[str | None], noise: Noise) -> tuple[str, ...]:
        """BROKEN: an answer has one vote more than were given."""
        return draw(self, [*shares, *{share for share in shares if share}], noise)

    monkeypatch.setattr(OrderSelection, "draw", broken)
    assert lost(tmp_path / "broken", algorithm, budget, vaults=vaults) > budget.delta


GROUNDED = Consensus(choices=("yes", "no", "not said"), unsaid="not said", grounded=True, max_tokens=2)


@pytest.mark.parametrize("inner", [GROUNDED, replace(GROUNDED, grounded=False), DPKSA(most_keywords=2, max_tokens=1)])
def test_other_generations_keep_epsilon_and_delta(tmp_path: Path, inner: Consensus | DPKSA) -> None:
    budget = Budget(12.0, 0.3, 0.15)
    algorithm = MuRAG(inner=inner, similarity=-1.0, uses=1)
    assert isinstance(algorithm.calibrate(budget, 8), VotingBudget)
    assert lost(tmp_path, algorithm, budget, vaults=[{"u1": "x", "u2": "b"}, {"u1": "x"}]) <= budget.delta


# -- twins -----------------------------------------------------------------------------------------------------------


def test_overflow_that_is_not_paid_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin has the shortest tail, and no failure in its cost."""

    def unpaid(count: Count, failure: float, most: int) -> RowRule:
        return RowRule(count, 1, failure, most)

    monkeypatch.setattr(RowRule, "of", unpaid)
    budget = Budget(9.0, 0.02, 0.02)
    algorithm = MuRAG(inner=OPEN, similarity=-1.0, uses=1)
    assert paid(algorithm, budget).delta <= budget.delta
    assert lost(tmp_path, algorithm, budget, vaults=[VAULTS["all agree"]]) > 1.5 * budget.delta


def by_rank(self: SealedCorpus, found: Private[Found], rows: RowShape, noise: Noise) -> Private[tuple[Passage, ...]]:
    """BROKEN: the nearest units sit, so that another one moves up, and all is charged as if one came or went."""
    taken = unseal(found, lambda members: [(member.value,) for member in members[: rows.number]])
    return Private([*taken, *[()] * (rows.number - len(taken))], ADD_REMOVE_ONE).map_batch(self._read)


CROWD = {"u1": "x", "u2": "x", "u3": "x", "u4": "b", "u5": "b"}


def test_unit_that_moves_up_at_the_price_of_one_that_goes_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    algorithm = MuRAG(inner=CHOOSING, similarity=-1.0, uses=1, rows=3)
    budget = Budget(2.0, 1e-3, 1e-3)
    # The nearest goes: x x x becomes x x b.
    rest = {unit: CROWD[unit] for unit in CROWD if unit != "u1"}

    def delta(name: str) -> float:
        first, second = (law(tmp_path / f"{name}{len(units)}", units, algorithm, budget) for units in (CROWD, rest))
        return divergence(first, second, budget.epsilon)

    assert delta("honest") <= budget.delta
    monkeypatch.setattr(SealedCorpus, "partition_to_rows", by_rank)
    assert delta("broken") > 10 * budget.delta


def choice_law(present: int, rows: int = 6) -> Law:
    """The law of a grounded choice among rows of which some have a unit that says yes."""
    voters: list[tuple[Passage, ...]] = [(Passage("u", "fever say: x ."),)] * present
    shares = Private([*voters, *[()] * (rows - present)], ADD_REMOVE_ONE)
    budget, found = Budget(9.0, 0.0, accountant="pure"), Law()
    rounds = RoundBudget(Plan(budget, Pure(1.0), 1), 1.0, 0.0, ADD_REMOVE_ONE)
    for noise in paths():
        privacy = PrivacyFilter(MemoryLedger(budget), budget, "q", noise=noise)
        draft = GROUNDED.respond("Is x used to treat fever?", shares, ToyModel(), privacy, rounds)
        found[draft.text] = found.get(draft.text, 0.0) + noise.probability
    return found


def choice_loss() -> float:
    first, second = choice_law(3), choice_law(2)
    assert first.keys() == second.keys() == set(GROUNDED.choices)
    ratios = [math.log(first[choice] / second[choice]) for choice in first]
    return max(ratios) - min(ratios)


def test_choice_that_an_empty_row_makes_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin lets an empty row say "not said", so that a unit which goes is replaced by that vote."""
    assert choice_loss() == pytest.approx(1.0)
    honest = Consensus._choose
    monkeypatch.setattr(
        Consensus, "_choose", lambda self, named, *rest: honest(self, named.map(lambda one: one or None), *rest)
    )
    assert choice_loss() > 1.9


# -- what is chosen, and what is not analysed ------------------------------------------------------------------------


def test_release_and_counts_follow_from_the_price() -> None:
    """Pure costs for one question, and the curve that is best at the vault's order for a stream."""
    for uses, release, count in ((1, CountedSelection, NoisyCount), (10, OrderSelection, GaussianCount)):
        voters, rounds = MuRAGAda(uses=uses).count_votes(vault_budget(10.0, 1e-5), 1000)
        assert isinstance(rounds, VotingBudget)
        assert rounds.rule is not None
        selection = voters.mechanisms(rounds.epsilon, rounds.delta, rounds.change, 1000)[0]
        assert (type(selection), type(rounds.rule.count), type(rounds.bin_count)) == (release, count, count)


@pytest.mark.parametrize(
    ("epsilon", "uses", "votes", "former"),
    # Privacy-spec, 10.3: 8, 4, 15, 9, 12 and 10 votes if all of the budget is for answers; 20 % are for counts here.
    # With Gaussian counts they are 17, 10, 13 and 12 in streams.
    [(2.0, 1, 10, 11), (5.0, 1, 5, 4), (5.0, 5, 14, 31), (10.0, 5, 9, 12), (10.0, 10, 12, 33), (20.0, 20, 11, 28)],
)
def test_votes_needed_with_counts_are_little_above_the_table(
    epsilon: float, uses: int, votes: int, former: int
) -> None:
    budget = vault_budget(epsilon, 1e-5)
    found = []
    for algorithm in (MuRAGAda(uses=uses), MuRAGAda(uses=uses, all_vote=False)):
        voters, rounds = algorithm.count_votes(budget, 1000)
        selection = voters.mechanisms(rounds.epsilon, rounds.delta, rounds.change, 1000)[0]
        found.append(selection.votes_needed(0.9))  # type: ignore[attr-defined]
    assert found == [votes, former]


@pytest.mark.parametrize("uses", [1, 2, 5, 20])
def test_answer_of_more_units_costs_less(uses: int) -> None:
    """In epsilon and in failures, at every order; nothing changes where the units are only enough."""
    rounds = MuRAGAda(uses=uses).calibrate(Budget(10.0, 1e-5, 5e-6), 1000)
    assert isinstance(rounds, VotingBudget)
    assert rounds.inner is not None

    def cost(made: VotingBudget) -> Spending:
        assert made.inner is not None
        mechanisms = made.inner.mechanisms(made.epsilon, made.delta, ADD_REMOVE_ONE, 1000)
        return sum((Spending.of(one.cost(ADD_REMOVE_ONE)) for one in mechanisms), Spending.nothing())

    most = rounds.inner.units_needed(rounds)
    assert price_by_support(rounds, most - 1) == rounds
    costs = [cost(price_by_support(rounds, units)) for units in (most - 1, 2 * most, 4 * most, 8 * most)]
    assert all(later.within(costs[0]) for later in costs)
    assert costs[-1].curve[0] < 0.2 * costs[0].curve[0]
    assert costs[-1].failure_atto < 0.5 * costs[0].failure_atto


@pytest.mark.parametrize(("epsilon", "uses"), [(2.0, 2), (2.0, 8), (10.0, 8), (10.0, 20), (20.0, 40)])
def test_no_cheaper_answer_exceeds_what_was_reserved(epsilon: float, uses: int) -> None:
    """At every order, infinity included, where a curve with smaller prices at its own orders may cost more."""
    rounds = MuRAGAda(uses=uses).calibrate(vault_budget(epsilon, 1e-5), 1000)
    assert isinstance(rounds, VotingBudget)
    assert rounds.inner is not None
    most = rounds.inner.units_needed(rounds)
    for units in range(most, 5 * most, max(1, most // 5)):
        made = price_by_support(rounds, units)
        paid, reserved = (
            compose(one.cost(ADD_REMOVE_ONE) for one in rounds.inner.mechanisms(*of, ADD_REMOVE_ONE, 0))
            for of in ((made.epsilon, made.delta), (rounds.epsilon, rounds.delta))
        )
        assert paid.within(reserved)


def test_units_of_large_support_take_part_in_more_questions(tmp_path: Path) -> None:
    """Of sixty units that agree, each still has budget after the questions that were planned."""
    units = {f"u{n}": "x" for n in range(60)}
    corpus, answered = corpus_of(tmp_path, units), {}
    for by_support in (False, True):
        algorithm = MuRAG(inner=Consensus(sentence=False, max_tokens=2), similarity=-1.0, uses=2, by_support=by_support)
        ledger = MemoryLedger(Budget(10.0, 1e-5, 5e-6), simulation=True)
        model = ToyModel(["x", "b", "c", "who", "knows"], default="who knows", size=8)
        texts = []
        for number in range(8):
            account = UnitAccount(ledger, str(number), noise=InsecureSeededNoise(number))
            texts.append(algorithm.run(Query("fever"), corpus, model, account).text)
            account.settle()
        answered[by_support] = texts.count("x")
    assert answered[False] == 2
    assert answered[True] >= 4


@pytest.mark.parametrize(
    "algorithm",
    [
        MuRAG(all_vote=False),
        MuRAG(inner=DPVoteRAG()),  # a voter without documents says the public token
        MuRAG(inner=Consensus(fallback=("sparse",))),
        MuRAG(inner=Consensus(fallback=("keywords",), prefix="The disease is")),
        MuRAG(inner=Consensus(units_per_voter=2)),
        NaiveMultiRAG(),
    ],
)
def test_units_replace_each_other_where_that_is_not_analysed(algorithm: MuRAG | NaiveMultiRAG) -> None:
    rounds = algorithm.calibrate(vault_budget(20.0, 1e-5), 1000)
    assert rounds.change == REPLACE_ONE
    assert not isinstance(rounds, VotingBudget)


def test_vault_without_failures_deals_by_rank() -> None:
    choices = MuRAG(inner=CHOOSING, uses=1)
    assert choices.calibrate(Budget(5.0, 0.0, accountant="pure"), 1000).change == REPLACE_ONE
    assert choices.calibrate(vault_budget(5.0, 1e-6), 1000).change == ADD_REMOVE_ONE


@pytest.mark.parametrize(
    "algorithm",
    [MuRAG(epsilon=2.5), MuRAGAda(epsilon=2.5), MuRAGAda(uses=7), MuRAGAda(epsilon=2.5, epsilon_threshold=0.3)],
)
def test_question_costs_no_more_than_its_price(algorithm: AllVoteRAG) -> None:
    budget = vault_budget(20.0, 1e-5)
    plan = algorithm.plan(budget, 1000)
    if algorithm.uses:
        assert budget.admits(plan.max_cost.times(algorithm.uses))
        assert not budget.admits(plan.max_cost.times(algorithm.uses + 1))
    else:
        assert 2.45 < plan.ceiling.spent(plan.max_cost) <= 2.5 + 1e-9
    # Those of the rows, and at most the others for the answer: its threshold is a whole number.
    failures = budget.failures / algorithm.uses if algorithm.uses else plan.ceiling.failures
    assert 0.2 < plan.max_cost.delta / failures <= 1


@pytest.mark.parametrize(
    ("epsilon", "delta", "uses"), [(2.0, 1e-5, 1), (4.0, 1e-5, 3), (8.0, 1e-6, 8), (20.0, 1e-6, 40), (20.0, 1e-5, 60)]
)
def test_grant_is_divided_among_as_many_questions_as_it_pays_for_well(epsilon: float, delta: float, uses: int) -> None:
    budget, algorithm = vault_budget(epsilon, delta), MuRAGAda()
    assert usual_uses(algorithm.inner, budget, algorithm.rows, True, None, 1000) == uses
    voters, rounds = algorithm.count_votes(budget, 1000)
    assert voters.units_needed(rounds) <= USUAL_UNITS
    most = algorithm.plan(budget, 1000).max_cost
    assert budget.admits(most.times(uses))
    assert rounds.plan.ceiling.admits(most)
    assert not rounds.plan.ceiling.admits(most.times(2))
    if uses > 1:
        more = USUAL_USES[USUAL_USES.index(uses) + 1]
        voters, rounds = MuRAGAda(uses=more).count_votes(budget, 1000)
        assert voters.units_needed(rounds) > USUAL_UNITS


def test_small_grant_pays_the_price_of_one_question() -> None:
    budget = vault_budget(1.0, 1e-6)
    assert MuRAGAda().calibrate(budget, 1000) == MuRAGAda(epsilon=1 - 3e-9).calibrate(budget, 1000)


def test_price_that_pays_for_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="does not pay"):
        MuRAGAda(epsilon=2.5, epsilon_threshold=3.0).calibrate(vault_budget(20.0, 1e-5), 1000)
    with pytest.raises(UsageError, match="rows lies between"):
        MuRAG(rows=0)


def test_rows_are_a_parameter() -> None:
    made = make_algorithm("murag-ada", {"all_vote": False, "rows": 60, "uses": 2})
    assert isinstance(made, MuRAGAda)
    assert (made.all_vote, made.rows) == (False, 60)


# -- answers ---------------------------------------------------------------------------------------------------------


def test_answer_comes_with_its_count_and_that_of_all(tmp_path: Path) -> None:
    units = {f"u{n}": "winter hand" if n % 5 else "x" for n in range(1, 61)}
    corpus = read_once(corpus_of(tmp_path, units))
    for algorithm in (MuRAG(inner=OPEN, similarity=-1.0, uses=1), MuRAGAda(inner=OPEN, lowest=-1.0, uses=1)):
        account = UnitAccount(MemoryLedger(vault_budget(20.0, 1e-5)), "q", noise=InsecureSeededNoise(1))
        draft = algorithm.run(Query("fever"), corpus, ToyModel(default="who knows"), account)
        assert draft.text == "winter hand"
        assert draft.support is not None
        assert draft.support.count is not None
        assert draft.support.high is not None
        assert draft.support.low <= draft.support.count <= draft.support.high
        if isinstance(algorithm, MuRAG):
            assert abs(draft.support.of - 60) < 5
            assert abs(draft.support.count - 48) < 5


def test_answer_by_the_curve_says_how_many_said_so_at_least(tmp_path: Path) -> None:
    """Free, and at least; with the count that is bought with the question, about. It is paid for an answer alone."""
    corpus = read_once(corpus_of(tmp_path, {f"u{n}": "winter hand" for n in range(30)}))
    nothing = read_once(corpus_of(tmp_path / "n", {f"u{n}": f"w{n}" for n in range(30)}))
    spent = {}
    for name, inner in {"at least": OPEN, "about": replace(OPEN, with_count=True)}.items():
        for told, found in (("said", corpus), ("nothing", nothing)):
            account = UnitAccount(MemoryLedger(vault_budget(20.0, 1e-6)), "q", noise=InsecureSeededNoise(3))
            draft = MuRAG(inner=inner, similarity=-1.0, uses=30).run(Query("fever"), found, ToyModel(), account)
            spent[name, told] = len(account.receipt().charges)
            if told == "nothing":
                assert (draft.stopped, draft.support) == ("public", None)
                continue
            assert draft.text == "winter hand"
            assert draft.support is not None
            assert 15 < draft.support.of < 45
            if name == "at least":
                assert (draft.support.count, draft.support.high) == (None, None)
                assert 3 < draft.support.low < 12
            else:
                assert draft.support.count is not None
                assert draft.support.high is not None
                assert draft.support.low <= 30 <= draft.support.high
    assert spent == {("at least", "said"): 2, ("at least", "nothing"): 2, ("about", "said"): 3, ("about", "nothing"): 2}


@pytest.mark.parametrize("dealt", [Consensus(), MuRAG(all_vote=False), NaiveMultiRAG()])
def test_a_count_is_refused_where_votes_are_replaced(dealt: Consensus | MuRAG | NaiveMultiRAG) -> None:
    """A replaced vote moves two counts, which would cost more than the answer. The refusal is before any payment."""
    budget = vault_budget(20.0, 1e-6)
    inner = Consensus(with_count=True)
    with pytest.raises(UsageError, match="murag"):
        (inner if isinstance(dealt, Consensus) else replace(dealt, inner=inner)).plan(budget, 1000)
    with pytest.raises(UsageError, match="--vote-shares"):
        replace(inner, choices=("yes", "no"))


def test_units_beyond_the_rows_are_sampled(tmp_path: Path) -> None:
    corpus = read_once(corpus_of(tmp_path, {f"u{n}": "winter hand" for n in range(1, 61)}))
    account = UnitAccount(MemoryLedger(vault_budget(20.0, 1e-5)), "q", noise=InsecureSeededNoise(1))
    draft = MuRAG(inner=OPEN, similarity=-1.0, uses=1, rows=40).run(Query("fever"), corpus, ToyModel(), account)
    assert draft.support is not None
    assert draft.support.count is not None
    assert 10 < draft.support.of < 35
    assert abs(draft.support.count - draft.support.of) < 15


def test_all_admitted_units_pay_and_vote_once(tmp_path: Path) -> None:
    corpus = read_once(corpus_of(tmp_path, {f"u{n}": "winter hand" for n in range(1, 31)}))
    ledger, texts = MemoryLedger(vault_budget(20.0, 1e-5)), []
    for number in range(2):
        account = UnitAccount(ledger, str(number), noise=InsecureSeededNoise(number))
        texts.append(MuRAG(inner=OPEN, similarity=-1.0, uses=1).run(Query("fever"), corpus, ToyModel(), account).text)
        account.settle()
    assert texts == ["winter hand", ""]
    assert [count for _, count in ledger.unit_balances()] == [30]


def test_no_unit_is_read_where_none_is_admitted(tmp_path: Path) -> None:
    """With a public vote for it, "not said" is chosen, and no answer at random."""
    corpus = read_once(corpus_of(tmp_path, {"u1": "x"}))
    chosen = []
    for seed in range(60):
        account = UnitAccount(MemoryLedger(vault_budget(20.0, 1e-5)), "q", noise=InsecureSeededNoise(seed))
        asked = MuRAG(inner=GROUNDED, similarity=1.0, epsilon=1.0)
        chosen.append(asked.run(Query("Is x used to treat fever?"), corpus, ToyModel(), account).text)
    assert chosen.count("not said") > 50


def test_public_votes_change_nothing_about_the_cost() -> None:
    plain, led = ExponentialMechanism(3, 0.5), ExponentialMechanism(3, 0.5, (2, 2))
    assert plain.cost(ADD_REMOVE_ONE) == led.cost(ADD_REMOVE_ONE)
    drawn = [led.draw([], InsecureSeededNoise(seed)) for seed in range(200)]
    assert drawn.count(2) > 180
    assert "2 public votes" in str(led)


def test_price_with_a_tiny_delta_is_found_though_smaller_prices_have_no_curve() -> None:
    """A curve of counts for an epsilon far below the price would leak more than such a delta."""
    rounds = MuRAGAda(uses=1, inner=OPEN).calibrate(Budget(0.02, 1e-14, 5e-15), 8)
    assert isinstance(rounds, VotingBudget)
    assert 0.01 < rounds.epsilon < 0.02
    assert counted_curve(rounds.epsilon, rounds.delta)
