"""What all statistics share: the population, the price, and the payment. Privacy-spec, part 11.

A unit that has no influence does not pay: it is outside the population, or has nothing that counts. No model and no
embedder is needed.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from typing import Any, ClassVar, TypeVar

from discreet.algorithms.base import Algorithm, AlgorithmSpec, Figure, GeneratedAnswer, Input, Plan, Query
from discreet.algorithms.ensemble import check_number
from discreet.errors import UsageError
from discreet.models.protocol import VotingModel
from discreet.privacy.account import Account, Payment
from discreet.privacy.accounting import Budget
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.partition import Member
from discreet.privacy.private import Private
from discreet.statistics.cells import (
    Counted,
    Histogram,
    StatisticPrice,
    choose_histogram,
    cost_of,
    usual_counts,
)
from discreet.statistics.conditions import (
    Condition,
    FieldTest,
    Known,
    narrowed,
    of_person,
    parse,
    tests_of,
    written,
)
from discreet.store.sealed_corpus import SealedCorpus
from discreet.store.unit_records import UnitRecord

S = TypeVar("S")
Brought = Sequence[Member[S] | None]
"""What each of several units brings; None for nothing."""
LEAST_EPSILON = 1e-4
"""At a smaller price, the noise is more than the population of any vault."""


@dataclass(frozen=True, kw_only=True)
class Statistic(Algorithm):
    """Parameters of a statistic.

    Attributes:
        population: the units that it is about: a phrase that their texts say, "Winter Hand", or a condition in its text
            form, such as '"Winter Hand" or "Glass Knee"' (conditions.py). All units if empty.
        where: tests of declared fields, such as "ward=3", that one record of these units passes as well.
        epsilon: the epsilon that the question may cost a unit; if None, `uses` decides.
        uses: the number of statistics in which each unit can take part. A unit's budget is divided among them.
        language: the language of the phrases, "de", "fr" or "es"; English if empty.
    """

    spec: ClassVar[AlgorithmSpec] = AlgorithmSpec(Payment.EACH_UNIT, inputs=frozenset({Input.RECORDS}))

    population: str = ""
    where: tuple[str, ...] = ()
    epsilon: float | None = None
    uses: int | None = None
    language: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "where", (self.where,) if isinstance(self.where, str) else tuple(self.where))
        for name in ("population", "condition"):  # conditions as such are accepted, too
            if not isinstance(getattr(self, name, ""), str):
                object.__setattr__(self, name, str(getattr(self, name)))
        if self.uses is not None and self.uses < 1:
            raise UsageError(f"A unit takes part in at least 1 question (uses), not {self.uses}.")
        if self.epsilon is not None:
            check_number("epsilon", self.epsilon)
            if self.epsilon < LEAST_EPSILON:
                raise UsageError(f"Epsilon is at least {LEAST_EPSILON:g} for a statistic, not {self.epsilon:g}.")
        _ = self.members

    @cached_property
    def base(self) -> Condition:
        """The units of the population, of which the tests of fields hold as well."""
        return population_of(self.population, self.where, self.language)

    @cached_property
    def members(self) -> Condition:
        """The units that can have an influence. No other one pays."""
        return self.base

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """All conditions that it tests."""
        return (self.members,)

    @property
    def parts(self) -> dict[str, Any]:
        """What it is about: its parameters without the price."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name not in ("epsilon", "uses")}

    @cached_property
    def set_apart(self) -> tuple[str, ...]:
        """What distinguishes two statistics: their parts, without the price, and phrases without empty words."""
        left_out = ("epsilon", "uses", "population", "where", "language")
        own = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in left_out}
        parts = (f"{name}={_plain(name, value, self.language)}" for name, value in own.items())
        return (self.name, f"among={written(self.base.facts())}", f"within={tests_of(self.base)}", *parts)

    def apart(self, text: str) -> Condition:
        """Return a condition as `read`, as a statement about an individual of the population."""
        return of_person(self.read(text))

    def read(self, text: str) -> Condition:
        """Return a condition, whose phrases are in the language of the statistic."""
        return parse(text, self.language)

    @property
    def fields_tested(self) -> tuple[str, ...]:
        """The names of the declared fields that it reads."""
        return tuple(dict.fromkeys(test.field for test in self.tests))

    @property
    def tests(self) -> tuple[FieldTest, ...]:
        """The tests of declared fields in all conditions."""
        leaves = (leaf for one in self.conditions for leaf in one.leaves())
        return tuple(dict.fromkeys(leaf for leaf in leaves if isinstance(leaf, FieldTest)))

    def price(self, budget: Budget) -> StatisticPrice:
        """Return what the question may cost a unit."""
        if self.epsilon is not None:
            if self.epsilon > budget.epsilon:
                raise UsageError(f"Epsilon {self.epsilon:g} is above the grant of {budget.epsilon:g}. Ask for less.")
            return StatisticPrice(budget, epsilon=self.epsilon)
        return StatisticPrice(budget, uses=self.uses or self.usual_uses(budget))

    def usual_uses(self, budget: Budget) -> int:
        """Return among how many such statistics a grant is divided if neither `epsilon` nor `uses` is given."""
        return usual_counts(budget)

    def needs(self, budget: Budget) -> int | None:
        """Return how many units must share a value so that it is named with probability 0.9; None if none is named."""
        return None

    @property
    def dates_read(self) -> tuple[str, ...]:
        """The names of the declared dates that it reads."""
        return ()

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes whose values it reads: declared fields, or statements that the model read."""
        return ()

    def admit(
        self, corpus: SealedCorpus, account: Account, own: Callable[[Sequence[Member[UnitRecord]]], Brought[S]]
    ) -> tuple[Private[Member[S]], PrivacyFilter]:
        """Charge the units of the population that can pay. Return what they bring, and the filter that spends it.

        Args:
            corpus: the documents.
            account: the account of the question.
            own: returns what each of several units brings, from its key and record (`of_each`), or the units
                unchanged; None for nothing. Then it has no influence, and does not pay.
        """
        by_record = self.fields_tested or self.dates_read or any(one.is_of_records for one in self.conditions)
        if by_record and not corpus.tells_documents:
            raise UsageError(
                "The vault's store does not tell of which document a text is, so what is said under a test of a "
                "field, or by date, is not known. Ask without --where and dates. Nothing was charged."
            )

        def among(units: Sequence[Member[UnitRecord]]) -> list[Member[UnitRecord] | None]:
            held = self.members.among_sound([record for _, record in units])
            return [unit if holds else None for unit, holds in zip(units, held, strict=True)]

        brought = corpus.records().choose(among).choose(own)
        return account.admit(brought, self.plan(account.budget, 0).max_cost)

    def of_each(
        self, units: Sequence[Member[UnitRecord]], own: Callable[[bytes, UnitRecord], S | None]
    ) -> list[Member[S] | None]:
        """Return for each unit `own` of its key and of the part of its record that counts; None for an error.

        An unusual text of one unit must not show as an error.
        """
        found = list[Member[S] | None]()
        for key, record in units:
            try:
                one = own(key, self.members.part(record))
            except Exception:
                one = None
            found.append(None if one is None else Member(key, one))
        return found

    @abstractmethod
    def deviation(self, budget: Budget) -> float:
        """Return the standard deviation of the noise of each count, in units: public."""

    @abstractmethod
    def plan(self, budget: Budget, vocabulary: int) -> Plan:
        """Return the cost of the statistic."""


_PHRASES = ("condition", "groups")


@lru_cache(256)
def population_of(population: str, tests: Sequence[str], language: str = "") -> Condition:
    """Return the condition of a population, and of tests of declared fields, in their text forms.

    Raises:
        UsageError: if one of them is none.
    """
    conditions = [parse(one) for one in tests]
    for text, one in zip(tests, conditions, strict=True):
        if not one.is_test:
            raise UsageError(f"'{text}' is no test of a field. Write FIELD=VALUE, such as ward=3, or age>=60.")
    base = parse(population, language)
    return narrowed(base, *conditions)


def _plain(name: str, value: object, language: str) -> object:
    """Return a condition as the facts that decide of which units it holds; another value unchanged."""
    if name not in _PHRASES:
        return value
    texts = (value,) if isinstance(value, str) else value
    assert isinstance(texts, tuple)
    return " | ".join(written(parse(one, language).facts()) for one in texts)


# --- statistics over public cells -------------------------------------------------------------------------------------
# A statistic over public cells, each unit in one cell at most. Privacy-spec, part 11.
#
# 1  each unit of the population has one public cell, or none  `cell`
# 2  of those with a cell, all that can pay, pay               `Statistic.admit`
# 3  the cells are counted, with noise                         `choose_histogram`
# 4  the answer follows from the noisy counts alone            `conclude`

OUTSIDE = -1
"""The cell of a unit that is in none."""


@dataclass(frozen=True, kw_only=True)
class CellStatistic(Statistic):
    """Parameters: see `Statistic`."""

    def plan(self, budget: Budget, vocabulary: int) -> Plan:
        """Return the cost of the statistic: that of one histogram."""
        return self.price(budget).plan(cost_of(self.histogram(budget)))

    def deviation(self, budget: Budget) -> float:
        """Return the standard deviation of the noise of each count, in units."""
        return self.histogram(budget).deviation

    def histogram(self, budget: Budget) -> Histogram:
        """Return the mechanism that counts the cells."""
        return choose_histogram(self.price(budget), self.cells)

    def run(self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account) -> GeneratedAnswer:
        """Charge the units with a cell that can pay (1, 2), count them (3), and conclude (4)."""
        histogram = self.histogram(account.budget)
        able, paid = self.admit(corpus, account, self.places)
        counts = paid.release(histogram, able.map_batch(self.cells_of))
        counted = Counted.by(histogram, counts, paid.unable)
        paid.note_payers(counted.most_payers)
        text, table = self.conclude(counted)
        return GeneratedAnswer(text + counted.note, "end", 0, table=tuple(table), counts=counted)

    def places(self, units: Sequence[Member[UnitRecord]]) -> Brought[Any]:
        """Return each unit of the population with its cell, for `cells_of`; None if it is in none."""

        def cell(_: bytes, record: UnitRecord) -> int | None:
            return None if (place := self.cell(record)) == OUTSIDE else place

        return self.of_each(units, cell)

    def cells_of(self, members: Sequence[Member[Any]]) -> Sequence[int]:
        """Return the cells of units that paid, from their `places`."""
        return [cell for _, cell in members]

    @property
    @abstractmethod
    def cells(self) -> int:
        """The number of public cells."""

    @property
    def known(self) -> Known:
        """The regions whose units it counts, for other questions; none if its cells are no such regions."""
        return {}

    @abstractmethod
    def cell(self, record: UnitRecord) -> int:
        """Return the cell of a unit, from its record alone; `OUTSIDE` if it is in none."""

    @abstractmethod
    def conclude(self, counted: Counted) -> tuple[str, list[Figure]]:
        """Return the answer in words, and the numbers that it rests on."""
