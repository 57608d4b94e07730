"""A second certificate of the leader: its law in every state of up to 40 voters, and every move, by another program.

`mechanisms.leader` lists what is near the top, and bounds the rest by intervals. Here nothing is bounded. Every state
is listed, as the number of slots with each number of votes, and the divergence of every move follows from the law. The
two share no code. The law is written down again from docs/privacy-details.md, in floating-point numbers. An answer that
did not move and does not lead is left out: its weight falls by at most the price, which is checked in every move.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.privacy.mechanisms.leader import CertifiedLaw, certified, certified_cost, find_law, leader_law
from discreet.privacy.noise import WHOLE

Numbers = NDArray[np.float64]
Wholes = NDArray[np.int64]
Slots = NDArray[np.uint8]
Move = tuple[int | None, int | None, Wholes, Wholes]
"""The votes of the answer that loses one, and of the one that gains it; the states before and after. None abstains."""
RIVALS = 3


@dataclass(frozen=True)
class Law:
    """The leader's law.

    Attributes:
        epsilon, delta: its parameters.
        kept: the part of delta that the curve has.
        half: the part of epsilon that the weights have.
        follows: whether the leader and nothing share what the rivals leave.
    """

    epsilon: float
    delta: float
    kept: float = 0.98 / 2
    half: float = 0.5
    follows: bool = True

    def alone(self, most: int) -> Numbers:
        """The curve of optimal selection for 0 to `most` votes."""
        grows, extra, found = math.exp(self.epsilon), self.kept * self.delta, [0.0]
        while len(found) <= most:
            found.append(min(grows * found[-1] + extra, 1 - (1 - found[-1] - extra) / grows, 1.0))
        return np.array(found)


class Drawn:
    """What a law releases in each of many states."""

    def __init__(self, slots: Slots, law: Law) -> None:
        most = slots.shape[1] - 1
        self.alone, self.weights = law.alone(most), np.exp(law.half * law.epsilon * np.arange(most + 1))
        self.total = slots @ self.weights
        self.top = most - np.argmax(slots[:, ::-1] > 0, axis=1)
        self.leaders = slots[np.arange(len(slots)), self.top].astype(np.int64)
        every = np.arange(len(slots))
        rivals = sum((slots[:, votes] * self.rival(every, votes) for votes in range(1, most + 1)), np.zeros(len(slots)))
        own = self.rival(every, self.top)
        rest = 1 - (rivals - own)
        first = self.alone[self.top] * rest if law.follows else np.minimum(self.alone[self.top], rest)
        self.nothing = rest - first
        self.leader = first / self.leaders + (1 - 1 / self.leaders) * own

    def rival(self, states: Wholes, votes: int | Wholes) -> Numbers:
        """The probability of an answer with so many votes that does not lead."""
        found: Numbers = np.minimum(self.alone[votes], self.weights[votes] / self.total[states])
        return found

    def answer(self, states: Wholes, votes: int | Wholes) -> Numbers:
        """The probability of an answer with so many votes."""
        found: Numbers = np.where(self.top[states] == votes, self.leader[states], self.rival(states, votes))
        return found


class States:
    """Many states, and all moves from one of them to another.

    A state is known by a sum of random numbers of 63 bits, so that two of a million are mistaken once in 10^7 programs.

    Attributes:
        slots: the number of slots with each number of votes, shape (states, votes).
        moves: the moves by the votes of the two answers.
    """

    def __init__(self, slots: Slots) -> None:
        self._names = np.asarray(np.random.default_rng(0).integers(0, 2**63, slots.shape[1]), dtype=np.uint64)
        self._keys, kept = np.unique(slots.astype(np.uint64) @ self._names, return_index=True)
        self.slots = slots[kept]
        self.moves = [move for move in self._list() if len(move[2])]

    def _list(self) -> Iterator[Move]:
        most = self.slots.shape[1] - 1
        for loser in (None, *range(1, most + 1)):
            for winner in (None, *range(most)):
                moved = [(votes, step) for votes, step in ((loser, -1), (winner, 1)) if votes is not None]
                there = np.full(len(self.slots), bool(moved))
                for votes, _ in moved:
                    there &= self.slots[:, votes] > (loser == winner)
                before = np.flatnonzero(there)
                keys = self._keys[before].copy()
                for votes, step in moved:
                    keys += self._names[[votes + step]] - self._names[[votes]]
                after = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
                known = self._keys[after] == keys
                yield loser, winner, before[known], after[known]

    def worst(self, law: Law, price: float) -> float:
        """The largest hockey-stick divergence of a move at `price`, in parts of delta."""
        drawn, grows = Drawn(self.slots, law), math.exp(price)
        return max(float(self._excess(drawn, grows, move).max()) for move in self.moves) / law.delta

    def _excess(self, drawn: Drawn, grows: float, move: Move) -> Numbers:
        loser, winner, before, after = move
        assert (drawn.total[after] <= grows * drawn.total[before]).all()

        def lost(likely: Numbers, rare: Numbers) -> Numbers:
            return np.maximum(0.0, likely - grows * rare)

        found = lost(drawn.nothing[before], drawn.nothing[after])
        old, new = drawn.top[before], drawn.top[after]
        led, lead = drawn.leaders[before], drawn.leaders[after]  # of these, those that did not move
        for votes, step in ((loser, -1), (winner, 1)):
            if votes is not None:
                found += lost(drawn.answer(before, votes), drawn.answer(after, votes + step))
                led, lead = led - (old == votes), lead - (new == votes + step)
        found += led * lost(drawn.leader[before], drawn.answer(after, old))
        found += (new != old) * lead * lost(drawn.answer(before, new), drawn.leader[after])
        return found


def ways(votes: int, least: int, number: int, most: int) -> Wholes:
    """All ways to give at most so many votes to at most `number` answers, at least `least` to each.

    Returns:
        how many answers have each number of votes, shape (ways, most + 1).
    """
    found = np.zeros((1, most + 1), dtype=np.int64)
    for own in range(votes, least - 1, -1):
        left = votes - found @ np.arange(most + 1)
        repeats = np.minimum(left // own, number - found.sum(axis=1)) + 1
        rows = np.repeat(np.arange(len(found)), repeats)
        found = found[rows]
        found[:, own] = np.arange(len(rows)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    return found


def joined(own: Wholes, others: Wholes, voters: int, candidates: int, start: int) -> Slots:
    """The slots of all answers: of candidates with so many votes of voters, beside each of the other answers."""
    raised = np.roll(own, start)
    raised[start] += candidates - own.sum()
    slots = others + raised
    slots[:, 0] += voters + candidates - slots.sum(axis=1)
    return slots.astype(np.uint8)


@cache
def every_state(voters: int, candidates: int = 0, start: int = 0) -> States:
    """All states. The law does not know whether an answer is a candidate, so states with the same slots are one."""
    most = voters + start + 1
    others = ways(voters, 1, voters, most)
    used = others @ np.arange(most + 1)
    others, used = others[np.argsort(used)], np.sort(used)
    known = ways(voters, 1, candidates, most) if candidates else np.zeros((1, most + 1), dtype=np.int64)
    left = voters - known @ np.arange(most + 1)
    fitting = np.searchsorted(used, left, side="right")
    return States(
        np.concatenate(
            [joined(own, others[:end], voters, candidates, start) for own, end in zip(known, fitting, strict=True)]
        )
    )


@cache
def rival_states(voters: int, candidates: int, start: int) -> States:
    """States with votes for `RIVALS` candidates at most, and several for one other answer; the rest say their own.

    All voters vote, or all but one.
    """
    most = voters + start + 1
    votes, other, found = np.arange(most + 1), ways(voters, 2, 1, most), list[Slots]()
    for own in ways(voters, 1, RIVALS, most):
        beside = np.concatenate([other, other])
        beside[:, 1] = voters - own @ votes - beside @ votes - np.repeat([0, 1], len(other))
        found.append(joined(own, beside[beside[:, 1] >= 0], voters, candidates, start))
    return States(np.concatenate(found))


def law_at(price: float, delta: float, voters: int, candidates: int = 0) -> tuple[CertifiedLaw, Law]:
    found = find_law(price, delta, voters, candidates)
    assert found is not None
    return found, Law(found.epsilon, delta)


@pytest.mark.parametrize(("voters", "states"), [(5, 19), (14, 508), (40, 215_308)])
def test_every_state_is_listed(voters: int, states: int) -> None:
    """As many as there are partitions of 0 to `voters`."""
    assert len(every_state(voters).slots) == states
    assert (every_state(voters).slots.sum(axis=1) == voters).all()


@pytest.mark.parametrize(("candidates", "start"), [(0, 0), (3, 4)])
def test_law_is_the_one_that_is_drawn_from(candidates: int, start: int) -> None:
    slots = every_state(9, candidates, start).slots
    drawn = Drawn(slots, Law(1.9, 1e-4))
    for state, own in enumerate(slots):
        votes = np.repeat(np.arange(slots.shape[1]), own)[::-1]
        held = [int(one) for one in votes if one]
        if not held:
            continue
        weights = leader_law(held, 0, 9 + candidates, 1.9, 1e-4, start)
        # Of several leaders the first one leads, and all others are rivals.
        others = [drawn.rival(np.array([state]), one)[0] for one in held[1:]]
        assert [weight / WHOLE for weight in weights[1:]] == pytest.approx(others, rel=1e-9, abs=1e-15)
        own_rival = drawn.rival(np.array([state]), held[0])[0]
        mean = (weights[0] / WHOLE + (drawn.leaders[state] - 1) * own_rival) / drawn.leaders[state]
        assert drawn.leader[state] == pytest.approx(mean, rel=1e-9)
        assert 1 - sum(weights) / WHOLE == pytest.approx(drawn.nothing[state], rel=1e-9, abs=1e-15)


@pytest.mark.parametrize(
    ("price", "delta", "voters"),
    [
        (0.5, 1e-6, 40),
        (1.0, 1e-6, 40),
        (2.0, 1e-4, 40),
        (4.0, 1e-9, 40),
        (8.0, 1e-6, 28),
        (1.2, 1e-4, 33),
        (1.0, 1e-6, 25),
        (3.0, 1e-6, 17),
        (2.0, 1e-6, 8),
    ],
)
def test_price_covers_every_move_of_all_voters(price: float, delta: float, voters: int) -> None:
    _, law = law_at(price, delta, voters)
    assert 0.45 < every_state(voters).worst(law, price) <= 1


def test_least_certified_cost_covers_every_move() -> None:
    cost = certified_cost(2.0, 1e-6, 40)
    assert cost is not None
    assert every_state(40).worst(Law(2.0, 1e-6), cost) <= 1
    assert every_state(40).worst(Law(2.0, 1e-6), 2.0) > 1000


@pytest.mark.parametrize("candidates", [5, 10, 20])
@pytest.mark.parametrize(("price", "voters"), [(0.5, 14), (1.0, 20), (2.0, 20), (4.0, 18), (2.0, 7)])
def test_price_covers_every_move_beside_candidates(price: float, voters: int, candidates: int) -> None:
    found, law = law_at(price, 1e-6, voters, candidates)
    assert found.head_start >= 1
    assert 0.45 < every_state(voters, candidates, found.head_start).worst(law, price) <= 1


@pytest.mark.parametrize(("price", "candidates"), [(0.5, 5), (1.0, 20), (2.0, 10), (2.0, 20), (4.0, 20)])
def test_price_covers_rivals_among_candidates_of_forty_voters(price: float, candidates: int) -> None:
    found, law = law_at(price, 1e-6, 40, candidates)
    assert 0.45 < rival_states(40, candidates, found.head_start).worst(law, price) <= 1


# -- twins -----------------------------------------------------------------------------------------------------------


def test_law_at_a_larger_epsilon_is_caught() -> None:
    """By two parts in a hundred."""
    _, law = law_at(1.0, 1e-6, 40)
    assert every_state(40).worst(replace(law, epsilon=1.02 * law.epsilon), 1.0) > 1000
    assert not certified(1.02 * law.epsilon, 1e-6, 40, 1.0)


@pytest.mark.parametrize("wrong", [{"kept": 0.98}, {"half": 0.6}, {"follows": False}])
def test_wrong_law_is_caught(wrong: dict[str, float]) -> None:
    """The curve at all of delta, steeper weights, and a leader with its own curve beside all rivals."""
    _, law = law_at(2.0, 1e-4, 40)
    assert every_state(40).worst(replace(law, **wrong), 2.0) > 1.5  # type: ignore[arg-type]
    found, law = law_at(2.0, 1e-6, 16, 10)
    assert every_state(16, 10, found.head_start).worst(replace(law, **wrong), 2.0) > 1.5  # type: ignore[arg-type]


def test_head_start_that_was_not_proved_is_caught() -> None:
    found, law = law_at(1.0, 1e-6, 14, 20)
    more = found.head_start + 4
    assert every_state(14, 20, more).worst(law, 1.0) > 100
    assert not certified(found.epsilon, 1e-6, 14, 1.0, 20, more)
