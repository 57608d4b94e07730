"""Cases of the mechanisms that release votes: selection by curves, thresholded counts, secret samples.

The pairs are chosen as in `mechanisms`: what may be lost is lost often.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from discreet.privacy.accounting import largest
from discreet.privacy.mechanisms.counting import NoisyCount, SecretSample, ThresholdedCounts
from discreet.privacy.mechanisms.leader import LARGEST_EPSILON, LeaderSelection
from discreet.privacy.mechanisms.optimal_selection import CountedAnswer, CountedSelection, OptimalSelection
from discreet.privacy.mechanisms.order_selection import OrderSelection
from discreet.privacy.private import Change, Relation
from discreet_lab.attacks.rates import Key
from discreet_lab.audit.case import FAILURE, claim_of, rho_of

Pairs = Iterator[tuple[str, Any, Sequence[Any], Sequence[Any], Callable[[Any], Key]]]
"""How the inputs differ, the mechanism, the inputs, and what is looked at."""
ORDER = 1024.0
"""The order of the price of order selection. A claim there is nearly that of a pure epsilon, which audits can reach."""
COIN = 0.5
"""The probability of a secret coin."""
LED, RARE = 30, 1e-5
"""The voters of leader selection, and its delta: at `FAILURE` nothing is certified."""


def optimal_selection_pairs(epsilon: float, change: Change) -> Pairs:
    """Yield the pairs of optimal selection: near the line, with a candidate, and an answer of one unit."""
    selection: OptimalSelection[str] = OptimalSelection.calibrated(epsilon, FAILURE, change)
    replaced = change.relation is Relation.REPLACE
    # Both outcomes are frequent there.
    line = selection.votes_needed(0.25) or 1
    common = ("a",) * line + ("b",) * (line - 1)
    yield "a vote more at the line", selection, (*common, "a") if replaced else common, (*common, "b"), list_of
    with_candidates: OptimalSelection[str] = OptimalSelection.calibrated(epsilon, FAILURE, change, ("a", "b"))
    near = with_candidates.candidate_votes_needed(0.1) or 1
    common = ("a",) * near + ("b",) * near
    yield (
        "a vote more for a candidate",
        with_candidates,
        (*common, "a") if replaced else common,
        (*common, "b"),
        list_of,
    )
    yield "an answer that one neighbour alone has", selection, ("x",) if replaced else (), ("y",), list_of


def counted_selection_pairs(epsilon: float, change: Change) -> Pairs:
    """Yield the pairs of counted selection: near the line, and an answer of one unit."""
    selection: CountedSelection[str] = CountedSelection.calibrated(epsilon, FAILURE, change)
    replaced = change.relation is Relation.REPLACE
    line = selection.votes_needed(0.9)
    common = ("a",) * line + ("b",) * line
    yield "a vote more above the line", selection, (*common, "a") if replaced else common, (*common, "b"), counts_of
    with_candidates = selection.with_candidates(("a", "b"))
    near = with_candidates.candidate_votes_needed(0.5)
    common = ("a",) * near + ("b",) * near
    yield (
        "a vote more for a candidate",
        with_candidates,
        (*common, "a") if replaced else common,
        (*common, "b"),
        counts_of,
    )
    yield "an answer that one neighbour alone has", selection, ("x",) if replaced else (), ("y",), counts_of


def order_selection_pairs(epsilon: float, change: Change) -> Pairs:
    """Yield the pairs of order selection: near the line, with a candidate, and an answer of one unit."""
    selection = order_selection_of(epsilon, change)
    replaced = change.relation is Relation.REPLACE
    line = selection.votes_needed(0.25) or 1
    common = ("a",) * line + ("b",) * (line - 1)
    yield "a vote more at the line", selection, (*common, "a") if replaced else common, (*common, "b"), list_of
    with_candidates = selection.with_candidates(("a", "b"))
    near = with_candidates.candidate_votes_needed(0.1) or 1
    common = ("a",) * near + ("b",) * near
    yield (
        "a vote more for a candidate",
        with_candidates,
        (*common, "a") if replaced else common,
        (*common, "b"),
        list_of,
    )
    yield "an answer that one neighbour alone has", selection, ("x",) if replaced else (), ("y",), list_of


def order_selection_of(epsilon: float, change: Change) -> OrderSelection[str]:
    """Return an order selection whose claim is `epsilon`, at the price of one order."""
    moves = 2 if change.relation is Relation.REPLACE else 1

    def made(price: float) -> OrderSelection[str]:
        return OrderSelection.best(((ORDER, price),), FAILURE / moves)

    return made(largest(lambda price: claim_of(made(price).cost(change))[0] <= epsilon, 1e-2 * epsilon, epsilon))


def leader_selection_pairs(epsilon: float, change: Change) -> Pairs:
    """Yield the pairs of leader selection: one answer at the line, two that compete there, and two candidates."""
    selection, line = leader_at_the_line(epsilon)
    alone = ("a",) * line
    came = ("b",) if change.relation is Relation.REPLACE else ()
    yield "a vote more at the line", selection, (*alone, "a"), (*alone, *came), all_of_it
    both = ("a", "b") * line
    yield "a vote more for one of two rivals", selection, (*both, "a"), (*both, *came), all_of_it
    with_candidates, near = candidates_at_the_line(epsilon)
    both = ("a", "b") * near
    yield "a vote more for one of two candidates", with_candidates, (*both, "a"), (*both, *came), all_of_it


def leader_at_the_line(epsilon: float) -> tuple[LeaderSelection, int]:
    """Return a leader selection, and the most votes that are released less than half the time."""
    selection = LeaderSelection(min(epsilon, LARGEST_EPSILON), RARE, LED)
    most = (LED - 1) // 2
    return selection, max((votes for votes in range(1, most + 1) if selection.chance(votes) < 0.5), default=1)


def candidates_at_the_line(epsilon: float) -> tuple[LeaderSelection, int]:
    """Return a leader selection with two candidates, and the most votes of one below a probability of one half."""
    selection = LeaderSelection(min(epsilon, LARGEST_EPSILON), RARE, LED, ("a", "b"))
    most = (LED - 1) // 2
    return selection, max((votes for votes in range(1, most + 1) if selection.candidate_chance(votes) < 0.5), default=1)


def all_of_it(released: str | None) -> Key:
    """Return the released answer."""
    return released


def counts_of(released: tuple[CountedAnswer, ...]) -> Key:
    """Return the released answers in their own order, each with its count."""
    return tuple(sorted((str(one.answer), one.count) for one in released))


def list_of(released: Any) -> Key:
    """Return the released answers as they come."""
    return tuple(released)


def thresholded_counts_pairs(epsilon: float, change: Change) -> Pairs:
    """Yield the pairs of thresholded counts: answers that many have, and answers of one unit."""
    mechanism = ThresholdedCounts.calibrated(rho_of(epsilon), FAILURE, change, 2)
    many = [("a", "b")] * math.ceil(mechanism.threshold + 8 * mechanism.sigma)
    own: list[tuple[str, str]] = []
    if change.relation is Relation.REPLACE:
        many, own = many + [("c", "d")] * len(many), [("c", "d")]
    yield "a unit with answers that many have", mechanism, [*many, *own], [*many, ("a", "b")], lead_of
    with_candidates = mechanism.with_candidates(("a", "b", "c", "d"))
    near = [("a", "b"), ("c", "d")] * with_candidates.candidate_votes_needed(0.5)
    yield "a unit with candidates at the line", with_candidates, [*near, *own], [*near, ("a", "b")], lead_of
    alone = [("x", "w")] if own else []
    yield "answers that one neighbour alone has", mechanism, alone, [("y", "z")], names_of


def lead_of(released: tuple[CountedAnswer, ...]) -> Key:
    """Return by how much the answers a and b are ahead of c and d."""
    return sum(one.count if str(one.answer) in "ab" else -one.count for one in released)


def names_of(released: tuple[CountedAnswer, ...]) -> Key:
    """Return the released answers without their counts."""
    return tuple(sorted(str(one.answer) for one in released))


def secret_sample_pairs(epsilon: float, change: Change) -> Pairs:
    """Yield the pairs of secret sampling: of a pure mechanism, and of counts with Gaussian noise."""
    moves = 2 if change.relation is Relation.REPLACE else 1
    # The inverse of the amplified cost.
    inner = math.log1p(math.expm1(epsilon / moves) / COIN)
    count = SecretSample(NoisyCount(1 / inner), COIN)
    yield "one more may say yes", count, [False] if moves == 2 else [], [True], sign_of
    if change.relation is Relation.ADD_REMOVE:
        yield "one more may have an answer", gaussian_sample(epsilon), [], [("a",)], lead_of


def sign_of(count: int) -> Key:
    """Return the count, cut where hardly a draw lies."""
    return max(-4, min(4, count))


def gaussian_sample(epsilon: float) -> SecretSample[Any, tuple[CountedAnswer, ...]]:
    """Return a secret sample of thresholded counts that costs `epsilon`, with `FAILURE` and `DELTA`."""
    change = Change(1, Relation.ADD_REMOVE)

    def made(rho: float) -> SecretSample[Any, tuple[CountedAnswer, ...]]:
        return SecretSample(ThresholdedCounts.calibrated(rho, FAILURE / COIN, change), COIN)

    return made(largest(lambda rho: claim_of(made(rho).cost(change))[0] <= epsilon, 1e-6, 1e3))


VOTE_MECHANISMS: dict[str, Callable[[float, Change], Pairs]] = {
    "optimal-selection": optimal_selection_pairs,
    "counted-selection": counted_selection_pairs,
    "order-selection": order_selection_pairs,
    "leader-selection": leader_selection_pairs,
    "thresholded-counts": thresholded_counts_pairs,
    "secret-sample": secret_sample_pairs,
}
"""The cases of each mechanism, by the names that the command line uses."""
