"""Clusters that overlap: what a unit can change, what all of them cost, and a twin that lets a unit into too many."""

from typing import Any

import numpy as np
import pytest

from discreet.errors import BudgetExhausted, DiscreetError, LedgerError, PrivateValueError
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import BoundedRange, Times, Together
from discreet.privacy.filter import MemoryLedger, PrivacyFilter
from discreet.privacy.mechanisms.counting import NoisyCount
from discreet.privacy.mechanisms.vectors import AggregatedLogits
from discreet.privacy.noise import InsecureSeededNoise
from discreet.privacy.partition import ADD_REMOVE_ONE, REPLACE_ONE, InEachCluster, filters, partition_by_cluster
from discreet.privacy.private import Private, unseal

FREELY: Any = {"name": str, "remember": lambda found: found}
UNITS = [(0, 1, 2), (2, 1), (2,), (1, 1, 0), (), (2, 0, 1, 3)]


def contents(units: list[tuple[int, ...]], overlap: int) -> list[list[tuple[int, ...]]]:
    parts = partition_by_cluster(
        Private(units, ADD_REMOVE_ONE), lambda unit: unit, 4, overlap, name=str, remember=lambda found: found
    )
    return [unseal(part, list) for part in parts]


@pytest.mark.parametrize("overlap", [1, 2, 4])
def test_a_unit_changes_its_own_clusters_and_no_more_than_it_may(overlap: int) -> None:
    whole = contents(UNITS, overlap)
    for gone, unit in enumerate(UNITS):
        without = contents(UNITS[:gone] + UNITS[gone + 1 :], overlap)
        touched = [place for place in range(4) if whole[place] != without[place]]
        assert len(touched) <= overlap
        assert set(touched) <= set(unit)
        for place in touched:
            assert len(whole[place]) == len(without[place]) + 1


def test_work_taken_up_again_puts_no_unit_into_other_clusters() -> None:
    """A unit whose documents changed in between would be drawn from in its old clusters and in its new ones."""
    kept: dict[str, list[int]] = {}

    def remember(found: dict[str, list[int]]) -> dict[str, list[int]]:
        kept.update(found if not kept else {})
        return kept

    def made(units: list[tuple[str, int]]) -> list[list[tuple[str, int]]]:
        parts = partition_by_cluster(
            Private(units, ADD_REMOVE_ONE), lambda unit: (unit[1],), 3, 1, name=lambda unit: unit[0], remember=remember
        )
        return [unseal(part, list) for part in parts]

    assert made([("ada", 0), ("bela", 1)]) == [[("ada", 0)], [("bela", 1)], []]
    assert made([("ada", 2), ("cora", 2)]) == [[("ada", 2)], [], []]  # where she was; who came later, nowhere


def test_places_that_follow_from_others_are_caught() -> None:
    """The broken twin: a unit goes where there is room. Then one that goes moves others."""

    def by_room(units: list[tuple[int, ...]]) -> list[list[tuple[int, ...]]]:
        found: list[list[tuple[int, ...]]] = [[] for _ in range(4)]
        for unit in units:
            for place in unit:
                if len(found[place]) < 2:
                    found[place].append(unit)
                    break
        return found

    whole = by_room(UNITS)
    changed = [sum(a != b for a, b in zip(whole, by_room(UNITS[:n] + UNITS[n + 1 :]), strict=True)) for n in range(6)]
    assert max(changed) > 1


def test_all_clusters_cost_overlap_times_one_and_are_paid_first() -> None:
    token = AggregatedLogits(0.1, np.zeros(3))
    each = InEachCluster("texts", ((token, 5), (NoisyCount(4.0), 1)), overlap=3)
    ledger = MemoryLedger(Budget(10.0, 1e-5))
    privacy = PrivacyFilter(ledger, ledger.budget, "q", noise=None)
    parts = partition_by_cluster(
        Private([np.zeros(3, dtype=np.int32)] * 4, ADD_REMOVE_ONE), lambda _: (0, 1, 2, 3), 5, 3, **FREELY
    )
    paid = filters(privacy, each, 5)
    assert ledger.spent() == Spending.of(
        Times(Together((Times(BoundedRange(0.2), 5), NoisyCount(4.0).cost(ADD_REMOVE_ONE))), 3)
    )
    assert privacy.receipt().charges[0].mechanism == "texts, a unit in at most 3 clusters"
    for part, own in zip(parts, paid, strict=True):
        for _ in range(5):
            own.release(token, part)
        own.release(NoisyCount(4.0), part.map(bool_of))
        with pytest.raises(BudgetExhausted):
            own.release(token, part)
    assert len(privacy.receipt().charges) == 1


def bool_of(share: object) -> bool:
    return share is not None


def test_draws_of_a_cluster_do_not_depend_on_other_clusters() -> None:
    """Nor from whether they do: the same seed gives the same, one after the other and at once."""
    count, ledger = NoisyCount(100.0), MemoryLedger(Budget(100.0, 1e-5))
    each = InEachCluster("texts", ((count, 20),), overlap=1)

    def seeded() -> PrivacyFilter:
        return PrivacyFilter(ledger, ledger.budget, "q", noise=InsecureSeededNoise(5), again=True)

    def drawn(own: list[PrivacyFilter], order: tuple[int, ...]) -> dict[int, list[int]]:
        found = {n: [own[n].release(count, Private([True], ADD_REMOVE_ONE)) for _ in range(20)] for n in order}
        return dict(sorted(found.items()))

    together = drawn(filters(seeded(), each, 3), (0, 1, 2))
    assert drawn(filters(seeded(), each, 3), (2, 0, 1)) == together
    assert drawn(filters(seeded(), each, 3), (1,))[1] == together[1]
    assert len({tuple(own) for own in together.values()}) == 3

    def sharing() -> list[PrivacyFilter]:
        """The broken twin: one source for all."""
        privacy = seeded()
        return [privacy.within(Spending.of(each.of_one(ADD_REMOVE_ONE))) for _ in range(3)]

    assert drawn(sharing(), (0, 1, 2)) != drawn(sharing(), (2, 0, 1))


def test_a_budget_that_is_too_small_pays_for_no_cluster() -> None:
    ledger = MemoryLedger(Budget(0.5, 1e-5))
    each = InEachCluster("texts", ((NoisyCount(1.0), 1),), overlap=2)
    with pytest.raises(BudgetExhausted):
        filters(PrivacyFilter(ledger, ledger.budget, "q"), each, 2)
    assert ledger.spent() == Spending.nothing()


def test_units_that_are_replaced_make_no_clusters_and_leave_none() -> None:
    with pytest.raises(DiscreetError, match="added or removed"):
        partition_by_cluster(Private([(0,)], REPLACE_ONE), lambda unit: unit, 1, 1, **FREELY)
    with pytest.raises(PrivateValueError, match="is added or removed"):
        Private([1, 2], REPLACE_ONE).keep(lambda share: share > 1)
    assert unseal(Private([1, 2, 3], ADD_REMOVE_ONE).keep(lambda share: share > 1), list) == [2, 3]
    # A share on which the test fails is left out: its text must not show as an error.
    assert unseal(Private([1, 0, 2], ADD_REMOVE_ONE).keep(lambda share: 1 / share > 0), list) == [1, 2]
    assert unseal(Private([1, 2], ADD_REMOVE_ONE).keep(lambda _: np.zeros(2)), list) == []  # type: ignore[arg-type, return-value]


def test_work_that_was_interrupted_pays_once() -> None:
    ledger = MemoryLedger(Budget(10.0, 1e-5), simulation=True)
    for again in (False, True):
        privacy = PrivacyFilter(ledger, ledger.budget, "q", noise=InsecureSeededNoise(0), again=again)
        privacy.release(NoisyCount(1.0), Private([True], ADD_REMOVE_ONE))
        assert ledger.spent() == Spending.of(NoisyCount(1.0).cost(ADD_REMOVE_ONE))
        assert len(privacy.receipt().charges) == 1
    with pytest.raises(LedgerError, match="not drawn again"):
        PrivacyFilter(ledger, ledger.budget, "q", noise=InsecureSeededNoise(0)).release(
            NoisyCount(1.0), Private([True], ADD_REMOVE_ONE)
        )
    with pytest.raises(LedgerError, match="another cost"):
        PrivacyFilter(ledger, ledger.budget, "q", noise=InsecureSeededNoise(0), again=True).release(
            NoisyCount(2.0), Private([True], ADD_REMOVE_ONE)
        )
