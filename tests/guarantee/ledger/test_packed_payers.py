"""Compressed payers: the same payers as before, and damage is found."""

import os
import random
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from discreet.errors import LedgerError
from discreet.ledger import packed_payers
from discreet.ledger.encoding import joined, split
from discreet.ledger.packed_payers import pack, unpack
from discreet.privacy.accounting import Budget, FilterState, Spending
from discreet.privacy.costs import Pure
from discreet.privacy.ledger import MemoryLedger
from discreet.testing.settings import QUICK
from tests.guarantee.ledger.conftest import Kept
from tests.guarantee.ledger.test_sqlite import fork

BUDGET = Budget(3.0, 1e-5, accountant="pure")
UNITS = [number.to_bytes(16, "big") for number in range(20)]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compress the payers of parts of three units."""
    monkeypatch.setattr(packed_payers, "LEAST", 3)


def of(epsilon: float) -> Spending:
    return Spending.of(Pure(epsilon))


def packed(ledger: Any) -> list[tuple[str, int]]:
    """Return the parts with compressed payers; check that they have no keys beside, and are not open."""
    with ledger._reading() as connection:
        rows = connection.execute(text("select question, part, payers from part where packed is not null")).all()
        latest = connection.execute(text("select question, part from last_part")).one()
    assert not any(row.payers for row in rows)
    assert tuple(latest) not in [(row.question, row.part) for row in rows]
    return [(row.question, row.part) for row in rows]


@QUICK
@given(st.sets(st.one_of(st.integers(1, 300), st.integers(1, 2**41)), max_size=60))
def test_numbers_come_back(numbers: set[int]) -> None:
    ordered = np.array(sorted(numbers), dtype=np.int64)
    assert unpack(pack(ordered)).tolist() == ordered.tolist()


def test_one_in_a_hundred_takes_eleven_bits() -> None:
    numbers = np.sort(np.random.default_rng(0).choice(10**7, 10**5, replace=False)) + 1
    assert len(pack(numbers)) < 140_000
    assert np.array_equal(unpack(pack(numbers)), numbers)


@QUICK
@given(st.sets(st.integers(1, 10**6), min_size=1, max_size=20), st.data())
def test_every_changed_byte_is_found(numbers: set[int], data: st.DataObject) -> None:
    form = bytearray(pack(np.array(sorted(numbers), dtype=np.int64)))
    form[data.draw(st.integers(0, len(form) - 1))] ^= data.draw(st.integers(1, 255))
    for damaged in (bytes(form), bytes(form[: data.draw(st.integers(0, len(form)))])):
        with pytest.raises(LedgerError, match="corrupt"):
            unpack(damaged)


def test_settled_part_has_the_payers_that_it_had(kept: Kept) -> None:
    ledger, reference = kept(BUDGET), MemoryLedger(BUDGET)
    for used in (ledger, reference):
        used.reserve("q", 0, of(1.0), UNITS[:12])
        used.settle("q", 0, of(0.5))
        used.reserve("r", 0, of(2.6), UNITS[8:])  # four of them cannot pay
        used.reserve("s", 0, of(0.1), UNITS[:2])
        used.settle("s", 0, of(0.1))
        used.settle("r", 0, of(1.0))
        used.settle("r", 0, of(1.0))
    assert packed(ledger) == [("q", 0), ("r", 0)]
    for found in (ledger, kept()):
        assert Counter(dict(found.unit_balances())) == Counter(dict(reference.unit_balances()))
        assert all(found.payers(name, 0) == reference.payers(name, 0) for name in "qrs")
    assert ledger.questions_of(UNITS[1]) == {"q", "s"}
    assert ledger.questions_of(UNITS[12]) == {"r"}
    assert ledger.questions_of(UNITS[9]) == {"q"}
    with pytest.raises(LedgerError, match="another sum"):
        kept().settle("r", 0, of(0.5))


def test_merged_unit_is_found_in_compressed_payers(kept: Kept) -> None:
    """Also by its earlier name, and its number is not given to another unit."""
    ledger = kept(BUDGET)
    ledger.reserve("q", 0, of(0.5), UNITS[:5])
    ledger.settle("q", 0, of(0.5))
    ledger.reserve("r", 0, of(0.5), UNITS[:5])
    ledger.merge([(UNITS[4], UNITS[9]), (UNITS[0], UNITS[1])])
    ledger.settle("r", 0, of(0.25))  # two of its payers are merged
    assert packed(ledger) == [("q", 0), ("r", 0)]
    ledger.reserve("s", 0, of(0.5), UNITS[10:14])
    ledger.settle("s", 0, of(0.5))
    for found in (ledger, kept()):
        assert found.payers("q", 0) == frozenset([*UNITS[1:4], UNITS[9]])
        assert found.payers("r", 0) == frozenset([*UNITS[1:4], UNITS[9]])
        assert found.payers("s", 0) == frozenset(UNITS[10:14])
        assert found.questions_of(UNITS[9]) == {"q", "r"}
        assert found.questions_of(UNITS[10]) == {"s"}


def paid_before(kept: Kept) -> Any:
    """Return a ledger whose units have numbers; two of them can pay no more."""
    ledger = kept(BUDGET)
    ledger.reserve("before", 0, of(0.5), UNITS)
    ledger.settle("before", 0, of(0.5))
    ledger.reserve("poor", 0, of(2.4), UNITS[3:5])
    ledger.settle("poor", 0, of(2.4))
    return ledger


def form(ledger: Any, question: str) -> bytes:
    with ledger._reading() as connection:
        return bytes(connection.execute(text("select packed from part where question = :q"), {"q": question}).scalar())


def test_numbers_read_at_the_reservation_are_those_of_another_process(kept: Kept) -> None:
    ledger, paying = paid_before(kept), frozenset(UNITS[:10]) - set(UNITS[3:5])
    assert ledger.reserve("q", 0, of(0.5), UNITS[:10]) == paying
    ledger.settle("q", 0, of(0.25))
    assert ledger.reserve("r", 0, of(0.5), UNITS[:10]) == paying
    kept().settle("r", 0, of(0.25))
    assert form(ledger, "q") == form(ledger, "r")
    assert kept().payers("q", 0) == paying


def settled_by_another_part(kept: Kept) -> frozenset[bytes]:
    """Return the payers of a part that a process settles after it reserved another one."""
    ledger, other = paid_before(kept), kept()
    ledger.reserve("q", 0, of(0.1), UNITS[:3])
    other.settle("q", 0, of(0.1))
    other.reserve("r", 0, of(0.1), UNITS[5:8])
    ledger.settle("r", 0, of(0.1))
    return frozenset(kept().payers("r", 0))


def test_numbers_of_another_part_are_not_used(kept: Kept) -> None:
    assert settled_by_another_part(kept) == frozenset(UNITS[5:8])


@QUICK
@given(st.lists(st.lists(st.sampled_from(b"\0\1\x7f\x80\xff"), min_size=16, max_size=16).map(bytes), max_size=20))
def test_keys_are_joined_in_order_each_once(units: list[bytes]) -> None:
    keys = joined([*units, *units[:3]])
    assert keys == b"".join(sorted(set(units)))
    assert split(keys) == sorted(set(units))


DAMAGE = {
    "the number of payers": "update part set packed = :form where question = 'q'",
    "the form is a text": "update part set packed = 'abcdefghijkl' where question = 'q'",
    "the form is gone": "update part set packed = null where question = 'q'",
    "a unit": "delete from unit where key = (select key from unit order by key limit 1)",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_noticed_at_the_opening(kept: Kept, damage: str) -> None:
    ledger = kept(BUDGET)
    ledger.reserve("q", 0, of(0.5), UNITS[:5])
    ledger.settle("q", 0, of(0.5))
    with ledger._writing() as connection:
        connection.execute(text(DAMAGE[damage]), {"form": pack(np.arange(1, 5))} if ":form" in DAMAGE[damage] else {})
    with pytest.raises(LedgerError, match="corrupt"):
        kept()


def test_damaged_form_names_no_payers(kept: Kept) -> None:
    ledger = kept(BUDGET)
    ledger.reserve("q", 0, of(0.5), UNITS[:5])
    ledger.settle("q", 0, of(0.5))
    form = bytearray(pack(np.arange(1, 6)))
    form[9] = 7
    with ledger._writing() as connection:
        connection.execute(text("update part set packed = :form"), {"form": bytes(form)})
    with pytest.raises(LedgerError, match="corrupt"):
        ledger.payers("q", 0)
    with pytest.raises(LedgerError, match="corrupt"):
        ledger.questions_of(UNITS[1])


def test_kill_at_any_time_leaves_the_form(kept: Kept, tmp_path: Path) -> None:
    ledger = kept(Budget(1e5, 1e-5))
    ledger.reserve("all", 0, of(0.01), UNITS)
    ledger.settle("all", 0, of(0.01))
    choose = random.Random(3)

    def work() -> None:
        mine, own = kept(), random.Random(os.getpid())
        for part in range(10_000):
            mine.reserve(f"q{os.getpid()}", part, of(0.02), own.sample(UNITS, 8))
            mine.settle(f"q{os.getpid()}", part, of(0.01))

    for _ in range(8):
        child = fork(work)
        time.sleep(choose.uniform(0.05, 0.3))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        found = kept()  # its sums agree
        with found._reading() as connection:
            rows = connection.execute(text("select question, part, spent_nano, payers, packed from part")).all()
        for row in rows:
            assert row.packed is not None
            assert not row.payers
    owed = Counter[bytes]()
    for row in rows:
        for unit in found.payers(row.question, row.part) or ():
            owed[unit] += 10**7 if row.spent_nano is not None else 2 * 10**7
    had = Counter[int]()
    for state, count in found.unit_balances():
        had[state.pure] += count
    assert Counter(owed.values()) == had


def balances(ledger: Any) -> dict[bytes, FilterState]:
    return {unit: ledger.balance(unit) for unit in UNITS}
