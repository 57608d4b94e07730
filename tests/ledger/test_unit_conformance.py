"""What every ledger of single units promises, on each that there is; the one in memory is the reference."""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection

from discreet.errors import BudgetExhausted, LedgerError
from discreet.ledger.postgres import PostgresLedger
from discreet.ledger.sqlite import SqliteLedger
from discreet.privacy.accounting import Accountant, Budget, Meter, Spending
from discreet.privacy.change import Change, Relation
from discreet.privacy.costs import BoundedRange, Cost, NonPrivate, Pure, ZeroConcentrated
from discreet.privacy.ledger import Charge, MemoryLedger, UnitLedger

CHANGE = Change(1, Relation.REPLACE)
# Any bytes are a name: zeros, quotes, what is no text.
UNITS = [bytes(16), b"\xff" * 16, b"'; drop table un", b"\x00" * 15 + b"\x01", b"%(keys)s :curve?"]
# Small and large, that can fail, that have no bound at order infinity, that nobody can pay.
COSTS: list[Cost] = [
    Pure(0.0),
    Pure(0.4),
    BoundedRange(0.7, 1e-7),
    BoundedRange(1.6, 4e-7),
    ZeroConcentrated(0.01),
    ZeroConcentrated(0.04, 1e-7),
    NonPrivate(),
]
MANY: Sequence[Accountant] = ("renyi", "zcdp", "pure")
BUDGETS = {accountant: Budget(3.0, 1e-5, 1e-6, accountant=accountant) for accountant in MANY}
Make = Callable[[Budget], UnitLedger]
Step = tuple[str, int, int, frozenset[int]]


def of(epsilon: float) -> Spending:
    return Spending.of(Pure(epsilon))


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    numbers = iter(range(10_000))
    if request.param == "memory":
        return lambda budget: MemoryLedger(budget)
    if request.param == "sqlite":
        return lambda budget: SqliteLedger.create(tmp_path / f"{next(numbers)}.sqlite", budget)
    url, name = request.getfixturevalue("url"), request.getfixturevalue("name")
    return lambda budget: PostgresLedger.create(url, f"{name}{next(numbers):x}", budget)


@pytest.fixture
def again(request: pytest.FixtureRequest) -> Callable[[UnitLedger], UnitLedger]:
    """The same ledger, opened (and checked) anew, as after a crash."""

    def reopen(ledger: UnitLedger) -> UnitLedger:
        if isinstance(ledger, SqliteLedger):
            return SqliteLedger.open(ledger.path)
        if isinstance(ledger, PostgresLedger):
            return PostgresLedger.open(request.getfixturevalue("url"), ledger.name)
        return ledger

    return reopen


def outcome(ledger: UnitLedger, step: Step, units: Sequence[bytes] = UNITS) -> object:
    """What one step does: the set it returns, or the kind of its refusal."""
    what, place, cost, chosen = step
    question, part, spending = f"q{place // 2}", place % 2, Spending.of(COSTS[cost])
    try:
        if what == "reserve":
            return ledger.reserve(question, part, spending, [units[index] for index in sorted(chosen)])
        if what == "all":
            return ledger.reserve_all(question, part, spending)
        if what == "settle":
            ledger.settle(question, part, spending)
            return None
        return ledger.charge(Charge(question, part, "test", CHANGE, COSTS[cost]))
    except (BudgetExhausted, LedgerError) as error:
        return type(error), str(error)


places, groups = st.integers(0, 4), st.frozensets(st.integers(0, len(UNITS) - 1))
steps = st.lists(
    st.one_of(
        st.tuples(st.just("reserve"), places, st.integers(0, len(COSTS) - 1), groups),
        st.tuples(st.sampled_from(["reserve", "all", "charge"]), places, st.integers(0, len(COSTS) - 1), groups),
        st.tuples(st.just("settle"), places, st.integers(0, 2), groups),
    ),
    min_size=5,
    max_size=20,
)
some = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@some
@given(steps, st.sampled_from(MANY))
def test_every_interleaving_does_what_the_reference_does(
    make: Make, again: Callable[[UnitLedger], UnitLedger], taken: list[Step], accountant: Accountant
) -> None:
    ledger, reference = make(BUDGETS[accountant]), MemoryLedger(BUDGETS[accountant])
    for step in taken:
        assert outcome(ledger, step) == outcome(reference, step)
        assert ledger.spent() == reference.spent()
    for found in (ledger, again(ledger)):
        assert found.spent() == reference.spent()
        assert Counter(dict(found.readings())) == Counter(dict(reference.readings()))


@some
@given(steps, st.sampled_from(MANY), st.integers(0, len(UNITS) - 1))
def test_a_unit_makes_no_difference_to_the_others(
    make: Make, taken: list[Step], accountant: Accountant, left_out: int
) -> None:
    check_others(make(BUDGETS[accountant]), make(BUDGETS[accountant]), taken, left_out)


def check_others(with_it: UnitLedger, without: UnitLedger, taken: list[Step], left_out: int) -> None:
    """All that happens to the other units, and all that is public, is the same without one unit."""
    for what, place, cost, chosen in taken:
        one = outcome(with_it, (what, place, cost, chosen))
        other = outcome(without, (what, place, cost, chosen - {left_out}))
        if isinstance(one, frozenset):
            one = one - {UNITS[left_out]}
        assert one == other
        assert with_it.spent() == without.spent()


@some
@given(steps, st.sampled_from(MANY))
def test_nobody_ever_pays_more_than_was_granted(make: Make, taken: list[Step], accountant: Accountant) -> None:
    """What a unit takes part in, as it was settled, fits into the budget at every moment."""
    budget = BUDGETS[accountant]
    ledger, paid = make(budget), dict[tuple[int, bytes], Spending]()
    for step in taken:
        what, place, cost, chosen = step
        found = outcome(ledger, step)
        if found is True:  # charged to everybody, which is refused once a unit was asked to pay by itself
            paid |= {(1000 + place, unit): Spending.of(COSTS[cost]) for unit in UNITS}
        if isinstance(found, frozenset):
            everyone = {UNITS[index] for index in chosen} if what == "reserve" else set(UNITS)
            part = everyone & found if what == "reserve" else everyone - found
            paid |= {(place, unit): Spending.of(COSTS[cost]) for unit in part}
        if what == "settle" and found is None:
            paid |= {key: Spending.of(COSTS[cost]) for key in paid if key[0] == place}
        for unit in UNITS:
            assert budget.admits(sum((sums for (_, payer), sums in paid.items() if payer == unit), Spending.nothing()))


def test_everybody_is_not_charged_without_asking_once_units_pay_by_themselves(make: Make) -> None:
    """A vault that is converted while another process still answers the old way; refused even if nobody could pay."""
    ledger = make(BUDGETS["pure"])
    assert ledger.charge(Charge("old", 0, "test", CHANGE, Pure(0.1)))
    ledger.reserve("q", 0, of(0.1), [])
    before = ledger.spent()
    with pytest.raises(LedgerError, match="Units pay by themselves"):
        ledger.charge(Charge("old", 1, "test", CHANGE, Pure(0.1)))
    assert ledger.spent() == before


def test_only_those_pay_that_take_part(make: Make) -> None:
    ledger = make(BUDGETS["pure"])
    assert ledger.reserve("q", 0, of(2.0), UNITS[:2]) == frozenset(UNITS[:2])
    assert ledger.reserve("q", 1, of(2.0), UNITS[1:4]) == frozenset(UNITS[2:4])
    assert ledger.spent() == Spending.nothing()
    assert ledger.readings() == [(ledger.budget.meter(of(2.0)), 4)]


def test_what_was_not_spent_is_returned_once(make: Make) -> None:
    ledger = make(BUDGETS["pure"])
    ledger.reserve("q", 0, of(3.0), UNITS[:2])
    for _ in range(3):
        ledger.settle("q", 0, of(1.0))
    assert ledger.readings() == [(ledger.budget.meter(of(1.0)), 2)]
    with pytest.raises(LedgerError, match="another sum"):
        ledger.settle("q", 0, of(0.5))
    with pytest.raises(LedgerError, match="never reserved"):
        ledger.settle("q", 1, of(0.5))
    ledger.reserve("q", 1, of(1.0), UNITS)
    with pytest.raises(LedgerError, match="More was spent"):
        ledger.settle("q", 1, of(1.5))


def test_a_part_is_reserved_once(make: Make) -> None:
    ledger = make(BUDGETS["pure"])
    ledger.reserve("q", 0, of(0.5), UNITS)
    ledger.reserve_all("q", 1, of(0.5))
    before = ledger.readings(), ledger.spent()
    for part in (0, 1):
        with pytest.raises(LedgerError, match="reserved before"):
            ledger.reserve("q", part, of(0.5), UNITS)
        with pytest.raises(LedgerError, match="reserved before"):
            ledger.reserve_all("q", part, of(0.5))
    assert (ledger.readings(), ledger.spent()) == before


def test_a_unit_that_is_named_twice_pays_once_for_a_part_and_again_for_the_next(make: Make) -> None:
    ledger = make(BUDGETS["pure"])
    assert ledger.reserve("q", 0, of(1.0), [UNITS[0], UNITS[0]]) == {UNITS[0]}
    assert ledger.readings() == [(ledger.budget.meter(of(1.0)), 1)]
    assert ledger.reserve("q", 1, of(1.0), [UNITS[0]]) == {UNITS[0]}
    assert ledger.readings() == [(ledger.budget.meter(of(1.0)) + ledger.budget.meter(of(1.0)), 1)]


def test_a_reservation_that_was_never_settled_counts_as_spent(
    make: Make, again: Callable[[UnitLedger], UnitLedger]
) -> None:
    ledger = make(BUDGETS["pure"])
    ledger.reserve("q", 0, of(2.0), UNITS[:1])
    ledger.reserve_all("q", 1, of(0.5))
    found = again(ledger)
    assert found.spent() == of(0.5)
    assert found.reserve("r", 0, of(1.0), UNITS[:2]) == {UNITS[1]}
    assert found.reserve_all("r", 1, of(1.0)) == {UNITS[0]}


def test_everybody_pays_those_too_who_join_later(make: Make) -> None:
    ledger = make(BUDGETS["pure"])
    ledger.reserve("q", 0, of(1.5), UNITS[:1])
    assert ledger.reserve_all("q", 1, of(2.0)) == {UNITS[0]}
    assert ledger.reserve("q", 2, of(1.5), UNITS) == frozenset()
    ledger.settle("q", 1, of(0.5))
    assert ledger.reserve("q", 3, of(1.5), UNITS) == frozenset(UNITS[1:])
    with pytest.raises(BudgetExhausted) as refusal:
        ledger.reserve_all("q", 4, of(2.6))
    assert refusal.value.left == pytest.approx(2.5)


def test_nobody_pays_for_what_nobody_can_pay(make: Make) -> None:
    ledger = make(BUDGETS["renyi"])
    assert ledger.reserve("q", 0, Spending.of(NonPrivate()), UNITS) == frozenset()
    assert ledger.reserve("q", 1, of(0.1), []) == frozenset()
    assert ledger.readings() == []
    with pytest.raises(BudgetExhausted):
        ledger.reserve_all("q", 2, Spending.of(NonPrivate()))


def test_an_unbounded_reading_stays_so(make: Make) -> None:
    """Two payments without bound at order infinity, one returned: the other still has no bound."""
    ledger = make(Budget(3.0, 1e-5))
    for part in (0, 1):
        ledger.reserve("q", part, Spending.of(ZeroConcentrated(0.01)), UNITS[:1])
        ledger.reserve_all("q", 10 + part, Spending.of(ZeroConcentrated(0.001)))
    unbounded = ledger.budget.meter(Spending.of(ZeroConcentrated(0.01))).pure
    for part in (0, 1):
        ledger.settle("q", part, Spending.nothing())
        ledger.settle("q", 10 + part, Spending.nothing())
        assert [reading.pure for reading, _ in ledger.readings()] == [unbounded]
        assert ledger.spent().nano[-1] == unbounded
    assert ledger.spent().nano[0] == 0


def test_readings_may_be_as_large_as_readings_get(make: Make) -> None:
    ledger = make(Budget(1e6, 0.5, 0.25))
    paying = [ledger.reserve("q", part, of(4e5), UNITS) for part in range(3)]
    assert paying == [frozenset(UNITS), frozenset(UNITS), frozenset()]
    cost = ledger.budget.meter(of(4e5))
    assert ledger.readings() == [(cost + cost, len(UNITS))]


# --- those in a database


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
            return made.open(path) if found else made.create(path, budget)
        url, name = request.getfixturevalue("url"), request.getfixturevalue("name")
        return made.open(url, name) if found else made.create(url, name, budget)

    return ledger


def test_a_name_has_sixteen_bytes(kept: Callable[..., Any]) -> None:
    ledger = kept()
    for wrong in (b"", b"short", b"x" * 17, "sixteen letters."):
        with pytest.raises(LedgerError, match="exactly 16 bytes"):
            ledger.reserve("q", 0, of(0.1), [UNITS[0], wrong])
    assert ledger.readings() == []


def test_a_question_shows_what_its_parts_paid(kept: Callable[..., Any]) -> None:
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


def test_many_units_pay_in_one_reservation(kept: Callable[..., Any]) -> None:
    ledger, many = kept(), [number.to_bytes(16, "big") for number in range(2500)]
    assert ledger.reserve("q", 0, of(2.0), many) == frozenset(many)
    assert ledger.reserve("q", 1, of(2.0), [*many, UNITS[1]]) == {UNITS[1]}
    assert ledger.reserve_all("q", 2, of(2.0)) == {*many, UNITS[1]}
    ledger.settle("q", 0, of(0.5))
    assert sorted(ledger.readings(), key=lambda reading: reading[1])[1] == (ledger.budget.meter(of(0.5)), 2500)
    kept(found=True)


class Watched:
    """Lets a rival try to pay between the look at the balances and the payment."""

    meanwhile: Callable[[], None] = staticmethod(lambda: None)

    def _admitted(self, connection: Connection, everybody: Meter, units: list[bytes]) -> list[bytes]:
        admitted: list[bytes] = super()._admitted(connection, everybody, units)  # type: ignore[misc]
        self.meanwhile()
        return admitted


class LooksFirst(Watched):
    """A broken twin: looks at the balances before it is alone with them."""

    found: list[bytes] | None = None

    def reserve(self, question: str, part: int, most: Spending, units: Sequence[bytes]) -> frozenset[bytes]:
        with self._reading() as connection:  # type: ignore[attr-defined]
            self.found = super()._admitted(connection, self.budget.meter(most), sorted(units))  # type: ignore[attr-defined]
        return frozenset(super().reserve(question, part, most, units))  # type: ignore[misc]

    def _admitted(self, connection: Connection, everybody: Meter, units: list[bytes]) -> list[bytes]:
        assert self.found is not None
        return self.found


class ByRank:
    """A broken twin: only the first two of those that can pay do."""

    def _admitted(self, connection: Connection, everybody: Meter, units: list[bytes]) -> list[bytes]:
        return list(super()._admitted(connection, everybody, units))[:2]  # type: ignore[misc]


def rivals(kept: Callable[..., Any], mix: type, patience: float = 0.5) -> int:
    """How often the last of a unit's budget is paid, if a rival comes between the look and the payment."""
    ledger, rival = kept(mix), kept(found=True)
    paid: list[frozenset[bytes]] = []
    thread = threading.Thread(target=lambda: paid.append(rival.reserve("r", 0, of(2.0), UNITS[:1])))

    def meanwhile() -> None:
        thread.start()
        thread.join(patience)

    ledger.meanwhile = meanwhile
    paid.append(ledger.reserve("q", 0, of(2.0), UNITS[:1]))
    thread.join()
    return sum(len(units) for units in paid)


def test_a_rival_waits_until_the_payment_is_made(kept: Callable[..., Any]) -> None:
    assert rivals(kept, Watched) == 1


def test_a_ledger_that_looks_before_it_is_alone_is_caught(kept: Callable[..., Any]) -> None:
    assert rivals(kept, LooksFirst, patience=5) == 2


def test_a_ledger_that_pays_by_rank_is_caught(kept: Callable[..., Any], tmp_path: Path) -> None:
    three: list[Step] = [("reserve", 0, 1, frozenset({0, 1, 2}))]
    check_others(kept(), SqliteLedger.create(tmp_path / "without.sqlite", BUDGETS["pure"]), three, 0)
    with pytest.raises(AssertionError):
        check_others(kept_by_rank(tmp_path / "one"), kept_by_rank(tmp_path / "other"), three, 0)


def kept_by_rank(path: Path) -> Any:
    twin: Any = type("Twin", (ByRank, SqliteLedger), {})
    return twin.create(path, BUDGETS["pure"])
