"""Regions: sets of units by what holds of them. Two numbers are about the same units if their regions are equal.

A region is a function of the question alone. So the numbers that follow from released ones depend on public values.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from discreet.algorithms.statistics.population import FieldTest, Phrase, Population


@dataclass(frozen=True)
class Fact:
    """What holds of a unit, or does not hold.

    Attributes:
        essence: the words that decide; for a test of a field, the test.
        holds: whether it holds.
    """

    essence: tuple[str, ...]
    holds: bool = True

    @property
    def opposite(self) -> "Fact":
        """The same of the other units."""
        return Fact(self.essence, not self.holds)

    @staticmethod
    def of(test: Phrase | FieldTest) -> "Fact":
        """Return the fact that a test decides."""
        if isinstance(test, FieldTest):
            return Fact(("where", test.name, test.relation, test.value.casefold()))
        said = ("without" if test.has_negation else "says", test.language or "en")
        return Fact((*said, *test.words, *test.marked), test.negated == test.denies)


Region = frozenset[Fact]
"""All units of which all facts hold."""
Known = Mapping[Region, Mapping[int, int]]
"""The regions whose units a statistic counts: the weight of each of its cells, by its number."""


def region_of(population: Population, *phrases: Phrase) -> Region:
    """Return the region of a population of which phrases hold as well. An empty phrase holds of all."""
    said = (phrase for phrase in (*population.phrases, *phrases) if phrase.text)
    return frozenset([*(Fact.of(test) for test in population.fields), *(Fact.of(phrase) for phrase in said)])
