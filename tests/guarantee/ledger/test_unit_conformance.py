"""What every ledger of single units in a database does, and broken twins of it."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.errors import LedgerError
from discreet.ledger.balances import Units, join_keys
from discreet.ledger.ledger import PostgresLedger, SqliteLedger
from discreet.privacy.accounting import Budget, FilterState, Spending
from discreet.privacy.costs import Pure
from discreet.privacy.filter import Charge
from tests.guarantee.ledger.suite import BUDGETS, CHANGE, UNITS, Step, check_others, of


@pytest.fixture(params=["sqlite", "postgres"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def kept(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Any]:
    """Makes a ledger of a class derived from the real one by `mix`, or opens one again."""

    def ledger(mix: type | None = None, budget: Budget = BUDGETS["pure"], found: bool = False) -> Any:
        base: Any = SqliteLedger if kind == "sqlite" else PostgresLedger
        made: Any = type("Mixed", (mix, base), {}) if mix else base
        if kind == "sqlite":
            path = tmp_path / "ledger.sqlite"
            return made(path) if found else made.create(path, budget)
        url, name = request.getfixturevalue("url"), request.getfixturevalue("name")
        return made(url, name) if found else made.create(url, name, budget)

    return ledger


def test_name_has_sixteen_bytes(kept: Callable[..., Any]) -> None:
    ledger = kept()
    for wrong in (b"", b"short", b"x" * 17, "sixteen letters."):
        with pytest.raises(LedgerError, match="16 bytes are expected"):
            ledger.reserve("q", 0, of(0.1), [UNITS[0], wrong])
    assert ledger.unit_balances() == []


def test_question_shows_what_its_parts_paid(kept: Callable[..., Any]) -> None:
    ledger = kept()
    paid = [Charge("q", number, "test", CHANGE, Pure(0.25)) for number in range(2)]
    for question in "qrs":
        ledger.begin(question, "mu-rag", None)
    ledger.charge(Charge("q", 5, "test", CHANGE, Pure(0.125)))
    ledger.reserve("q", 0, of(1.0), UNITS)
    ledger.settle("q", 0, of(0.5), paid)
    ledger.reserve_all("r", 0, of(0.75))
    found = {record.id: record for record in kept(found=True).questions()}
    assert list(found) == ["q", "r", "s"]
    assert (found["q"].charges, found["r"].charges, found["s"].charges) == (3, 0, 0)
    assert found["q"].spending == of(0.5) + of(0.125)
    assert found["r"].epsilon == pytest.approx(0.75)
    assert (found["s"].epsilon, found["s"].spending) == (0.0, Spending.nothing())


@pytest.mark.parametrize("paying", [UNITS[:3], UNITS[1:4], []])
def test_how_many_cannot_pay_is_a_bound_of_public_numbers(kept: Callable[..., Any], paying: list[bytes]) -> None:
    """It is the same whoever paid, and after a reopening and a closing; parts in the air may be those of all units."""
    ledger = kept()
    for part in range(3):
        ledger.reserve("q", part, of(0.9), paying)
        ledger.settle("q", part, of(0.9), (), 5)
    ledger.reserve("r", 0, of(0.5), UNITS)
    assert ledger.unable("r", 0) == 5  # each took part in all three
    assert ledger.unable("r", 0) is None  # it is said once

    def check(found: Any) -> None:
        assert found.unable_now(of(0.1)) == 5
        assert found.unable_now(of(0.4)) == 6  # 2.7 of 3 are too much, of which the part in the air has 0.5
        assert found.unable_now(of(2.6)) is None

    check(ledger)
    check(kept(found=True))
    ledger.close_log(keep=False)
    check(ledger)
    check(kept(found=True))


def test_many_units_pay_in_one_reservation(kept: Callable[..., Any]) -> None:
    ledger, many = kept(), [number.to_bytes(16, "big") for number in range(2500)]
    assert ledger.reserve("q", 0, of(2.0), many) == frozenset(many)
    assert ledger.reserve("q", 1, of(2.0), [*many, UNITS[1]]) == {UNITS[1]}
    assert ledger.reserve_all("q", 2, of(2.0)) == {*many, UNITS[1]}
    ledger.settle("q", 0, of(0.5))
    assert sorted(ledger.unit_balances(), key=lambda reading: reading[1])[1] == (
        ledger.budget.filter_state(of(0.5)),
        2500,
    )
    kept(found=True)


class Watched:
    """Lets a rival try to pay between the look at the balances and the payment."""

    meanwhile: Callable[[], None] = staticmethod(lambda: None)

    def _admit(self, state: Units, common: FilterState, numbers: Any) -> Any:
        able = super()._admit(state, common, numbers)  # type: ignore[misc]
        self.meanwhile()
        return able


class LooksFirst(Watched):
    """A broken twin: looks at the balances before it is alone with them."""

    able: Any = None

    def reserve(self, question: str, part: int, most: Spending, units: Sequence[bytes]) -> frozenset[bytes]:
        with self.reading() as found:  # type: ignore[attr-defined]
            numbers = found.state.find(join_keys(units))
            self.able = super()._admit(found.state, self.budget.filter_state(most), numbers)  # type: ignore[attr-defined]
        return frozenset(super().reserve(question, part, most, units))  # type: ignore[misc]

    def _admit(self, state: Units, common: FilterState, numbers: Any) -> Any:
        assert self.able is not None
        return self.able


class ByRank:
    """A broken twin: only the first two of those that can pay do."""

    def _admit(self, state: Units, common: FilterState, numbers: Any) -> Any:
        able = super()._admit(state, common, numbers)  # type: ignore[misc]
        return able & (np.cumsum(able) <= 2)


def rivals(kept: Callable[..., Any], mix: type, patience: float = 0.5) -> int:
    """How often the last of a unit's budget is paid, if a rival comes between the look and the payment."""
    first = kept()
    first.reserve("before", 0, of(0.5), UNITS[:1])  # later payments change one row
    first.settle("before", 0, of(0.5))
    ledger, rival = kept(mix, found=True), kept(found=True)
    paid: list[frozenset[bytes]] = []
    thread = threading.Thread(target=lambda: paid.append(rival.reserve("r", 0, of(2.0), UNITS[:1])))

    def meanwhile() -> None:
        thread.start()
        thread.join(patience)

    ledger.meanwhile = meanwhile
    paid.append(ledger.reserve("q", 0, of(2.0), UNITS[:1]))
    thread.join()
    return sum(len(units) for units in paid)


def test_rival_waits_until_the_payment_is_made(kept: Callable[..., Any]) -> None:
    assert rivals(kept, Watched) == 1


def test_ledger_that_looks_before_it_is_alone_is_caught(kept: Callable[..., Any]) -> None:
    assert rivals(kept, LooksFirst, patience=5) == 2


def test_ledger_that_pays_by_rank_is_caught(kept: Callable[..., Any], tmp_path: Path) -> None:
    three: list[Step] = [("reserve", 0, 1, frozenset({0, 1, 2}))]
    check_others(kept(), SqliteLedger.create(tmp_path / "without.sqlite", BUDGETS["pure"]), three, 0)
    with pytest.raises(AssertionError):
        check_others(kept_by_rank(tmp_path / "one"), kept_by_rank(tmp_path / "other"), three, 0)


def kept_by_rank(path: Path) -> Any:
    twin: Any = type("Twin", (ByRank, SqliteLedger), {})
    return twin.create(path, BUDGETS["pure"])
