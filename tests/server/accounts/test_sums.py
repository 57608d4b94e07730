"""Sums of charges: they move exactly, whatever is in them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.privacy.accounting import ATTO, CUT, Spending
from discreet.privacy.costs import ORDERS
from discreet_server.accounts.grants import Sum

CHARGES = st.tuples(st.one_of(st.integers(0, CUT), st.just(CUT)), st.integers(0, ATTO))


def _spending(loss: int, failures: int) -> Spending:
    return Spending(np.full(len(ORDERS), loss, dtype=np.int64), failures)


@given(st.lists(st.tuples(CHARGES, CHARGES), max_size=30))
def test_sum_moves_as_whole_numbers_of_any_size(moves: list[tuple[tuple[int, int], tuple[int, int]]]) -> None:
    """Each charge is reserved first, and settled later, with less."""
    held, left = Sum(), list[tuple[int, int]]()
    for reserved, _ in moves:
        held.move(_spending(0, 0), _spending(*reserved))
    for reserved, spent in moves:
        spent = min(reserved[0], spent[0]), min(reserved[1], spent[1])
        left.append(spent)
        held.move(_spending(*reserved), _spending(*spent))
    assert held.total() == _spending(min(sum(loss for loss, _ in left), CUT), min(sum(fail for _, fail in left), ATTO))
    assert held.count == sum(spent != (0, 0) for spent in left)
