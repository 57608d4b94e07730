"""The bound on units that cannot pay holds for all of them, and follows from public numbers alone."""

import random
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

from discreet.privacy.accounting import Budget, FilterState, Spending
from discreet.privacy.costs import Cost, Pure, ZeroConcentrated
from discreet.privacy.filter import APART, MemoryLedger
from discreet.privacy.noise import SystemNoise
from discreet.privacy.transcript import MISSED, Transcript, most_payers

UNITS = [bytes([number]) * 16 for number in range(60)]
PRICES: list[Cost] = [
    *(Pure(0.5), Pure(1.0), Pure(0.3), ZeroConcentrated(0.02)),
    *(ZeroConcentrated(0.11, 1e-7), Pure(0.4, 1e-7)),
]
BUDGETS = [
    Budget(2.0, 1e-6, 5e-7),
    Budget(2.0, 1e-6, 5e-7, accountant="zcdp"),
    Budget(2.0, 1e-6, 5e-7, accountant="pure"),
]


def unable_truly(ledger: MemoryLedger, most: Spending) -> int:
    """How many units cannot pay, by the filter's own arithmetic: private."""
    common = ledger.budget.filter_state(ledger.spent()) + ledger.budget.filter_state(most)
    states = (ledger._units.get(unit, FilterState()) for unit in UNITS)
    return sum(not ledger.budget.admits_state(common + one) for one in states)


@pytest.mark.parametrize("budget", BUDGETS, ids=lambda one: one.accountant)
def test_no_more_units_than_the_bound_cannot_pay(budget: Budget) -> None:
    """Random streams: payers of any number, known or not, parts in the air, refunds, and payments of all units."""
    random.seed(5)
    tight = finite = 0
    for _ in range(120):
        ledger, air = MemoryLedger(budget), list[tuple[str, Spending, int]]()
        few = random.sample(PRICES, random.randint(1, 3))
        for number in range(random.randint(3, 30)):
            most, question = Spending.of(random.choice(few)), f"q{number}"
            if random.random() < 0.05 and ledger.affords(Spending.of(Pure(0.05))):
                ledger.reserve_all(f"all {number}", 0, Spending.of(Pure(0.05)))
            true = unable_truly(ledger, most)
            paying = ledger.reserve(question, 0, most, random.sample(UNITS, random.choice([0, 5, 20, 60])))
            bound = ledger.unable(question, 0)
            if budget.admits(ledger.spent() + most):
                assert bound is None or bound >= true
                finite += bound is not None and bound > 0
                tight += bound == true and true > 0
            air.append((question, most, len(paying)))
            while air and random.random() < 0.7:
                settled, reserved, payers = air.pop(random.randrange(len(air)))
                spent = reserved if random.random() < 0.7 else Spending.nothing()
                known = None if random.random() < 0.1 else payers + random.choice([0, 0, 3])
                ledger.settle(settled, 0, spent, (), known)
    assert finite > 100
    assert tight


@pytest.mark.parametrize("budget", BUDGETS, ids=lambda one: one.accountant)
def test_bound_holds_where_parts_have_no_common_unit(budget: Budget) -> None:
    """Each question has up to six bins of different prices: a unit is in one of them at most."""
    random.seed(6)
    smaller = positive = 0
    for _ in range(60):
        ledger, apart = MemoryLedger(budget), Transcript()
        few = random.sample(PRICES, random.randint(1, 3))
        for number in range(random.randint(5, 25)):
            question, units, air = f"q{number}", random.sample(UNITS, 60), list[tuple[int, Spending, int]]()
            for bin_ in range(random.randint(1, 6)):
                most, part = Spending.of(random.choice(few)), APART + bin_
                some, units = units[:20], units[20:]
                true, cost = unable_truly(ledger, most), budget.filter_state(most)
                paying = ledger.reserve(question, part, most, some)
                bound, whole = ledger.unable(question, part), apart.unable(budget.limit, cost)
                assert bound is None or bound >= true
                smaller += bound is not None and (whole is None or bound < whole)
                positive += bound is not None and bound > 0 and true > 0
                apart.reserve(cost)
                air.append((part, most, len(paying)))
            for part, most, payers in random.sample(air, len(air)):
                spent = most if random.random() < 0.7 else Spending.nothing()
                known = None if random.random() < 0.05 else payers + random.choice([0, 0, 3])
                ledger.settle(question, part, spent, (), known)
                apart.settle(budget.filter_state(most), budget.filter_state(spent), known)
    assert smaller > 100
    assert positive


def stream(bound: type[Transcript], payers: Sequence[int], upper: Sequence[int | None]) -> int | None:
    """The bound after a stream of equal prices; who paid is private, and only the broken twin looks."""
    found = bound()
    price = FilterState(10, 10, 0)
    for paid, most in zip(payers, upper, strict=True):
        found.reserve(price)
        found.settle(price, price, paid if isinstance(found, LooksAtPayers) else most)
    return found.unable(FilterState(35, 35, 0), price)


class LooksAtPayers(Transcript):
    """BROKEN: the true number of payers takes the place of the upper end that was released."""


@pytest.mark.parametrize("upper", [[50, 50, 50], [50, None, 45], [None, None, None]])
def test_bound_does_not_depend_on_one_unit(upper: list[int | None]) -> None:
    """One unit more pays in the second vault: what is public is the same, and so is the bound."""
    found = [stream(Transcript, payers, upper) for payers in ([40, 40, 40], [41, 41, 41])]
    assert found[0] == found[1]


def test_twin_that_looks_at_payers_is_caught() -> None:
    found = [stream(LooksAtPayers, payers, [50, 50, 50]) for payers in ([40, 40, 40], [41, 41, 41])]
    assert found == [40, 41]


def test_bound_in_numbers() -> None:
    """Of five equal questions of a quarter each, a unit that cannot pay for the next one paid four."""

    def after(*parts: tuple[int | None, int]) -> int | None:
        found = Transcript((((payers, FilterState(price, price, 0)), 1)) for payers, price in parts)
        return found.unable(FilterState(100, 100, 0), FilterState(25, 25, 0))

    assert after(*[(150, 25)] * 3) == 0
    assert after(*[(150, 25)] * 4) == 150
    assert after(*[(150, 25)] * 5) == 187  # 750 payments, four for each
    assert after(*[(150, 25)] * 4, (900, 25)) == 200  # four for each, of which one may be the large one's
    assert after(*[(150, 25)] * 3, (None, 25)) == 150
    assert after(*[(None, 25)] * 4) is None
    assert after(*[(None, 25)] * 3, (0, 80)) == 0
    assert after((10, 76)) == 10
    assert after((10, 75)) == 0


def test_bins_of_a_question_count_as_one_part() -> None:
    """Three questions with four bins of a quarter of the grant each: no unit paid four quarters."""
    found, price = Transcript(), FilterState(25, 25, 0)
    for question in "abc":
        for bin_ in range(4):
            found.reserve(price, question, APART + bin_)
        for bin_ in range(4):
            found.settle(price, price, 40, question, APART + bin_)
    assert found.paid == {(160, price): 3}
    assert found.unable(FilterState(100, 100, 0), price) == 0
    found.reserve(price, "d", APART)
    assert found.unable(FilterState(100, 100, 0), price) == 160  # all may be in the bin that is not settled
    found.settle(price, price, 40, "d", APART)
    assert found.unable(FilterState(100, 100, 0), price) == 40


def test_state_of_an_earlier_version_counts_as_paid_by_all() -> None:
    assert (
        Transcript([((None, FilterState(80, 80)), 1), ((None, FilterState(1, 1, 1)), 1)]).unable(
            FilterState(100, 100, 0), FilterState(25, 25)
        )
        is None
    )


def test_few_numbers_of_payers_are_kept_apart() -> None:
    found, price = Transcript(), FilterState(1, 1)
    for payers in range(0, 2_000_000, 997):
        found.reserve(price)
        found.settle(price, price, payers)
    kept = sorted(payers for payers, _ in found.paid if payers is not None)
    assert len(kept) < 3100
    assert all(later > earlier for earlier, later in pairwise(kept))
    assert kept[-1] >= 1_999_982


@pytest.mark.parametrize("cells", [1, 2, 30])
@pytest.mark.parametrize("gaussian", [True, False])
def test_upper_end_is_above_what_the_noise_reaches(gaussian: bool, cells: int) -> None:
    noise, deviation = SystemNoise(), 4.0
    upper = most_payers(0, deviation, gaussian, cells)
    draws: list[Any] = [
        sum(noise.gaussian(deviation) if gaussian else noise.laplace(deviation / 2**0.5) for _ in range(cells))
        for _ in range(3000)
    ]
    assert max(-one for one in draws) < upper
    assert upper < (20 if cells == 1 else 12) * deviation * cells**0.5
    assert MISSED == 1e-6
    assert most_payers(-10_000, deviation, gaussian, cells) == 0
