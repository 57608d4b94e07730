"""A question in words as a request: the slots of its kind, and these as conditions."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date as day
from datetime import timedelta
from functools import partial
from typing import Any, cast

from discreet.algorithms.statistics.conditions import ALL, All, Condition, FieldTest, all_of, any_of
from discreet.config import field_values
from discreet.errors import CannotAnswer, UsageError
from discreet.questions.comparisons import EACH_VALUE, compare
from discreet.questions.foreign import foreign_slots
from discreet.questions.joins import as_condition, check_words
from discreet.questions.lists import list_values, typical
from discreet.questions.marks import AGES, MARKED, Marks, mark
from discreet.questions.request import Request, parts_of_kind
from discreet.questions.sentences import FLAGS, Nouns, entry, pattern, phrase, points_back, sentence_of, sentences_of
from discreet.questions.statements import AND, Kind, Slots, counted, joined, share, stated, whom, without_closing

_NOTHING = pattern("understanding.nothing")
"""Words that say nothing beside the test of a field."""


_RECORDS = pattern("understanding.records")
"""A count of records: a unit has many of them, and is counted once."""
_VAGUE_LIST = re.compile(r"(?:topic|theme|finding|trend|point|message|pattern|thing|issue)s?", FLAGS)
"""Attributes that are no values of a record."""


_DENIES = entry("understanding.denies")


_ONE_OF_TESTS = re.compile(entry("understanding.one_of_tests"))
_MARK_WITH_JOINS = re.compile(entry("understanding.mark_with_joins"))
_OUTER_JOINS = pattern("understanding.outer_joins")
_CASES = pattern("understanding.cases")


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
        raise CannotAnswer("two-things", "Only one of its sentences would be asked. Ask each by itself, in whole.")
    marks = mark(sentence_of(question), fields, nouns)
    marks.text = re.sub(rf"({MARKED}) only\b|\bonly (in {MARKED})", r"\1\2", marks.text)
    if kind != "summary":
        check_words(marks.text, question)
    if kind in ("count", "share") and (records := _RECORDS.search(marks.text)) and records[1] not in nouns.plural:
        raise CannotAnswer(
            "unsure",
            f"It counts {records[1]}, and here {nouns.plural} are counted, each once with all its documents. If you "
            f"mean these, ask: {re.sub(rf'{records[1]}', nouns.plural, question, count=1)}",
        )
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
        raise CannotAnswer("unsure", "It names nothing.")
    return found.among


def read_foreign(question: str, fields: Mapping[str, str], nouns: Nouns) -> Request | None:
    """Return the request that a question in German, French or Spanish makes; None for another question.

    Raises:
        CannotAnswer: if a part of it would be lost, or can be read in several ways.
    """
    marks = mark(sentence_of(question), fields, nouns, foreign=True)
    slots = foreign_slots(marks.text, nouns)
    return _Reading(question, marks, slots, nouns).request(fields) if slots else None


def _unsure(why: str, meant: str = "") -> CannotAnswer:
    """Return the refusal of a question that would be asked as another one, with what may be meant."""
    return CannotAnswer("unsure", f"{why} Write what is meant as a request{f': {meant}' if meant else ''}.")


def _check_denials(marks: Marks, nouns: Nouns) -> None:
    """Refuse a test of a field that the question denies: it would be asked as its opposite."""
    between = rf"(?: (?:{nouns.people}|of|in|on|at|from|the|aged|visit|auf|dans|en|su[rn]|der|la|le))*"
    if denied := re.search(rf"{_DENIES}{between} in ({MARKED})", marks.text, FLAGS):
        raise _unsure("It denies a test of a field.", f"count: all, among not {marks.tests_in(denied[1])[0]}")


def _check_values(request: Request, fields: Mapping[str, str]) -> None:
    """Refuse a request whose tests cannot hold together, or in which a declared value is left as a phrase."""
    for one in (request.of, *request.groups) if request.of or request.groups else (None,):
        values: dict[str, str] = {}
        for test in (*_tests_of(request.among), *_tests_of(one)):
            if test.relation == "=" and values.setdefault(test.field, test.value) != test.value:
                raise _unsure(
                    f"It would be asked as {request}, of records with two values of '{test.field}' at once. Ask about "
                    "each by itself."
                )
    said = [said.casefold() for said in request.phrases if said != request.attribute]
    for name, declared in fields.items():
        for value, labels in field_values(declared).items():
            for word in (name, value, *labels):
                if len(word) > 2 and word.casefold() in said:
                    raise _unsure(
                        f"It would be asked as {request}, and '{word}' is a declared value of '{name}'.",
                        f"with {name} = {value}",
                    )


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
        _check_denials(self._marks, self._nouns)
        held = map(str, self._marks.tests_in(" ".join((slots.of, slots.among, slots.attribute, *slots.groups))))
        listed = {one.field for one in self._marks.tests_in(slots.attribute)}  # "in each ward": all of its values
        for test in sorted({str(one) for one in self._marks.tests_in(self._marks.text)} - {*held}):
            if test.split()[0] not in listed:
                raise _unsure(f"The test {test} would be lost. Ask in simpler words.")
        denied = slots.denied and not re.match(r"(?:neither|weder|ni) ", slots.of)
        joined = denied and re.search(r"\b(?:and|or|but|nor)\b|[,&+/]", slots.of)
        of, tests = self._parted(f"no {slots.of}" if joined else slots.of)
        if of is not None and denied and not joined:
            of = ~of
        if of is None and denied and tests:
            raise _unsure("It denies a test of a field.", f"count: all, among not {tests[0]}")
        if of is None and tests and slots.kind == "share":
            if len(tests) > 1:
                raise _unsure(
                    f"Which of {' and '.join(map(str, tests))} it asks the share of is in doubt.",
                    f"share: {tests[-1]}, among {tests[0]}",
                )
            of, tests = tests[0], ()
        among = together([*tests, *parts_of(self._condition(slots.among))])
        if slots.by and slots.kind != "trend":
            raise CannotAnswer(slots.kind, f"It asks for values by {slots.by}. Ask for a count by {slots.by}.")
        if slots.kind == "list" and _VAGUE_LIST.fullmatch(slots.attribute):
            raise CannotAnswer(
                "summary",
                f"'{slots.attribute}' is a summary of many documents. Ask for one attribute, for example: What "
                "are the most common symptoms of ...? For the themes of all documents, name a codebook: discreet code "
                "VAULT --book NAME.",
            )
        own: dict[str, Any] = {"of": of, "attribute": self._attribute(slots.attribute)}
        own |= {"by": slots.by or "month", "what": slots.what, "most": slots.most}
        if slots.kind == "trend":
            among, period = self._period(among)
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

    def _attribute(self, said: str) -> str:
        """Return the name of an attribute: of a declared field, where it is one."""
        if tests := re.fullmatch(MARKED, said) and self._marks.tests_in(said):
            return tests[0].field
        bare = phrase(re.sub(rf"\bin {MARKED}", "", said))
        if bare.casefold() == "age":
            return next((name for name in self._nouns.fields if name.casefold() in AGES), bare)
        return bare

    def _parted(self, part: str) -> tuple[Condition | None, tuple[Condition, ...]]:
        """Return what a part says, and the tests that stand in it."""
        said: list[Condition] = []
        tests: list[Condition] = []
        for one in filter(None, part.split(AND)):
            if " or " in one and _ONE_OF_TESTS.fullmatch(one):
                tests.append(any_of(*self._marks.tests_in(one)))
                continue
            tests += self._marks.tests_in(one)
            rest = self._bare(one)
            if rest and re.match(r"(?:not|without|no) ", rest) and not re.search(r"\b(?:and|or|but)\b|,", rest):
                said.append(~self._says(re.sub(r"^(?:not|without|no) (?:an? |any )?", "", rest)))
            elif rest:
                said.append(self._says(rest))
        return (together(said), tuple(tests))

    def _bare(self, part: str) -> str:
        """Return a part without its marks, and without the words that only joined these to it."""
        text = _MARK_WITH_JOINS.sub(" ", part)
        text = " ".join(text.split())
        text = _OUTER_JOINS.sub("", text)
        nothing = _NOTHING.fullmatch(text) or re.fullmatch(self._nouns.people, text, FLAGS)
        return "" if re.search(MARKED, part) and nothing else text.strip(" ,")

    def _says(self, part: str) -> Condition:
        if points_back(part):
            raise CannotAnswer(
                "follow-up",
                f"'{part}' refers to an earlier question. Write the whole question, with the name of "
                "its subject. `discreet chat` knows the question before; for `discreet ask`, name it: "
                "--after QUESTION.",
            )
        return as_condition(part, self._slots.language, self._question, self._nouns.things)

    def _condition(self, part: str) -> Condition | None:
        said, tests = self._parted(part)
        return together([*tests, *parts_of(said)])

    def _period(self, among: Condition | None) -> tuple[Condition | None, dict[str, str]]:
        """Return the population without the tests of the trend's date, and these as its first and last day."""
        period: dict[str, str] = {}
        kept = []
        for one in among.parts if isinstance(among, All) else (among,) if among else ():
            if not isinstance(one, FieldTest) or one.period is None or not re.match(r"\d{4}", one.value):
                kept.append(one)
                continue
            first, last = one.value.split("..")[0], one.value.split("..")[-1]
            if one.relation in ("=", ">=", ">"):
                period["since"] = first if one.relation != ">" else _beside(last, 1)
            if one.relation in ("=", "<=", "<"):
                period["until"] = last if one.relation != "<" else _beside(first, -1)
        return (all_of(*kept) if kept else None), period


_FRAMES = pattern("understanding.frames")
"""Words that frame a question, and that stand in no phrase of a text: the grammar left them over."""
_LONGEST_PHRASE = 9


def check_whole(request: Request, nouns: Nouns) -> None:
    """Refuse a request of which a phrase holds words of the question's frame: the grammar did not understand it.

    Raises:
        CannotAnswer: if one does.
    """
    named = rf"\b(?:by|per|each|every) (?:the )?({'|'.join(map(re.escape, nouns.fields)) or '(?!)'})s?$"
    for one in request.phrases:
        if by := re.search(named, one, FLAGS):
            raise CannotAnswer(
                request.kind,
                f"It asks for values by '{by[1]}', whose values were not declared. For the number of each {by[1]}, ask "
                f"for a list: List the {by[1]}s.",
            )
        if (left := _FRAMES.search(one)) or len(one.split()) > _LONGEST_PHRASE:
            why = f"the word '{left[0]}'" if left else "so many words"
            raise CannotAnswer(
                "unsure",
                f"It would be asked as {request}, and '{one}' is hardly a phrase of a text, for {why}. Ask in "
                "simpler words, or write what is meant as a request, with quotes: " + f"{request.kind}: ...",
            )


def together(some: Sequence[Condition]) -> Condition | None:
    """Return what holds if all of these hold; None for none."""
    return all_of(*some) if len(some) > 1 else some[0] if some else None


def parts_of(condition: Condition | None) -> tuple[Condition, ...]:
    """Return the conditions that must all hold."""
    return condition.parts if isinstance(condition, All) else () if condition is None else (condition,)


def _shared(groups: Sequence[Condition]) -> tuple[tuple[Condition, ...], tuple[Condition, ...]]:
    """Return the groups of a comparison, and what is said of one and meant of both: "gout in 2025 than in 2024"."""
    tests = [[one for one in parts_of(group) if isinstance(one, FieldTest)] for group in groups]
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


# --- the slots of a kind ----------------------------------------------------------------------------------------------


def slots_of(text: str, kind: Kind, nouns: Nouns) -> Slots | None:
    """Return the slots of a sentence that is of a kind; None if it has another form.

    Args:
        text: the sentence, without polite words, with its tests as marks.
        kind: the kind that is asked for.
        nouns: the words for units.
    """
    text, by = _without_period(text)
    if kind == "trend" and not by:
        text, by = _without_period(re.sub(r" an? (?=(?:month|quarter|year)$)", " per ", text, flags=FLAGS))
    if EACH_VALUE.search(text) and (kind in ("count", "share", "list") or (kind == "trend" and not by)):
        kind = "compare"
    if EACH_VALUE.search(text) and (by or kind != "compare" or _COURSE.search(text)):
        raise CannotAnswer("two-things", "Counts and shares alone are asked by group. Ask about each group by itself.")
    read = partial(_trend, timed=True) if by and kind in ("count", "share", "trend") else _READ[kind]
    front = _FRONT.fullmatch(text) if kind not in ("trend", "summary") else None
    if front and (found := read(front["rest"], nouns)):
        among = joined(whom(front["who"] or front["mark"], nouns), found.among)
        return replace(found, by=by or found.by, among=among)
    found = read(text, nouns)
    return found and replace(found, by=by or found.by)


_FRONT = pattern("understanding.front")
"""A population at the front: "among women, is gout commoner than arthritis?"."""


# --- trends -----------------------------------------------------------------------------------------------------------

_PERIOD = pattern("understanding.period")
_ADJECTIVE = pattern("understanding.adjective")
_NAMED = {"yr": "year", "mont": "month", "quar": "quarter", "year": "year", "annu": "year"}
_COURSE = pattern("understanding.course")
_CURVE = entry("understanding.curve")
_ASKED = pattern("understanding.asked")
_CHANGES = pattern("understanding.changes")
_SHOWN = re.compile(rf"\b(?:{_CURVE}|more|fewer|less|show|plot|give|track|draw|follow|i need|i want|the most)\b", FLAGS)
"""What asks for a course of time, where neither a period nor a change does."""
_NUMBERS_OF = pattern("understanding.numbers_of")
_ALL_UNITS = pattern("understanding.all_units")


def _without_period(text: str) -> tuple[str, str]:
    """Return a text without its "by month", and the period."""
    found = _PERIOD.search(text) or _ADJECTIVE.search(text)
    if found is None:
        return text, ""
    word = next(one for one in found.groups() if one)
    rest = " ".join(f"{text[: found.start()]} {text[found.end() :]}".split()).strip(" ,:")
    return rest, _NAMED[word[:4].casefold()]


def _trend(text: str, nouns: Nouns, *, timed: bool = False) -> Slots | None:
    timed = timed or _COURSE.search(text) is not None
    years = re.search(r"\bover the (month|quarter|year)s\b", text, FLAGS)
    text = _COURSE.sub("", text).strip(" ,:")
    text, marks = _parted_marks(text)
    lead = _ASKED.match(text)
    asked = lead[0] if lead else ""
    what, changes = text[len(asked) :], 0
    while found := _CHANGES.search(what):
        what, changes = f"{what[: found.start()]}{what[found.end() :]}", changes + 1
    if not (changes or timed or marks or _SHOWN.search(asked)):
        return None
    what = without_closing(what, nouns)
    what = _CASES.sub("", _NUMBERS_OF.sub("", what))
    slots: Slots | None = Slots("trend")
    if what:
        slots = counted("trend", what, nouns) or counted("share", what, nouns) or stated("trend", what, nouns)
    if slots is not None:
        if _ALL_UNITS.fullmatch(slots.of):
            slots = replace(slots, of="", denied=False)
        by = years[1].casefold() if years else slots.by
        return replace(slots, kind="trend", by=by, among=joined(slots.among, *marks))
    return None


def _parted_marks(text: str) -> tuple[str, list[str]]:
    """Return a text without the marks at its ends, and these: periods stand before or after what they are of."""
    marks: list[str] = []
    while found := re.search(rf"^in ({MARKED})\b[ ,]*|[ ,]*\bin ({MARKED})$", text):
        marks.append(found[1] or found[2])
        text = f"{text[: found.start()]}{text[found.end() :]}".strip(" ,")
    return text, marks


# --- summaries --------------------------------------------------------------------------------------------------------

_SUMMARY = pattern("understanding.summary")
_SUMMED = pattern("understanding.summed")


def _summary(text: str, nouns: Nouns) -> Slots | None:
    core = _SUMMARY.sub("", text)
    while (shorter := _SUMMED.sub("", core)) != core:
        core = shorter
    return Slots("summary", among=whom(core, nouns) if core else "")


_READ: dict[Kind, Callable[[str, Nouns], Slots | None]] = {
    "count": partial(counted, "count"),
    "share": share,
    "difference": compare,
    "compare": compare,
    "trend": _trend,
    "typical": typical,
    "list": list_values,
    "summary": _summary,
}
