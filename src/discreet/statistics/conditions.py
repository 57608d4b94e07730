"""Conditions: what holds of a unit, by what its texts say and by its declared fields. Privacy-spec, part 11.

    "winter hand" or "glass knee"                      says
    age >= 60 and date = 2026-03                       field
    "fever" and not "chills"                           all, any, not, to any depth
    in one record ("fever" and "chills")               same_record

A condition looks at the record of one unit alone. So one unit that comes or goes changes no other unit's result,
however deep the condition is.

Record or person. A unit has many records. The tests of fields that `and` joins are about one record, and what is joined
with them is about the records that pass: "fever" and date = 2026-03 holds if a record of March says fever. Two phrases
alone are about the person: any records may say them. `not` is about the person, too: no record says it (of those that
pass). Parentheses begin a group of their own: ("fever" and date = 2026-01) and ("rash" and date = 2026-06).
"""

import hashlib
import math
import operator
import re
from calendar import monthrange
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property, lru_cache
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from discreet.errors import UsageError
from discreet.statistics.phrase import Phrase
from discreet.store.unit_records import Fields, UnitRecord, Value

Relation = Literal["=", "!=", "<", "<=", ">", ">="]
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "=": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
}
_LONGEST = 65_536
_MOST_PARTS, _MOST_DEPTH = 64, 24
_C = TypeVar("_C", bound="_Condition")


@dataclass(frozen=True)
class Fact:
    """What holds of a unit, or does not hold.

    Attributes:
        decides: what decides: the words of a phrase, or a test.
        holds: whether it holds.
        within: the tests that a record must pass, so that its words count.
        either: the facts of which at least one holds, if it is one of several.
    """

    decides: tuple[str, ...]
    holds: bool = True
    within: tuple[str, ...] = ()
    either: frozenset["Fact"] = field(default=frozenset())

    @property
    def opposite(self) -> "Fact":
        """The same of the other units."""
        return Fact(self.decides, not self.holds, self.within, self.either)


Region = frozenset[Fact]
"""All units of which all facts hold."""
Known = Mapping[Region, Mapping[int, int]]
"""The regions whose units a statistic counts: the weight of each of its cells, by its number."""


class _Condition(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    @property
    def is_test(self) -> bool:
        """Whether it tests fields of one record, and nothing else."""
        return False

    @property
    def is_of_records(self) -> bool:
        """Whether it depends on which record says what, or has which fields."""
        return False

    @property
    def key(self) -> str:
        """A text that is the same for two tests that the same records pass by their form."""
        raise NotImplementedError

    def passes(self, own: Fields) -> bool:
        """Return whether a record passes, by its fields. The condition must be a test."""
        return self.passer()(own)

    def passer(self) -> Callable[[Fields], bool]:
        """Return `passes` for many records. It tests each value once, and is thrown away with the question."""
        raise NotImplementedError

    def holds(self, record: UnitRecord) -> bool:
        """Return whether it holds of a unit, or of a part of its record."""
        return self.among((record,))[0]

    def among(self, records: Sequence[UnitRecord]) -> list[bool]:
        """Return of which of several units it holds. Each one's result follows from its own record alone."""
        raise NotImplementedError

    def among_sound(self, records: Sequence[UnitRecord]) -> list[bool]:
        """Return of which of several units it holds; of none whose own record cannot be read.

        An unusual record of one unit must not show as an error.
        """
        try:
            return self.among(records)
        except Exception:
            return [self._holds_if_sound(one) for one in records]

    def _holds_if_sound(self, record: UnitRecord) -> bool:
        try:
            return self.holds(record)
        except Exception:
            return False

    def part(self, record: UnitRecord) -> UnitRecord:
        """Return what counts of a unit: the part of its record that passes the tests of the condition."""
        return record.part(self.passer()) if self.is_test else record

    def leaves(self) -> "Iterator[Says | FieldTest]":
        """Yield its phrases and tests."""
        raise NotImplementedError

    def facts(self, within: tuple[str, ...] = ()) -> Region:
        """Return the facts that it states of the records that pass the tests `within`."""
        if self.is_test:
            return frozenset([Fact(("record", *sorted({*within, self.key})))])
        raise NotImplementedError

    def __and__(self, other: "Condition") -> "All":
        return all_of(self, other)  # type: ignore[arg-type]

    def __or__(self, other: "Condition") -> "AnyOf":
        return any_of(self, other)  # type: ignore[arg-type]

    def __invert__(self) -> "Condition":
        return self.negates if isinstance(self, Not) else Not(negates=self)  # type: ignore[arg-type]


class Says(_Condition):
    """A phrase that a record says.

    Attributes:
        says: the phrase.
        language: its language, "de", "fr" or "es"; English if empty.
    """

    says: str = Field(max_length=_LONGEST)
    language: str = Field(default="", max_length=2)

    @field_validator("says")
    @classmethod
    def _tidy(cls, text: str) -> str:
        return " ".join(text.replace('"', " ").split())

    def model_post_init(self, context: object) -> None:
        """Check the phrase.

        Raises:
            UsageError: if it has no word with a meaning of its own.
        """
        if not self.says:
            raise UsageError("A phrase is empty. Name a thing.")
        _ = self.phrase

    @cached_property
    def phrase(self) -> Phrase:
        """The phrase, in the form that is searched for."""
        return _phrase(self.says, self.language)

    def holds(self, record: UnitRecord) -> bool:
        """Return whether a text says it."""
        return self.phrase.holds(record)

    def among(self, records: Sequence[UnitRecord]) -> list[bool]:
        """Return of which units a text says it."""
        return self.phrase.among(records)

    def leaves(self) -> "Iterator[Says | FieldTest]":
        """Yield itself."""
        yield self

    def facts(self, within: tuple[str, ...] = ()) -> Region:
        """Return its words as a fact."""
        return frozenset([Fact(("says", *self.phrase.decides), not self.phrase.denies, within)])

    def __str__(self) -> str:
        return f'"{self.says}"' + (f"@{self.language}" if self.language else "")


class FieldTest(_Condition):
    """A test of a declared field, such as "ward = 3", "age >= 60" or "date = 2026-03".

    Attributes:
        field: the name of the field.
        relation: how its value is compared. Categories are compared without case; dates by the calendar.
        value: what it is compared with; of a date also a month or a year, and `A..B` for a range.
    """

    field: str = Field(min_length=1, max_length=200)
    relation: Relation = "="
    value: str = Field(min_length=1, max_length=_LONGEST)

    @property
    def is_test(self) -> bool:
        """It is one."""
        return True

    @property
    def is_of_records(self) -> bool:
        """It does."""
        return True

    @property
    def key(self) -> str:
        """Its parts: the value without case."""
        return repr((self.field, self.relation, self.value.casefold()))

    @cached_property
    def _low(self) -> str:
        return self.value.casefold()

    @cached_property
    def is_number(self) -> bool:
        """Whether the value is a finite number, or a range of them."""
        ends = self.value.split("..")
        return len(ends) <= 2 and all(map(_is_number, ends)) and float(ends[0]) <= float(ends[-1])

    @cached_property
    def period(self) -> tuple[str, str] | None:
        """The first and the last day of a value that is a day, a month, a year or a range of these; else None."""
        return period_of(self.value)

    def passer(self) -> Callable[[Fields], bool]:
        """Return whether a record passes. A value of another type does not."""
        known = dict[Any, bool]()

        def passes(own: Fields) -> bool:
            found = own.get(self.field)
            if found not in known:
                known[found] = self._passes(found)
            return known[found]

        return passes

    def _passes(self, found: Value | tuple[str, ...] | None) -> bool:
        if isinstance(found, tuple):  # the values of a code: "!=" holds if none of them is the value
            some = any(one.casefold() == self._low for one in found)
            return some == (self.relation == "=")
        return found is not None and self._compares(found)

    def _compares(self, found: Value) -> bool:
        compare = _COMPARE[self.relation]
        if isinstance(found, str):
            if (period := self.period) is not None and _is_day(found):
                return _by_calendar(found, self.relation, *period)
            return compare(found.casefold(), self._low)
        if not self.is_number:
            return False
        ends = [float(one) for one in self.value.split("..")]
        if len(ends) == 1:
            return compare(found, ends[0])
        return (ends[0] <= found <= ends[1]) == (self.relation == "=")

    def among(self, records: Sequence[UnitRecord]) -> list[bool]:
        """Return of which units one record passes."""
        passes = self.passer()
        return [any(map(passes, one.fields)) for one in records]

    def leaves(self) -> "Iterator[Says | FieldTest]":
        """Yield itself."""
        yield self

    def __str__(self) -> str:
        value = self.value if _BARE.fullmatch(self.value) else "'" + self.value.replace("'", "''") + "'"
        return f"{self.field} {self.relation} {value}"


class _Group(_Condition):
    """A condition of several."""

    @property
    def parts(self) -> "tuple[Condition, ...]":
        """The conditions."""
        raise NotImplementedError

    def passer(self) -> Callable[[Fields], bool]:
        """Return whether a record passes the tests among them: all, or one of them."""
        passers, join = [one.passer() for one in self.parts if one.is_test], all if isinstance(self, All) else any
        return passers[0] if len(passers) == 1 else lambda own: join(passes(own) for passes in passers)

    @cached_property
    def is_test(self) -> bool:
        """Whether all parts are."""
        return bool(self.parts) and all(one.is_test for one in self.parts)

    @property
    def is_of_records(self) -> bool:
        """Whether one of its parts does."""
        return any(one.is_of_records for one in self.parts)

    @property
    def key(self) -> str:
        """The keys of its parts, in any order."""
        return repr((type(self).__name__, sorted(one.key for one in self.parts)))

    def leaves(self) -> "Iterator[Says | FieldTest]":
        """Yield the phrases and tests of all parts."""
        for one in self.parts:
            yield from one.leaves()


class All(_Group):
    """All of these hold. Without parts, it holds of every unit."""

    all: tuple["Condition", ...] = Field(max_length=1000)

    @property
    def parts(self) -> "tuple[Condition, ...]":
        """The conditions."""
        return self.all

    def part(self, record: UnitRecord) -> UnitRecord:
        """Return the part of a record that passes all tests."""
        return record.part(self.passer()) if self._tests else record

    def among(self, records: Sequence[UnitRecord]) -> list[bool]:
        """Return of which units a record passes all tests, and the others hold of those that pass."""
        passes, found = self.passer(), [True] * len(records)
        if self._tests:
            records = [one.part(passes) for one in records]
            found = [bool(one.fields) for one in records]
        for other in self._others:
            found = list(map(operator.and_, found, other.among(records)))
        return found

    @cached_property
    def _tests(self) -> "tuple[Condition, ...]":
        return tuple(one for one in self.all if one.is_test)

    @cached_property
    def _others(self) -> "tuple[Condition, ...]":
        return tuple(one for one in self.all if not one.is_test)

    def facts(self, within: tuple[str, ...] = ()) -> Region:
        """Return the facts of all parts."""
        inside = tuple(sorted({*within, *(one.key for one in self._tests)}))
        there = [Fact(("record", *inside))] if self._tests else []
        said = (one.facts(inside) for one in self._others)
        return frozenset(there).union(*said)

    def __str__(self) -> str:
        return " and ".join(f"({one})" if isinstance(one, _Group) else str(one) for one in self.all) or "all"


class AnyOf(_Group):
    """At least one of these holds."""

    any: tuple["Condition", ...] = Field(min_length=1, max_length=1000)

    @property
    def parts(self) -> "tuple[Condition, ...]":
        """The conditions."""
        return self.any

    def among(self, records: Sequence[UnitRecord]) -> list[bool]:
        """Return of which units one holds."""
        return list(map(any, zip(*(one.among(records) for one in self.any), strict=True)))

    def facts(self, within: tuple[str, ...] = ()) -> Region:
        """Return one fact: that at least one of several holds."""
        if self.is_test:
            return super().facts(within)
        return frozenset([either_of(one.facts(within) for one in self.any)])

    def __str__(self) -> str:
        return " or ".join(f"({one})" if isinstance(one, AnyOf) else str(one) for one in self.any)


class Not(_Condition):
    """No record of the unit says it, or passes it."""

    negates: "Condition" = Field(validation_alias="not", serialization_alias="not")

    model_config = ConfigDict(populate_by_name=True)

    @property
    def is_of_records(self) -> bool:
        """Whether what it negates does."""
        return self.negates.is_of_records

    def among(self, records: Sequence[UnitRecord]) -> list[bool]:
        """Return of which units it does not hold."""
        return list(map(operator.not_, self.negates.among(records)))

    def leaves(self) -> "Iterator[Says | FieldTest]":
        """Yield the phrases and tests of what it negates."""
        return self.negates.leaves()

    def facts(self, within: tuple[str, ...] = ()) -> Region:
        """Return the opposite facts, if they are what several have in common; else one fact."""
        if isinstance(self.negates, Not):
            return self.negates.negates.facts(within)
        if isinstance(self.negates, AnyOf) and not self.negates.is_test:
            return frozenset().union(*(Not(negates=one).facts(within) for one in self.negates.any))
        facts = self.negates.facts(within)
        return frozenset([(next(iter(facts)) if len(facts) == 1 else _as_one(facts)).opposite])

    def __str__(self) -> str:
        return f"not ({self.negates})" if isinstance(self.negates, _Group) else f"not {self.negates}"


class SameRecord(_Condition):
    """It holds of one record by itself."""

    same_record: "Condition"

    @property
    def is_of_records(self) -> bool:
        """It does."""
        return True

    def among(self, records: Sequence[UnitRecord]) -> list[bool]:
        """Return of which units it holds of one document."""
        return [any(self.same_record.among(one.documents())) for one in records]

    def leaves(self) -> "Iterator[Says | FieldTest]":
        """Yield its phrases and tests."""
        return self.same_record.leaves()

    def facts(self, within: tuple[str, ...] = ()) -> Region:
        """Return one fact."""
        return frozenset([Fact(("in one record", written(self.same_record.facts())), True, within)])

    def __str__(self) -> str:
        return f"in one record ({self.same_record})"


Condition = Annotated[Says | FieldTest | All | AnyOf | Not | SameRecord, Field(union_mode="left_to_right")]
"""A condition: one of the six."""
for _kind in (All, AnyOf, Not, SameRecord):
    _kind.model_rebuild()

ALL = All(all=())
"""It holds of every unit."""


# --- making conditions ------------------------------------------------------------------------------------------------


def says(phrase: str, language: str = "") -> Says:
    """Return what holds of a unit if one of its records says a phrase.

    Raises:
        UsageError: if the phrase has no word with a meaning of its own.
    """
    return _checked(Says, says=phrase, language="" if language == "en" else language)


def where(name: str, relation: str, value: object) -> FieldTest:
    """Return a test of a declared field: `where("age", ">=", 60)`."""
    return _checked(FieldTest, field=name, relation=relation, value=str(value))


def all_of(*conditions: Condition) -> All:
    """Return what holds if all conditions hold; tests of fields among them are about one record."""
    return _checked(All, all=conditions)


def any_of(*conditions: Condition) -> AnyOf:
    """Return what holds if one of the conditions holds."""
    return _checked(AnyOf, any=conditions)


def same_record(condition: Condition) -> SameRecord:
    """Return what holds if the condition holds of one record by itself."""
    return SameRecord(same_record=condition)


def _checked(kind: type[_C], **values: object) -> _C:
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        wrong = ", ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise UsageError(f"It is no condition: {wrong}.") from None


def of_person(condition: Condition) -> Condition:
    """Return the condition as a statement about the individual: tests of fields then narrow nothing beside them."""
    if isinstance(condition, Not):
        return Not(negates=of_person(condition.negates))
    return SameRecord(same_record=condition) if condition.is_test else condition


def narrowed(base: Condition, *others: Condition) -> Condition:
    """Return what holds of the units of which `base` and all others hold; the others of the records that pass it."""
    parts = (*(base.all if isinstance(base, All) else (base,)), *(one for one in others if one != ALL))
    return parts[0] if len(parts) == 1 else all_of(*parts)


def each_phrase(condition: Condition, change: Callable[[Says], Condition]) -> Condition:
    """Return the condition in which `change` gives what stands in the place of each phrase."""
    if isinstance(condition, Says):
        return change(condition)
    if isinstance(condition, Not):
        return Not(negates=each_phrase(condition.negates, change))
    if isinstance(condition, SameRecord):
        return same_record(each_phrase(condition.same_record, change))
    if isinstance(condition, All | AnyOf):
        parts = [each_phrase(one, change) for one in condition.parts]
        if isinstance(condition, All):
            return all_of(*parts)
        return any_of(*(own for one in parts for own in (one.any if isinstance(one, AnyOf) else (one,))))
    return condition


def tests_of(base: Condition) -> list[str]:
    """Return the keys of the tests that narrow what stands beside `base` (`narrowed`) to some records."""
    return sorted(one.key for one in (base.all if isinstance(base, All) else (base,)) if one.is_test)


def either_of(regions: "Iterator[Region] | Sequence[Region]") -> Fact:
    """Return the fact that a unit is in one of several regions."""
    facts = frozenset(next(iter(one)) if len(one) == 1 else _as_one(one) for one in regions)
    if len(facts) == 1:
        return next(iter(facts))
    return Fact(("either", _short(facts)), either=facts)


def written(region: Region) -> str:
    """Return a text that is the same for two regions with the same facts, and for no others."""
    return repr(sorted((fact.decides, fact.holds, fact.within) for fact in region))


def _as_one(region: Region) -> Fact:
    """Return several facts as one."""
    return Fact(("all of", _short(region)))


def _short(region: Region) -> str:
    """Return a text as `written`, whose length does not grow with the depth of a condition."""
    return hashlib.sha256(written(region).encode(errors="surrogatepass")).hexdigest()


@lru_cache(1024)
def _phrase(text: str, language: str) -> Phrase:
    return Phrase(text, language)


# --- values -----------------------------------------------------------------------------------------------------------

_BARE = re.compile(r"[\w.:%/+-]+")
_ISO = re.compile(r"(\d{4})(?:-(\d{1,2}))?(?:-(\d{1,2}))?", re.ASCII)
_DOTTED = re.compile(r"(?:(?:(\d{1,2})\.)?(\d{1,2})\.)?(\d{4})", re.ASCII)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


@lru_cache(1024)
def period_of(text: str) -> tuple[str, str] | None:
    """Return the first and the last day that a text names: a day, a month, a year, or a range `A..B`."""
    ends = [_span(one.strip()) for one in text.split("..")]
    if len(ends) > 2 or None in ends:
        return None
    (first, _), (_, last) = ends[0] or ("", ""), ends[-1] or ("", "")
    return (first, last) if first <= last else None


def _span(text: str) -> tuple[str, str] | None:
    iso, dotted = _ISO.fullmatch(text), _DOTTED.fullmatch(text)
    year, month, day = iso.groups() if iso else dotted.groups()[::-1] if dotted else (None, None, None)
    if year is None:
        return None
    try:
        first = date(int(year), int(month or 1), int(day or 1))
        if day:
            last = first
        elif month:
            last = first.replace(day=monthrange(first.year, first.month)[1])
        else:
            last = date(int(year), 12, 31)
    except ValueError:
        return None
    return first.isoformat(), last.isoformat()


def _by_calendar(day: str, relation: Relation, first: str, last: str) -> bool:
    """Return whether a day is in a period, or before or after it."""
    inside = first <= day <= last
    if relation in ("=", "!="):
        return inside == (relation == "=")
    if relation in ("<", "<="):
        return day < first or (inside and relation == "<=")
    return day > last or (inside and relation == ">=")


# --- the text form ----------------------------------------------------------------------------------------------------

_TEST = re.compile(
    r"(?P<name>[^\s\"'()=<>!,](?:[^\"'()=<>!,]*?[^\s\"'()=<>!,])?)\s*(?P<relation>!=|<=|>=|=|<|>)\s*"
    r"(?:'(?P<quoted>(?:[^']|'')*)'|\"(?P<said>[^\"]*)\""
    r"|(?P<bare>[^\s\"'()=<>!,]+(?:\s+(?!(?:and|or)\b)[^\s\"'()=<>!,]+)*))"
)
_SAYS = re.compile(r'"(?P<text>[^"]*)"(?:@(?P<language>\w\w))?')
_WORD = re.compile(r"(?P<word>and|or|not|in one record)\b", re.IGNORECASE)
_FORM = re.compile(r'"|[=<>]|!=')


def is_text_form(text: str) -> bool:
    """Return whether a text is the text form of a condition, and not a phrase."""
    return bool(_FORM.search(text)) or text == "all"


def parse(text: str, language: str = "") -> Condition:
    """Return the condition that a text states: its text form, or a phrase alone. An empty one holds of every unit.

    Args:
        text: such as `"winter hand" or (age >= 60 and not "fever")`, or `winter hand`.
        language: the language of phrases that name none.

    Raises:
        UsageError: if it states none; the error shows the place.
    """
    if not text.strip() or text.strip() == "all":
        return ALL
    if not is_text_form(text):
        return says(text, language)
    return _Parser(text, "" if language == "en" else language).whole()


class _Parser:
    """Reads the text form from the left.

    either    together ("or" together)...
    together  one ("and" one)...
    one       "not" one | "in one record" (either) | (either) | phrase | test
    """

    def __init__(self, text: str, language: str) -> None:
        self._text, self._at, self._language, self._depth = text, 0, language, 0

    def whole(self) -> Condition:
        condition = self._either()
        if self._rest():
            raise self._wrong("'and' or 'or'")
        return condition

    def _either(self) -> Condition:
        parts = self._joined("or", self._together)
        return parts[0] if len(parts) == 1 else AnyOf(any=parts)

    def _together(self) -> Condition:
        parts = self._joined("and", self._one)
        return parts[0] if len(parts) == 1 else All(all=parts)

    def _joined(self, word: str, read: Callable[[], Condition]) -> tuple[Condition, ...]:
        parts = [read()]
        while self._word(word):
            parts.append(read())
            if len(parts) > _MOST_PARTS:
                raise UsageError(f"A condition joins at most {_MOST_PARTS} others. Give fewer.")
        return tuple(parts)

    def _one(self) -> Condition:
        if self._word("not"):
            self._deeper()
            denied = ~self._one()
            self._depth -= 1
            return denied
        if self._word("in one record"):
            return SameRecord(same_record=self._inside())
        if self._rest().startswith("("):
            return self._inside()
        if match := _SAYS.match(self._text, self._at):
            self._at = match.end()
            return says(match["text"], match["language"] or self._language)
        if match := _TEST.match(self._text, self._at):
            self._at = match.end()
            quoted = match["quoted"].replace("''", "'") if match["quoted"] is not None else None
            value = next(one for one in (quoted, match["said"], match["bare"]) if one is not None)
            if not value.strip(" '"):
                raise self._wrong("a value (FIELD=VALUE)")
            return where(match["name"], match["relation"], value)
        raise self._wrong('a phrase in quotes, such as "fever", or a test of a field, such as age>=60 (FIELD=VALUE)')

    def _inside(self) -> Condition:
        self._deeper()
        if not self._rest().startswith("("):
            raise self._wrong("'('")
        self._at += 1
        condition = self._either()
        if not self._rest().startswith(")"):
            raise self._wrong("')'")
        self._at, self._depth = self._at + 1, self._depth - 1
        return condition

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise UsageError(f"A condition is at most {_MOST_DEPTH} levels deep. Write it with fewer parentheses.")

    def _rest(self) -> str:
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1
        return self._text[self._at :]

    def _word(self, wanted: str) -> bool:
        self._rest()
        match = _WORD.match(self._text, self._at)
        if not match or match["word"].casefold() != wanted:
            return False
        self._at = match.end()
        return True

    def _wrong(self, wanted: str) -> UsageError:
        rest = self._rest()[:40]
        place = f"before '{rest}'" if rest else "at the end"
        return UsageError(f"'{self._text[:200]}' is no condition: {place}, {wanted} was expected.")
