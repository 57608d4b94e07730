"""Themes: from the store to the table. What one unit changes, who pays, the exact law on neighbouring vaults, twins."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest

from discreet.algorithms.base import GeneratedAnswer, Query
from discreet.errors import UsageError
from discreet.models.completer import NO_MODEL
from discreet.privacy.account import UnitAccount
from discreet.privacy.accounting import Budget
from discreet.privacy.costs import Pure
from discreet.privacy.filter import MemoryLedger
from discreet.privacy.mechanisms.counting import NoisyHistogram
from discreet.privacy.noise import Noise
from discreet.statistics import themes as themes_module
from discreet.statistics.cells import choose_tables
from discreet.statistics.conditions import where
from discreet.statistics.themes import Themes
from discreet.store import unit_records
from discreet.store.documents import Document
from discreet.store.embedded_store import EmbeddedStore
from discreet.store.embedding import HashingEmbedder
from discreet.store.sealed_corpus import SealedCorpus
from discreet.store.unit_records import StoredUnit, TextStatement, UnitRecords
from tests.exact import paths
from tests.guarantee.privacy.test_tables import NoNoise
from tests.indexing import indexer

SECRET = b"s" * 32
VALUES, WARDS = ("cough", "rash", "fever", "chills"), ("north", "south")
BUDGET = Budget(20.0, 1e-6, 5e-7)


class WordCodes:
    """Codes by the words of a text: a value is stated by its name. A text that says "new" was not coded."""

    version = 1
    kinds = frozenset({"complaint"})

    def load(self) -> "WordCodes":
        return self

    def covers(self, unit: str, text: str) -> bool:
        return "new" not in text

    def of(self, unit: str, text: str) -> list[TextStatement]:
        return [TextStatement("complaint", one) for one in VALUES if one in text]

    def coded(self, unit: str, text: str) -> dict[str, tuple[str, ...]] | None:
        return {"complaint": tuple(one.value for one in self.of(unit, text))} if self.covers(unit, text) else None


Note = tuple[str, dict[str, str | float]]


def in_ward(ward: str, day: str) -> dict[str, str | float]:
    return {"ward": ward, "day": day}


PEOPLE: dict[str, list[Note]] = {
    "plain": [("cough", {})],
    "coded in two notes": [("cough", in_ward("north", "2026-01-05")), ("rash", in_ward("south", "2026-02-07"))],
    "with all values": [("cough rash fever chills", in_ward("north", "2026-03-01"))],
    "in each month": [(one, in_ward("south", f"2026-0{n}-02")) for n, one in enumerate(VALUES, 1)],
    "partly coded": [("cough", in_ward("north", "2026-01-09")), ("new rash", in_ward("south", "2026-02-09"))],
    "without a value": [("well", in_ward("north", "2026-01-09"))],
    "not coded": [("new cough", in_ward("north", "2026-01-09"))],
}
PERIODS = {"by": "month", "date_field": "day", "since": "2026-01", "until": "2026-04"}
PLAIN = Themes(attribute="complaint", values=VALUES, each=2)
BY_WARD = replace(PLAIN, by="ward", groups=WARDS)
STATISTICS = (
    PLAIN,
    replace(PLAIN, each=1),
    BY_WARD,
    replace(BY_WARD, spread=2, each=3),
    replace(PLAIN, **PERIODS, spread=2),  # type: ignore[arg-type]
    replace(PLAIN, by="complaint", groups=VALUES, spread=2),
    replace(PLAIN, population="ward = north"),
    replace(PLAIN, population="not complaint = rash"),
    replace(BY_WARD, population='complaint = rash or "well"', where=("day >= 2026-01-06",)),
)


def corpus_of(folder: Path, people: dict[str, list[Note]]) -> SealedCorpus:
    store = EmbeddedStore(folder, HashingEmbedder.dimension)
    corpus = SealedCorpus(store, HashingEmbedder(), SECRET, UnitRecords(store, None, WordCodes()))
    notes = [(unit, n, *note) for unit, own in people.items() for n, note in enumerate(own)]
    indexer(corpus).index([Document(f"{unit} {n}", unit, text, fields=own) for unit, n, text, own in notes])
    return corpus


def answer(
    corpus: SealedCorpus, statistic: Themes, budget: Budget = BUDGET, noise: Noise | None = None
) -> tuple[GeneratedAnswer, MemoryLedger]:
    ledger = MemoryLedger(budget, simulation=True)
    account = UnitAccount(ledger, "q", noise=noise or NoNoise(0))
    found = statistic.run(Query("q"), corpus, NO_MODEL, account)
    account.settle()
    return found, ledger


def cells_of(folder: Path, units: Iterable[str]) -> list[Counter[str]]:
    """The true counts of each statistic over a vault of these units: of the cells, of the groups, and of the payers."""
    corpus, found = corpus_of(folder, {unit: PEOPLE[unit] for unit in units}), []
    for statistic in STATISTICS:
        answered, ledger = answer(corpus, statistic)
        counts = {one.name: round(one.value) for one in answered.table if one.kind == "count"}
        counts["payers"] = sum(number for _, number in ledger.unit_balances())
        found.append(+Counter(counts))
    return found


def check_each_unit_adds_its_own_cells(folder: Path) -> None:
    """For all vaults of these units: the counts are the sums of what each unit has alone, K cells and G groups."""
    alone = {unit: cells_of(folder / unit, [unit]) for unit in PEOPLE}
    for each in alone.values():
        for statistic, counts in zip(STATISTICS, each, strict=True):
            assert set(counts.values()) <= {1}
            groups = [name for name in counts if name.split(": ")[-1] == "of"]
            cells = counts.keys() - {*groups, "payers"}
            assert len(cells) <= statistic._cells[1]
            assert len(groups) <= statistic._sizes[1]
            assert bool(groups) == ("payers" in counts)  # who has no influence does not pay
    for size in (2, 3, len(PEOPLE)):
        for units in combinations(PEOPLE, size):
            sums: list[Counter[str]] = [
                sum(one, Counter()) for one in zip(*(alone[unit] for unit in units), strict=True)
            ]
            assert cells_of(folder / "-".join(units), units) == sums, units


def test_each_unit_adds_its_own_cells(tmp_path: Path) -> None:
    check_each_unit_adds_its_own_cells(tmp_path)


def test_what_single_units_add(tmp_path: Path) -> None:
    alone = {unit: dict(zip(STATISTICS, cells_of(tmp_path / unit, [unit]), strict=True)) for unit in PEOPLE}
    assert alone["plain"][PLAIN] == Counter(["cough", "of", "payers"])
    assert alone["coded in two notes"][PLAIN] == Counter(["cough", "rash", "of", "payers"])
    assert alone["without a value"][PLAIN] == Counter(["of", "payers"])
    assert all(not counts for counts in alone["not coded"].values())  # until the next coding, nothing of it counts
    assert alone["plain"][BY_WARD] == Counter()
    both = alone["coded in two notes"][STATISTICS[3]]
    assert both == Counter(["north: cough", "north: of", "south: rash", "south: of", "payers"])
    assert alone["partly coded"][STATISTICS[3]] == Counter(["north: cough", "north: of", "payers"])
    assert len(alone["with all values"][PLAIN]) == len(alone["in each month"][PLAIN]) == 2 + 2  # two of four values
    assert alone["coded in two notes"][STATISTICS[6]] == Counter(["cough", "of", "payers"])  # what the north says
    assert alone["coded in two notes"][STATISTICS[7]] == Counter()


def test_which_values_of_a_unit_count_follows_from_the_unit_alone(tmp_path: Path) -> None:
    """Of too many values, a sample counts. It differs between units, and does not depend on other units."""
    many = {f"u{n}": PEOPLE["with all values"] for n in range(24)}
    whole = answer(corpus_of(tmp_path / "all", many), PLAIN)[0]
    counts = {one.name: round(one.value) for one in whole.table if one.kind == "count"}
    assert counts.pop("of") == 24
    assert sum(counts.values()) == 48
    assert min(counts.values()) > 0  # a sample by the alphabet would never have the last one
    alone = Counter[str]()
    for unit, own in many.items():
        found = answer(corpus_of(tmp_path / unit, {unit: own}), PLAIN)[0]
        alone.update(one.name for one in found.table if one.kind == "count" and round(one.value))
    assert {name: alone[name] for name in VALUES} == counts


def test_a_value_that_no_unit_has_is_shown(tmp_path: Path) -> None:
    """And so is one that a single unit has: nothing is dropped because it is rare."""
    found = answer(corpus_of(tmp_path, {"one": [("cough", {})]}), PLAIN)[0]
    counts = {one.name: one.value for one in found.table if one.kind == "count"}
    assert counts == {"cough": 1, "rash": 0, "fever": 0, "chills": 0, "of": 1}
    empty = answer(corpus_of(tmp_path / "empty", {}), BY_WARD)[0]
    names = [one.name for one in empty.table if one.kind == "count"]
    assert sorted(names) == sorted(f"{ward}: {value}" for ward in WARDS for value in (*VALUES, "of"))


def test_which_rows_are_shown_follows_from_the_noisy_counts(tmp_path: Path) -> None:
    found = answer(corpus_of(tmp_path, PEOPLE), replace(PLAIN, most=2))[0]
    whole = answer(corpus_of(tmp_path / "again", PEOPLE), PLAIN)[0]
    rows = [one.name for one in whole.table if one.kind == "share"]
    assert [one.name for one in found.table if one.kind == "share"] == rows[:2]
    assert rows[0] == "cough"


def test_unit_that_cannot_pay_is_in_neither_table(tmp_path: Path) -> None:
    corpus, ledger = corpus_of(tmp_path, PEOPLE), MemoryLedger(Budget(1.0, 1e-6, 5e-7), simulation=True)
    asked = replace(PLAIN, epsilon=0.6)
    seen = []
    for number in range(2):
        account = UnitAccount(ledger, str(number), noise=NoNoise(0))
        found = asked.run(Query("q"), corpus, NO_MODEL, account)
        account.settle()
        seen.append({one.name: one.value for one in found.table if one.kind == "count"})
    assert seen[0]["of"] == 6
    assert set(seen[1].values()) == {0}
    assert "may be missing" in found.text
    assert found.counts is not None
    missing = found.counts.unable
    assert missing is None or missing >= 6
    for figure in found.table:  # the intervals of both tables, and of the shares, have room for them
        assert figure.high >= (6 if figure.kind == "count" else 1)


# -- refusals --------------------------------------------------------------------------------------------------------


def test_tables_of_no_use_are_refused_unpaid(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, PEOPLE)
    with pytest.raises(UsageError, match="not known"):
        answer(corpus, Themes(attribute="complaint"))
    with pytest.raises(UsageError, match="need an attribute"):
        Themes()
    with pytest.raises(UsageError, match="of periods"):
        replace(PLAIN, since="2026")
    with pytest.raises(UsageError, match="5,000"):
        replace(PLAIN, by="ward", groups=tuple(map(str, range(1300))))
    with pytest.raises(UsageError, match="at least 0"):
        replace(PLAIN, each=-1)


# -- the law on neighbouring vaults ----------------------------------------------------------------------------------

EXACT = Budget(400.0, 1e-6, 5e-7)
LAW = Themes(attribute="complaint", values=("cough", "rash"), each=2, epsilon=8.0)
CROWD: dict[str, list[Note]] = {f"c{n}": [(("cough", "rash", "cough rash", "well")[n % 4], {})] for n in range(32)}
"""So many that no count is cut at 0, where the ends of the tails would meet."""


def law(folder: Path, people: dict[str, list[Note]], statistic: Themes) -> dict[object, float]:
    corpus, found = corpus_of(folder, people), dict[object, float]()
    for noise in paths():
        answered, _ = answer(corpus, statistic, EXACT, noise)
        key = (answered.text, answered.table, answered.counts)
        found[key] = found.get(key, 0.0) + noise.probability
    return found


def largest_loss(folder: Path, statistic: Themes, *those: str) -> float:
    """The largest log-ratio of an outcome over all units that may be gone: all three, or those that are named."""
    units: dict[str, list[Note]] = {"both": [("cough", {}), ("rash", {})], "one": [("rash", {})]}
    units["none"] = [("well", {})]
    found = []
    with pytest.MonkeyPatch.context() as patch:  # what follows from counts is computed once
        patch.setattr(Themes, "_table", cache(Themes._table))
        whole = law(folder / "all", CROWD | units, statistic)
        for gone in those or units:
            left = {unit: own for unit, own in units.items() if unit != gone}
            rest = law(folder / gone, CROWD | left, statistic)
            both = whole.keys() & rest.keys()
            assert sum(whole[key] for key in both) > 0.99
            found += [abs(math.log(whole[key] / rest[key])) for key in both]
    return max(found)


def test_law_of_themes_keeps_its_epsilon(tmp_path: Path) -> None:
    """The unit with both values reaches it: its group and its two cells are paid together."""
    assert 0.999 * 8.0 < largest_loss(tmp_path, LAW) <= 8.0 + 1e-6


def test_themes_with_half_of_their_noise_are_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: K cells at the price of one."""
    sound = NoisyHistogram.calibrated

    def broken(epsilon: float, values: int, change: object, each: int = 1) -> NoisyHistogram:
        return replace(sound(epsilon, values, change, 1), each=each)  # type: ignore[arg-type]

    monkeypatch.setattr(NoisyHistogram, "calibrated", staticmethod(broken))
    monkeypatch.setattr(NoisyHistogram, "cost", lambda self, change: Pure(1 / self.scale))
    choose_tables.cache_clear()
    assert largest_loss(tmp_path, LAW, "both") > 1.4 * 8.0
    choose_tables.cache_clear()


# -- twins -----------------------------------------------------------------------------------------------------------


def test_codes_that_depend_on_other_units_are_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin: a code that one unit alone has counts as a more common one."""
    stored: dict[str, StoredUnit] = {}
    sound = unit_records._with_codes

    class Merging(WordCodes):
        def of(self, unit: str, text: str) -> list[TextStatement]:
            having = Counter(value for own in stored.values() for value in VALUES if value in " ".join(own.texts))
            found = super().of(unit, text)
            return [one if having[one.value] > 1 else replace(one, value=VALUES[0]) for one in found]

    def broken(unit: str, own: StoredUnit, codes: unit_records.Codes) -> object:
        stored[unit] = own
        return sound(unit, own, Merging())

    monkeypatch.setattr(unit_records, "_with_codes", broken)
    with pytest.raises(AssertionError):
        check_each_unit_adds_its_own_cells(tmp_path)


def test_more_groups_than_are_paid_are_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin: all groups and values of a unit count, and the mechanisms do not cut them."""
    monkeypatch.setattr(themes_module, "sample", lambda values, size, key: tuple(values))
    uncut = lambda some, _: Counter(value for share in some for value in share)  # noqa: E731 - it is passed on
    monkeypatch.setattr("discreet.privacy.mechanisms.counting._count", uncut)
    with pytest.raises(AssertionError):
        check_each_unit_adds_its_own_cells(tmp_path)


def test_mechanisms_cut_what_a_statistic_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the sample of the statistic, the histograms still count no more cells than are paid."""
    monkeypatch.setattr(themes_module, "sample", lambda values, size, key: tuple(values))
    alone = cells_of(tmp_path, ["with all values"])
    assert len(alone[0].keys() - {"of", "payers"}) == 2


def test_fields_beside_codes_stay_those_of_the_record(tmp_path: Path) -> None:
    """A test of a field and a code are about one record, also of a unit whose other record was not coded."""
    corpus = corpus_of(tmp_path, PEOPLE)
    records = {member.value.texts: member.value for member in corpus._members[1]} or {
        one.texts: one for one in corpus._records.now().records.values()
    }
    partly = records[("cough", "new rash")]
    assert [dict(own) for own in partly.fields] == [
        {"ward": "north", "day": "2026-01-09", "complaint": ("cough",)},
        {"ward": "south", "day": "2026-02-09"},
    ]
    assert partly.fields == partly.fields_of
    assert (where("ward", "=", "north") & where("complaint", "=", "cough")).holds(partly)
    assert not (where("ward", "=", "south") & where("complaint", "=", "cough")).holds(partly)
    assert not (where("ward", "=", "south") & where("complaint", "!=", "cough")).holds(partly)  # it was not coded
    assert where("complaint", "!=", "cough").holds(records[("well",)])
