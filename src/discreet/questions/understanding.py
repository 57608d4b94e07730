"""A question in words as a request: the slots of its kind, and these as conditions."""

import re
from collections.abc import Mapping, Sequence
from datetime import date as day
from datetime import timedelta
from typing import Any, cast

from discreet.config import field_values
from discreet.errors import UsageError
from discreet.questions.foreign import foreign_slots
from discreet.questions.joins import as_condition, check_words
from discreet.questions.marks import AGES, MARKED, Marks, mark
from discreet.questions.request import Request, parts_of_kind
from discreet.questions.sentences import (
    FLAGS,
    Nouns,
    Section,
    entry,
    phrase,
    points_back,
    refusal,
    sentence_of,
    sentences_of,
)
from discreet.questions.statements import AND, Kind, Slots, slots_of, whom
from discreet.statistics.conditions import ALL, All, Condition, FieldTest, all_of, any_of

_UNDERSTANDING = Section("understanding")

_DENIES = entry("understanding.denies")
_DENIED = re.compile(r"(?:not|without|no) (?:an? |any )?(?P<what>.+)", FLAGS)
_SEVERAL = re.compile(r"\b(?:and|or|but|nor)\b|[,&+/]", FLAGS)
_ONE_OF_TESTS = re.compile(entry("understanding.one_of_tests"))
_MARK_WITH_JOINS = re.compile(entry("understanding.mark_with_joins"))


def read_request(question: str, kind: str, fields: Mapping[str, str], nouns: Nouns) -> Request | None:
    """Return the request that a question of a known kind makes; None if it has another form.

    Args:
        question: the question.
        kind: the kind of statistic.
        fields: the declared fields, with their types.
        nouns: the words for units.

    Raises:
        CannotAnswer: if a part of it would be lost, or can be read in several ways.
    """
    if len(sentences_of(question)) > 1:
        raise refusal("two-things.sentences")
    marks = mark(sentence_of(question), fields, nouns)
    marks.text = _UNDERSTANDING.only.sub(r"\1\2", marks.text)
    if kind != "summary":
        check_words(marks.text, question)
    if (
        kind in ("count", "share")
        and (records := _UNDERSTANDING.records.search(marks.text))
        and records[1] not in nouns.plural
    ):
        meant = question.replace(records[1], nouns.plural, 1)
        raise refusal("unsure.records", records=records[1], units=nouns.plural, meant=meant)
    slots = slots_of(marks.text, cast(Kind, "compare" if kind == "versus" else kind), nouns)
    return _Reading(question, marks, slots, nouns).request(fields) if slots else None


def read_condition(part: str, fields: Mapping[str, str], nouns: Nouns) -> Condition:
    """Return a part of a question as a condition: "women with asthma".

    Raises:
        CannotAnswer: if it states none, or can be read in several ways.
    """
    marks = mark(part, fields, nouns)
    check_words(marks.text, part)
    found = _Reading(part, marks, Slots("count", among=whom(marks.text, nouns)), nouns).request(fields)
    if found.among is None:
        raise refusal("unsure.names_nothing")
    return found.among


def read_foreign(question: str, fields: Mapping[str, str], nouns: Nouns) -> Request | None:
    """Return the request that a question in German, French or Spanish makes; None for another question.

    Raises:
        CannotAnswer: if a part of it would be lost, or can be read in several ways.
    """
    marks = mark(sentence_of(question), fields, nouns, foreign=True)
    slots = foreign_slots(marks.text, nouns)
    return _Reading(question, marks, slots, nouns).request(fields) if slots else None


def _check_values(request: Request, fields: Mapping[str, str]) -> None:
    """Refuse a request whose tests cannot hold together, or in which a declared value is left as a phrase."""
    for one in (request.of, *request.groups):
        values: dict[str, str] = {}
        for test in (*_tests_of(request.among), *_tests_of(one)):
            if test.relation == "=" and values.setdefault(test.field, test.value) != test.value:
                raise refusal("unsure.two_values", request=request, field=test.field)
    said = [said.casefold() for said in request.phrases if said != request.attribute]
    for name, declared in fields.items():
        for value, labels in field_values(declared).items():
            for word in (name, value, *labels):
                if len(word) > 2 and word.casefold() in said:
                    raise refusal("unsure.value", request=request, word=word, field=name, value=value)


def _tests_of(condition: Condition | None) -> list[FieldTest]:
    """Return the tests of fields that must all hold."""
    return [one for one in parts_of(condition) if isinstance(one, FieldTest)]


class _Reading:
    """The slots of a question with its tests."""

    def __init__(self, question: str, marks: Marks, slots: Slots, nouns: Nouns) -> None:
        self._question, self._marks, self._slots, self._nouns = question, marks, slots, nouns

    def request(self, fields: Mapping[str, str]) -> Request:
        """Return the request.

        Args:
            fields: the declared fields, with their types.

        Raises:
            CannotAnswer: if a part of the question would be lost, or can be read in several ways.
        """
        slots = self._slots
        self._check_tests()
        of, tests = self._parted(slots.of)
        if of is None and tests and slots.kind == "share":
            if len(tests) > 1:
                raise refusal("unsure.share", tests=" and ".join(map(str, tests)), of=tests[-1], among=tests[0])
            of, tests = tests[0], ()
        among = together([*tests, *parts_of(self._condition(slots.among))])
        if slots.by and slots.kind != "trend":
            raise refusal("by.period", slots.kind, by=slots.by)
        if slots.kind == "list" and _UNDERSTANDING.vague_list.fullmatch(slots.attribute):
            raise refusal("summary.vague", attribute=slots.attribute)
        own: dict[str, Any] = {"of": of, "attribute": self._attribute(slots.attribute)}
        own |= {"by": slots.by or "month", "what": slots.what, "most": slots.most}
        if slots.kind == "trend":
            among, period = _period(among)
            own |= period
        if slots.groups:
            own["groups"], shared = _shared([self._condition(one) or ALL for one in slots.groups])
            among = together([*parts_of(among), *shared])
        known = {name: value for name, value in own.items() if name in parts_of_kind(slots.kind) and value is not None}
        try:
            found = Request(kind=slots.kind, among=among, **known)
        except ValueError as error:
            raise UsageError(f"It is no request: {error}") from None
        check_whole(found, self._nouns)
        _check_values(found, fields)
        return found

    def _check_tests(self) -> None:
        """Refuse a test of a field that would be lost, or that is denied: it would be asked as its opposite."""
        slots, marks = self._slots, self._marks
        between = rf"(?: (?:{self._nouns.people}|of|in|on|at|from|the|aged|visit|auf|dans|en|su[rn]|der|la|le))*"
        if denied := re.search(rf"{_DENIES}{between} in ({MARKED})", marks.text, FLAGS):
            raise refusal("unsure.denied", test=marks.tests_in(denied[1])[0])
        held = marks.tests_in(" ".join((slots.of, slots.among, slots.attribute, *slots.groups)))
        listed = {one.field for one in marks.tests_in(slots.attribute)}  # "in each ward": all of its values
        for test in marks.tests_in(marks.text):
            if test not in held and test.field not in listed:
                raise refusal("unsure.lost", test=test)

    def _attribute(self, said: str) -> str:
        """Return the name of an attribute: of a declared field, where it is one."""
        if tests := re.fullmatch(MARKED, said) and self._marks.tests_in(said):
            return tests[0].field
        bare = phrase(re.sub(rf"\bin {MARKED}", "", said))
        ages = (name for name in self._nouns.fields if name.casefold() in AGES)
        return next(ages, bare) if bare.casefold() == "age" else bare

    def _parted(self, part: str) -> tuple[Condition | None, tuple[Condition, ...]]:
        """Return what a part says, and the tests that stand in it."""
        said: list[Condition] = []
        tests: list[Condition] = []
        for one in filter(None, part.split(AND)):
            if " or " in one and _ONE_OF_TESTS.fullmatch(one):
                tests.append(any_of(*self._marks.tests_in(one)))
                continue
            tests += self._marks.tests_in(one)
            rest = re.sub(r"^not (?=(?:neither|weder|ni) )", "", self._bare(one))
            if rest == "not":
                raise refusal("unsure.denied", test=tests[-1] if tests else "...")
            if (denied := _DENIED.fullmatch(rest)) and not _SEVERAL.search(rest):
                said.append(~self._says(denied["what"]))
            elif rest:
                said.append(self._says(rest))
        return (together(said), tuple(tests))

    def _bare(self, part: str) -> str:
        """Return a part without its marks, and without the words that only joined these to it."""
        text = _UNDERSTANDING.outer_joins.sub("", " ".join(_MARK_WITH_JOINS.sub(" ", part).split()))
        nothing = _UNDERSTANDING.nothing.fullmatch(text) or re.fullmatch(self._nouns.people, text, FLAGS)
        return "" if re.search(MARKED, part) and nothing else text.strip(" ,")

    def _says(self, part: str) -> Condition:
        if points_back(part):
            raise refusal("follow-up.pronoun", part=part)
        return as_condition(part, self._slots.language, self._question, self._nouns.things)

    def _condition(self, part: str) -> Condition | None:
        said, tests = self._parted(part)
        return together([*tests, *parts_of(said)])


def _period(among: Condition | None) -> tuple[Condition | None, dict[str, str]]:
    """Return the population without the tests of the trend's date, and these as its first and last day."""
    period: dict[str, str] = {}
    kept = []
    for one in parts_of(among):
        if not isinstance(one, FieldTest) or one.period is None or not re.match(r"\d{4}", one.value):
            kept.append(one)
            continue
        first, last = one.value.split("..")[0], one.value.split("..")[-1]
        if one.relation in ("=", ">=", ">"):
            period["since"] = first if one.relation != ">" else _beside(last, 1)
        if one.relation in ("=", "<=", "<"):
            period["until"] = last if one.relation != "<" else _beside(first, -1)
    return together(kept), period


_LONGEST_PHRASE = 9


def check_whole(request: Request, nouns: Nouns) -> None:
    """Refuse a request of which a phrase holds words of the question's frame: the grammar did not understand it.

    Raises:
        CannotAnswer: if one does.
    """
    named = rf"\b(?:by|per|each|every) (?:the )?({'|'.join(map(re.escape, nouns.fields)) or '(?!)'})s?$"
    for one in request.phrases:
        if by := re.search(named, one, FLAGS):
            raise refusal("by.field", request.kind, by=by[1])
        if (left := _UNDERSTANDING.frames.search(one)) or len(one.split()) > _LONGEST_PHRASE:
            why = f"the word '{left[0]}'" if left else "so many words"
            raise refusal("unsure.frame", request=request, phrase=one, why=why, asked=request.kind)


def together(some: Sequence[Condition]) -> Condition | None:
    """Return what holds if all of these hold; None for none."""
    return all_of(*some) if len(some) > 1 else some[0] if some else None


def parts_of(condition: Condition | None) -> tuple[Condition, ...]:
    """Return the conditions that must all hold."""
    return condition.parts if isinstance(condition, All) else () if condition is None else (condition,)


def _shared(groups: Sequence[Condition]) -> tuple[tuple[Condition, ...], tuple[Condition, ...]]:
    """Return the groups of a comparison, and what is said of one and meant of both: "gout in 2025 than in 2024"."""
    tests = list(map(_tests_of, groups))
    said = [
        tuple(one for one in parts_of(group) if one is not ALL and one not in own)
        for group, own in zip(groups, tests, strict=True)
    ]
    fields = {frozenset(one.field for one in own) for own in tests}
    if len(fields) > 1 or not all(tests) or sum(map(bool, said)) != 1:
        return tuple(groups), ()
    return tuple(together(own) or ALL for own in tests), next(filter(None, said))


def _beside(date: str, steps: int) -> str:
    """Return the day, month or year so many after a date of the same form."""
    parts = [int(one) for one in date.split("-")]
    if len(parts) == 3:
        return str(day(*parts) + timedelta(days=steps))
    months = parts[0] * 12 + (parts[1] - 1 + steps if len(parts) == 2 else 12 * steps)
    return f"{months // 12}-{months % 12 + 1:02d}" if len(parts) == 2 else f"{months // 12}"
