"""The values of an attribute: those that many units share, each with its noisy count. Privacy-spec, parts 10.3 and 11.

The values are not public, so a value is released only above a threshold that one unit passes with delta at most. A unit
has at most `each` values: one unit changes as many counts by one, a distance of sqrt(each).

The number of draws follows from the released number of units that have a value, not from the values that occur.
"""

import math
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import ClassVar

from discreet.algorithms.base import AlgorithmSpec, Figure, GeneratedAnswer, Input, Plan, Query
from discreet.algorithms.text.attributes import matches
from discreet.errors import UsageError
from discreet.models.protocol import VotingModel
from discreet.privacy.account import Account, Payment
from discreet.privacy.accounting import Budget
from discreet.statistics.cells import (
    Counted,
    Reckon,
    at_most,
    choose_counts,
    cost_of,
    percent,
    usual_lists,
    value_needs,
    whole,
)
from discreet.statistics.statistic import Statistic
from discreet.store.sealed_corpus import SealedCorpus
from discreet.store.unit_records import UnitRecord, Value

USUAL_MOST = 10
BEYOND = 7
"""Standard deviations by which more units than the released number have a value, with a probability below 1e-11."""


@dataclass(frozen=True, kw_only=True)
class ValueCounts(Statistic):
    """Parameters: those of `Statistic`, and two more.

    Attributes:
        each: the number of values of a unit that count (K). Of more, a sample counts that depends on the unit alone.
        most: the number of values that are shown, those of most units first; 0 for ten.
    """

    each: int = 6
    most: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.each <= 100 or self.most < 0:
            raise UsageError(f"A unit has 1 to 100 values that count, not {self.each}; `most` is at least 0.")

    def plan(self, budget: Budget, vocabulary: int) -> Plan:
        """Return the cost of the count of the units with a value, and of the counts of the values."""
        price = self.price(budget)
        return price.plan(cost_of(*choose_counts(price, self.each)))

    def usual_uses(self, budget: Budget) -> int:
        """Return among how many lists a grant is divided if neither `epsilon` nor `uses` is given."""
        return usual_lists(budget, self.each)

    def needs(self, budget: Budget) -> int:
        """Return how many units must share a value so that it is released with probability 0.9."""
        return value_needs(self.price(budget), self.each)

    def deviation(self, budget: Budget) -> float:
        """Return the standard deviation of the noise of each value's count, in units."""
        return choose_counts(self.price(budget), self.each)[1].sigma

    def run(self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account) -> GeneratedAnswer:
        """Charge the units with a value that can pay, count them, and count the values."""
        size, values = choose_counts(self.price(account.budget), self.each)
        each = self.each

        def own(key: bytes, record: UnitRecord) -> tuple[str, ...] | None:
            return sample(self.values(record), each, key) or None

        able, paid = self.admit(corpus, account, lambda units: self.of_each(units, own))
        brought = able.map(lambda member: member.value)
        of = paid.release(size, brought.map(lambda _: 0))[0]
        total = Counted.by(size, (of,), paid.unable)
        paid.note_payers(total.most_payers)
        counts = paid.release(values.of_units(of + math.ceil(BEYOND * size.sigma)), brought)
        order = sorted(counts, key=lambda value: (-counts[value], value))[: self.most or USUAL_MOST]
        if not order:
            return GeneratedAnswer.unreleased("", 0)
        table = self._table([(value, counts[value]) for value in order], total, values.sigma)
        text = self.say(table) + total.note
        return GeneratedAnswer(text, "end", 0, released=tuple(order), table=tuple(table), counts=total)

    @abstractmethod
    def values(self, record: UnitRecord) -> tuple[str, ...]:
        """Return the values of a unit, from its record alone."""

    def say(self, table: Sequence[Figure]) -> str:
        """Return the values in words, with the count and the share of each."""
        pairs = zip(table[:-1:2], table[1:-1:2], strict=True)
        return "\n".join(f"{count.name}: {whole(count)}, {percent(share)}" for count, share in pairs)

    def _table(self, found: list[tuple[str, int]], of: Counted, sigma: float) -> list[Figure]:
        """Return the share and the count of each value, and the number of units that have one."""
        table, total = list[Figure](), of.figure("of", "count", Reckon([0]))
        for value, count in found:
            both = Counted((count, *of.counts), (sigma, *of.deviations), unable=of.unable)
            counted, share = both.figure(value, "count", Reckon([0])), both.figure(value, "share", Reckon([0], [1]))
            table += [at_most(counted, total), share]
        return [*table, total]


def sample(values: Sequence[str], size: int, key: bytes) -> tuple[str, ...]:
    """Return at most `size` of a unit's values, in an order that looks random.

    The first ones of the alphabet would never show a value with a late letter. The order depends on the unit alone, and
    differs between units.

    Args:
        values: the values.
        size: how many of them count.
        key: the key of the unit, of 16 bytes.
    """
    named = {value: value.encode(errors="surrogatepass") for value in values}
    return tuple(sorted(named, key=lambda value: blake2b(named[value], key=key).digest())[:size])


# --- the values that a unit has ---------------------------------------------------------------------------------------
# They are those of a declared field, or of statements that the model read.


def values_of(record: UnitRecord, attribute: str) -> list[Value]:
    """Return the values of an attribute, each once: of the declared field if it is one, and else the stated ones.

    What a text denies is no value. Documents of one unit that contradict each other give it several values.
    """
    declared = [value for name in _fields(record) if matches(name, attribute) for value in record.values(name)]
    stated = [
        one.value for one in record.statements if one.value and not one.negated and matches(one.attribute, attribute)
    ]
    return list(dict.fromkeys(declared or stated))


def _fields(record: UnitRecord) -> Iterable[str]:
    return dict.fromkeys(name for fields in record.fields for name in fields)


# --- the values of one attribute --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ListValues(ValueCounts):
    """List: the values of an attribute that many units share, each with its noisy count.

    Parameters: those of `ValueCounts`, and one more.

    Attributes:
        attribute: what is listed: a declared field, or the kind of statements that the model read: "symptoms".
    """

    name: ClassVar[str] = "list"

    attribute: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.attribute:
            raise UsageError("A list needs an attribute: what is listed, such as symptoms.")

    @property
    def attributes(self) -> tuple[str, ...]:
        """What is read of the units."""
        return (self.attribute,)

    def values(self, record: UnitRecord) -> tuple[str, ...]:
        """Return the values of the attribute that a unit has."""
        return tuple(str(value) for value in values_of(record, self.attribute))


# --- statements of all kinds ------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Summary(ValueCounts):
    """Summary: what many units of a population state, of all kinds, each statement with its noisy count.

    Parameters: see `ValueCounts`. A value is a statement, such as "treatment: ginger gloves".
    """

    name: ClassVar[str] = "summary"
    spec: ClassVar[AlgorithmSpec] = AlgorithmSpec(Payment.EACH_UNIT, inputs=frozenset({Input.RECORDS, Input.READINGS}))

    each: int = 8

    def values(self, record: UnitRecord) -> tuple[str, ...]:
        """Return the statements of a unit that have a kind and are not denied."""
        told = (one for one in record.statements if one.attribute and one.value and not one.negated)
        return tuple(f"{one.attribute}: {one.value}" for one in told)

    def say(self, table: Sequence[Figure]) -> str:
        """Return one sentence for each kind, with the share of each value."""
        kinds: dict[str, list[str]] = {}
        for figure in table:
            if figure.kind == "share":
                kind, _, value = figure.name.partition(": ")
                kinds.setdefault(kind, []).append(f"{value} ({percent(figure)})")
        said = [f"{kind[:1].upper()}{kind[1:]}: {'; '.join(values)}." for kind, values in kinds.items()]
        return "\n".join([*said, f"Of about {table[-1].value:,.0f}."])
