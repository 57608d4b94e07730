"""The check of a large ledger beside its opening: nothing is paid, and nothing reported, before it ends well."""

import gc
import os
import threading
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from discreet.errors import LedgerError
from discreet.ledger.ledger import SqliteLedger
from discreet.log import arrays, replay
from discreet.log.replay import LateCheck
from tests.guarantee.ledger.conftest import Kept, change
from tests.guarantee.ledger.test_sqlite import fork
from tests.guarantee.ledger.test_unit_faults import DAMAGE, LARGE, UNITS, of


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat every ledger as a large one."""
    monkeypatch.setattr(replay, "LARGE", 0)


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_noticed_before_the_first_payment(kept: Kept, damage: str) -> None:
    ledger = kept(LARGE)
    ledger.reserve("q", 0, of(0.5), UNITS)
    ledger.reserve("r", 0, of(0.5), UNITS[:3])
    ledger.settle("r", 0, of(0.25))
    ledger.reserve_all("s", 0, of(0.5))
    if damage == "the grant":  # which is read at once
        change(ledger, DAMAGE[damage])
        with pytest.raises(LedgerError, match="corrupt"):
            kept()
        return
    change(ledger, DAMAGE[damage])
    found = kept()
    for use in (
        lambda: found.reserve("t", 0, of(0.5), UNITS),
        lambda: found.reserve_all("t", 0, of(0.5)),
        lambda: found.settle("q", 0, of(0.5)),
        lambda: found.begin("t", "rag", None),
        lambda: found.merge([(UNITS[0], UNITS[1])]),
        found.unit_balances,
        found.questions,
        lambda: found.balance(UNITS[0]),
    ):
        with pytest.raises(LedgerError, match="corrupt"):
            use()


def test_sound_ledger_pays(kept: Kept) -> None:
    ledger = kept(LARGE)
    ledger.reserve("q", 0, of(0.5), UNITS)
    found = kept()
    assert found.spent() == ledger.spent()
    assert found.reserve("r", 0, of(0.5), UNITS[:3]) == frozenset(UNITS[:3])


def _end(end: threading.Event, check: Callable[[], object] = bool) -> None:
    end.wait()
    check()


def test_payment_waits_for_the_check(tmp_path: Path) -> None:
    ledger = SqliteLedger.create(tmp_path / "ledger.sqlite", LARGE)
    end, paid = threading.Event(), threading.Event()
    ledger.replay.check_meanwhile(lambda: _end(end))

    def pay() -> None:
        ledger.reserve("q", 0, of(0.5), UNITS)
        paid.set()

    paying = threading.Thread(target=pay)
    paying.start()
    assert not paid.wait(0.2)
    assert ledger.affords(of(0.5))  # what is public is read meanwhile
    end.set()
    paying.join()
    assert paid.is_set()


def test_public_sum_is_not_read_from_a_snapshot_that_the_check_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    SqliteLedger.create(path, LARGE).reserve_all("q", 0, of(0.5))
    SqliteLedger(path).unit_balances()  # waits for the check, which writes the snapshot
    snapshot = path.with_name("ledger.sqlite-snapshot")
    found = arrays.load(snapshot)
    assert found is not None
    header, content = found
    header["state"]["corpora"] = 7
    arrays.save(snapshot, header, content)
    ledger, end = SqliteLedger(path), threading.Event()
    ledger.replay.check_meanwhile(lambda: _end(end, partial(ledger._check, large=True)))
    assert ledger.spent()  # of the snapshot
    end.set()
    for refused in (ledger.unit_balances, ledger.spent, lambda: ledger.affords(of(0.5)), ledger.reached):
        with pytest.raises(LedgerError, match="differs from the ledger"):
            refused()


def test_child_knows_the_result(kept: Kept) -> None:
    kept(LARGE).reserve("q", 0, of(0.5), UNITS)
    ledger = kept()
    child = fork(lambda: ledger.reserve("r", 0, of(0.5), UNITS[:3]))
    assert os.waitpid(child, 0)[1] == 0
    assert kept().payers("r", 0) == frozenset(UNITS[:3])


def test_ledger_that_was_checked_goes_with_its_connections(kept: Kept) -> None:
    """At once: a server has few connections, and cycles are collected late."""
    ledger = kept(LARGE)
    ledger.unit_balances()  # waits for the check
    gone = weakref.ref(ledger.place)
    gc.disable()
    try:
        del ledger
        assert gone() is None
    finally:
        gc.enable()


def test_check_that_cannot_be_made_refuses() -> None:
    def fail() -> None:
        raise OSError("a private name")

    with pytest.raises(LedgerError, match="could not be checked") as error:
        LateCheck(fail).wait()
    assert "private" not in str(error.value)
