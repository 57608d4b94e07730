"""Which units a statistic is about, and what holds of one: by a phrase, or by declared fields. Privacy-spec, part 11.

A test looks at the record of one unit alone. So one unit that comes or goes changes no other unit's result.
"""

import math
import operator
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property, lru_cache

from discreet.algorithms.text.phrases import is_denied, sentences_of, spans_of
from discreet.algorithms.text.tongues import Tongue, tongue_of
from discreet.errors import UsageError
from discreet.retrieval.unit_records import Fields, UnitRecord, Value

_RELATIONS: dict[str, Callable[[Value, Value], bool]] = {
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "=": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
}
_WHERE = re.compile(r"\s*([^=<>!]+?)\s*(!=|<=|>=|=|<|>)\s*(.*?)\s*", re.DOTALL)
_SHORT = re.compile(r"\b(mr|mrs|ms|dr|prof|st)\.(?=\s)", re.IGNORECASE)
"""A title, whose full stop ends no sentence."""
_MARK = re.compile(r"[.:;!?](?=\s)")


@dataclass(frozen=True)
class FieldTest:
    """A test of a declared field, such as "ward=3" or "age>=60".

    Attributes:
        name: the name of the field.
        relation: =, !=, <, <=, > or >=. Dates and categories are compared as texts, without case.
        value: what the field is compared with.
    """

    name: str
    relation: str
    value: str

    @staticmethod
    def parse(text: str) -> "FieldTest":
        """Return the test that a text states.

        Raises:
            UsageError: if the text states none.
        """
        found = _WHERE.fullmatch(text)
        value = found[3].strip("'\"") if found else ""
        if found is None or not value or value[0] in "=<>!":
            raise UsageError(f"'{text}' is no test of a field. Write FIELD=VALUE, such as ward=3, or age>=60.")
        return FieldTest(found[1], found[2], value)

    def is_number(self) -> bool:
        """Return whether the value is a finite number."""
        try:
            return math.isfinite(float(self.value))
        except ValueError:
            return False

    def is_day(self) -> bool:
        """Return whether the value is a whole date, such as 2026-01-31: a part of one is compared wrongly."""
        try:
            return date.fromisoformat(self.value).isoformat() == self.value
        except ValueError:
            return False

    def passes(self, fields: Fields) -> bool:
        """Return whether a document passes, by its fields. A value of another type does not."""
        value, wanted = fields.get(self.name), self.value.casefold()
        if value is None:
            return False
        if isinstance(value, str):
            return _RELATIONS[self.relation](value.casefold(), wanted)
        try:
            return _RELATIONS[self.relation](value, float(self.value))
        except ValueError:
            return False


@dataclass(frozen=True)
class Phrase:
    """What holds of a unit if its own words say so: "Winter Hand", or "no fever".

    Attributes:
        text: the phrase; it holds of every unit if it is empty.
        negated: whether it must not hold.
        language: the language of the phrase, whose words deny: "de", "fr" or "es"; English if empty.
    """

    text: str
    negated: bool = False
    language: str = ""

    def __post_init__(self) -> None:
        if self.text and not self._tongue.content(self.text):
            raise UsageError(f"The phrase '{self.text}' has no word with a meaning of its own. Name a thing.")

    def holds(self, record: UnitRecord) -> bool:
        """Return whether it holds: the words stand close together in one of the unit's texts, and are not denied.

        A declared category that consists of these words counts as well, alone or with the name of its field.
        """
        if not self.text:
            return True
        found = self._in_fields(record) or any(map(self._in_text, record.texts_with(self.words)))
        return found != (self.negated != self.denies)

    @property
    def essence(self) -> str:
        """The same text for two phrases that hold of the same units."""
        denied = "no " * self.denies + "without " * self.has_negation
        return denied + " ".join((*self.words, *self.marked))

    @property
    def marked(self) -> tuple[str, ...]:
        """The whole name if a mark is inside it, since its words alone hold of other units; else nothing."""
        return (self._said.casefold(),) if self._name else ()

    @cached_property
    def _said(self) -> str:
        """The text with each letter in its one form, as the texts of a unit are read."""
        return unicodedata.normalize("NFKC", self.text)

    @cached_property
    def _tongue(self) -> Tongue:
        return tongue_of(self.language)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Its words with a meaning of their own, without their endings."""
        return self._tongue.content(self.text)

    def _in_fields(self, record: UnitRecord) -> bool:
        return any(
            self._says(name, value) for own in record.fields for name, value in own.items() if isinstance(value, str)
        )

    def _says(self, name: str, value: str) -> bool:
        """Return whether a category consists of these words: "north", "north ward" or "ward north"."""
        plain = unicodedata.normalize("NFKC", f"{value} {name}").replace("\u2019", "'").casefold()
        if not all(word in plain for word in self.words):  # most categories; it saves their words
            return False
        return self.words in map(self._tongue.content, (value, f"{value} {name}", f"{name} {value}"))

    def _in_text(self, text: str) -> bool:
        whole = _SHORT.sub(r"\1", self._tongue.plain(unicodedata.normalize("NFKC", text)))
        if self._name:
            plain = _MARK.sub("", self._said)
            whole = self._name.sub(lambda _: plain, whole)
        spans = spans_of(sentences_of(whole), self.words, self._tongue)
        return any(not is_denied(*span, self.has_negation, self._tongue) for span in spans)

    @cached_property
    def _name(self) -> re.Pattern[str] | None:
        """The phrase, if it has a mark that would end a sentence of a text: "L.A. Confidential", "Heat: Part Two"."""
        return re.compile(rf"(?<!\w){re.escape(self._said)}", re.IGNORECASE) if _MARK.search(self._said) else None

    @cached_property
    def denies(self) -> bool:
        """Whether it denies a thing: "no fever" holds of a unit that says nothing of a fever, too."""
        return self._said.casefold().split()[0] in self._tongue.negations

    @cached_property
    def has_negation(self) -> bool:
        """Whether the thing itself has a negation: "cuts that do not bleed"."""
        return bool(self._tongue.negations & set(self._said.casefold().split()[1:]))


@dataclass(frozen=True)
class Population:
    """The units of which all tests hold; all units if there are none.

    A document passes all tests of fields, or its content does not count: a unit with fever in January and a rash in
    June has no fever "in June", and is not "of March".

    Attributes:
        phrases: what their texts say.
        fields: the tests of declared fields.
        either: phrases of which at least one holds; empty for no such test.
    """

    phrases: tuple[Phrase, ...] = ()
    fields: tuple[FieldTest, ...] = ()
    either: tuple[Phrase, ...] = ()

    def part(self, record: UnitRecord) -> UnitRecord:
        """Return what counts of a unit: the part of its record in documents that pass all tests of fields."""
        return record.part(lambda own: all(test.passes(own) for test in self.fields)) if self.fields else record

    def holds(self, record: UnitRecord) -> bool:
        """Return whether a unit is among them."""
        part = self.part(record)
        if self.fields and not part.fields:
            return False
        one = not self.either or any(phrase.holds(part) for phrase in self.either)
        return one and all(phrase.holds(part) for phrase in self.phrases)

    def narrowed(self, phrase: Phrase) -> "Population":
        """Return those of which a phrase holds as well."""
        return replace(self, phrases=(*self.phrases, phrase))

    def of_any(self, phrases: Sequence[Phrase]) -> "Population":
        """Return those of which one of the phrases holds as well."""
        return replace(self, either=tuple(phrases))

    def __str__(self) -> str:
        said = [("not " if phrase.negated else "") + phrase.text for phrase in self.phrases if phrase.text]
        either = [" or ".join(phrase.text for phrase in self.either)] if self.either else []
        tests = [f"{test.name}{test.relation}{test.value}" for test in self.fields]
        return ", ".join([*said, *either, *tests]) or "all"


@lru_cache(maxsize=256)
def population_of(phrase: str, where: Sequence[str] = (), language: str = "") -> Population:
    """Return the population that a phrase, in a language, and tests of fields name.

    Raises:
        UsageError: if one of them names none.
    """
    return Population((Phrase(phrase, language=language),), tuple(map(FieldTest.parse, where)))


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
