"""Sums of charges in the database: they move exactly, up to the largest one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.privacy.accounting import ATTO, CUT, Spending
from discreet.privacy.costs import ORDERS
from discreet.server.accounts.sums import Sum

LARGEST = 9 * 10**18
SUMS = st.one_of(st.integers(0, LARGEST), st.integers(LARGEST - 2 * CUT, LARGEST))
CHARGES = st.one_of(st.integers(0, CUT), st.just(CUT))


def _spending(loss: int, failures: int) -> Spending:
    return Spending(np.full(len(ORDERS), loss, dtype=np.int64), failures)


def _moved(before: int, back: int, extra: int) -> int:
    """Return one number of the sum, in whole numbers of any size."""
    return LARGEST if before >= LARGEST else min(before - back + extra, LARGEST)


@given(SUMS, CHARGES, CHARGES, SUMS, st.integers(0, ATTO), st.integers(0, ATTO))
def test_sum_moves_as_whole_numbers_of_any_size(
    before: int, back: int, extra: int, failures: int, failed: int, fails: int
) -> None:
    held = Sum(np.full(len(ORDERS), before, dtype=np.int64), failures)
    found = held.moved(_spending(back, failed), _spending(extra, fails))
    assert set(found.loss.tolist()) == {_moved(before, back, extra)}
    assert found.failures == _moved(failures, failed, fails)


@pytest.mark.parametrize("beyond", [LARGEST, LARGEST + 1, 2**63 - 1])
def test_sum_beyond_the_largest_stays_at_it(beyond: int) -> None:
    held = Sum(np.full(len(ORDERS), beyond, dtype=np.int64))
    assert set(held.moved(_spending(CUT, 0), _spending(0, 0)).loss.tolist()) == {LARGEST}
