"""Tests of declared fields in the words of a question: "women", "over 60", "in March 2026", "in ward north".

Each is a test (`FieldTest`), and a mark stands in its place in the text, after "in": "patients in M". So the grammar of
statements sees one form for all of them, and no number or date is left to be searched for in texts.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, product
from typing import cast

from discreet.config import field_type, field_values
from discreet.errors import UsageError
from discreet.questions.sentences import FLAGS, Nouns, Section, entry, nouns_of, pattern, refusal, table
from discreet.statistics.conditions import FieldTest, Relation

_MARKS = Section("marks")

MARK = "\u16d7"
"""A rune: a letter, so that a mark is a word, and no letter of a question."""
MARKED = entry("marks.marked")
AGES = ("age", "alter", "\u00e2ge", "edad")
MONTHS = table("marks.months")
"""The names of the months in each language; English if empty."""
_SHORT = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_QUARTERS = {"first": 1, "second": 2, "third": 3, "fourth": 4}
_DATES = tuple(
    re.compile(rf"{entry('marks.day_lead')}(?:{one})(?![\w-]|[./]\d)", FLAGS) for one in table("marks.dates").values()
)
_A_MONTH = re.compile(rf"{entry('marks.month')}(?!\w)", FLAGS)
_TIMES, _RELATIONS = table("marks.times"), table("marks.relations")
_LABELS, _EVERY = table("marks.labels"), entry("marks.every")
_NAMED, _AGED = table("marks.named"), table("marks.aged")
_OF_RELATIONS = re.compile("WORDS|BOUND")
"""The forms of tests of a number, and those of an age that need no name."""
_IS_AGE, _QUANTITY, _THINGS = pattern("marks.is_age"), pattern("marks.quantity"), pattern("marks.things")
_FOREIGN_LABELS = {one: said.split("|") for one, said in table("marks.foreign_labels").items()}
_FOREIGN_TIMES, _FOREIGN_AGES = table("marks.foreign_times"), table("marks.foreign_ages")
"""Words for "over" in German, French and Spanish; in German a noun after the number is no age."""
_MOST_TESTS = 26
"""A mark has one letter."""


def _filled(form: str, **words: str) -> str:
    """Return a pattern with words in place of its names in capitals; without words it fits nothing."""
    return re.sub("|".join(words), lambda name: words[name[0]] or "(?!)", form)


@dataclass
class Marks:
    """The tests that a text had, by their marks.

    Attributes:
        text: the text, with a mark in place of each test.
        tests: the tests; the first has the mark `a`.
        people: the words for units by which labels are replaced: "patients".
    """

    text: str
    people: str = "people"
    tests: list[FieldTest] = field(default_factory=list)

    def put(self, start: int, end: int, *tests: FieldTest, people: bool = False, each: bool = False) -> None:
        """Replace a part of the text by the marks of tests; with `each`, of the values that are groups."""
        marks = " ".join(f"in {MARK}{chr(ord('a') + len(self.tests) + place)}" for place in range(len(tests)))
        if (len(self.tests) + len(tests)) > _MOST_TESTS:
            raise refusal("unsure.tests", most=_MOST_TESTS)
        self.tests += tests
        marks = f"{self.people} {marks}" if people else f"across {marks} apart" if each else marks
        self.text = " ".join(f"{self.text[:start]} {marks} {self.text[end:]}".split()).replace(" ,", ",")

    def tests_in(self, part: str) -> tuple[FieldTest, ...]:
        """Return the tests whose marks stand in a part of the text."""
        return tuple(self.tests[ord(one[-1]) - ord("a")] for one in re.findall(MARKED, part))


def mark(text: str, fields: Mapping[str, str], nouns: Nouns, *, foreign: bool = False) -> Marks:
    """Return a text with marks in place of what tests declared fields.

    Args:
        text: a sentence in its own spelling.
        fields: the declared fields, with their types.
        nouns: the words for units.
        foreign: whether the text is read as German, French or Spanish.
    """
    text = text.replace(MARK, " ")
    found = Marks(_in_english(text) if foreign else text, nouns.plural)
    of_type = {
        one: [name for name in fields if field_type(fields[name]) == one] for one in ("category", "number", "date")
    }
    for name in of_type["category"]:
        _mark_labels(found, name, field_values(fields[name]), nouns, foreign=foreign)
    _mark_numbers(found, of_type["number"], nouns)
    if len(of_type["date"]) == 1:
        while time := _range(found.text) or _moment(found.text):
            start, end, relation, value = time
            found.put(start, end, FieldTest(field=of_type["date"][0], relation=cast(Relation, relation), value=value))
    return found


def _in_english(text: str) -> str:
    """Return a text with its times and ages in English words: "in Mar 2026" for "im März 2026"."""
    months = {name: n for language in ("de", "fr", "es") for n, name in enumerate(MONTHS[language].split())}
    named = rf"(?:(?P<month>{'|'.join(months)}) (?:de )?)?(?P<year>(?:19|20)\d\d)(?![\w-])"
    for english, said in _FOREIGN_TIMES.items():
        for one in re.finditer(rf"(?<![\w-])(?:{said}) {named}", text, FLAGS):
            month = f"{_SHORT[months[one['month'].casefold()]]} " if one["month"] else ""
            text = text.replace(one[0], f"{english} {month}{one['year']}")
    for english, said in _FOREIGN_AGES.items():
        for one in re.finditer(
            rf"(?<![\w-])(?<!seit )(?:{said}) (\d+)(?P<years> jahren?| ans| años)?(?: alt)?(?!\w)", text, FLAGS
        ):
            text = text.replace(one[0], f"{english} {one[1]} years{' old' if one['years'] else ''}")
    return text


# --- declared values --------------------------------------------------------------------------------------------------


def _mark_labels(marks: Marks, name: str, values: Mapping[str, Sequence[str]], nouns: Nouns, *, foreign: bool) -> None:
    called = "|".join(map(re.escape, _called(name, values, nouns)))
    if 1 < len(values) < 7 and (one := re.search(_filled(_EVERY, FIELD=called), marks.text, FLAGS)):
        tests = (FieldTest(field=name, relation="=", value=value) for value in values)
        marks.put(one.start(), one.end(), *tests, each=True)
        return
    for value, labels in values.items():
        test = FieldTest(field=name, relation="=", value=value)
        if foreign:
            labels = [one for label in labels for one in _FOREIGN_LABELS.get(label.casefold(), [label])]
        # a label that a mark holds ("in", "patients") would be found in its own mark, without an end
        known = [one for one in (*labels, value) if not re.fullmatch(f"in|{nouns.people}", one, FLAGS)]
        words = sorted({one for one in known if one in labels or len(one) > 1}, key=lambda one: (-len(one), one))
        places = [one for one in known if one in labels and _is_place(one, nouns)]
        said = {
            "FIELD": called,
            "PEOPLE": nouns.people,
            "VALUE": "|".join(map(re.escape, sorted(set(known)))),
            "WORDS": _any_form(words),
            "LONGER": _any_form(words) if not foreign and any(len(one) > 2 for one in words) else "",
            "PLACES": _any_form(places),
            "LABELS": _any_form(one for one in known if one in labels and one not in places),
        }
        for form in _LABELS.values():
            while one := re.search(_filled(form, **said), marks.text, FLAGS):
                marks.put(one.start(), one.end(), test, people="who" in one.re.groupindex)


def check_labels(fields: Mapping[str, str], unit_field: str) -> None:
    """Refuse a label of common words alone ("patients in"): every question would test it.

    Raises:
        UsageError: if a declared field has one.
    """
    common = rf"(?:(?:{nouns_of(unit_field, ()).people}|{entry('marks.common')})(?:\s+|$))+"
    for name, kind in fields.items():
        for label in chain(*field_values(kind).values()):
            if re.fullmatch(common, label, FLAGS):
                raise UsageError(
                    f"The label '{label}' of '{name}' has only words that stand in most questions, so each of these "
                    "would test it. Give it a word of its own, such as: north ward."
                )


def _called(name: str, values: Mapping[str, Sequence[str]], nouns: Nouns) -> list[str]:
    """Return the words for a field: its name, and the noun in which the labels of all its values end ("north ward")."""
    ends = [{one.split()[-1] for one in labels if _is_place(one, nouns)} for labels in values.values()]
    shared = set.intersection(*ends) if ends else set()
    return [_plain(name), *sorted(shared)]


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", " ", name).strip()


def _is_place(label: str, nouns: Nouns) -> bool:
    """Return whether a label is no word for people: "north ward", in contrast to "women" and "female patients"."""
    return " " in label.strip() and not re.fullmatch(f"{nouns.people}|{nouns.narrow}", label.split()[-1], FLAGS)


def _any_form(words: Iterable[str]) -> str:
    """Return a pattern of words and their other numbers: "woman" for "women", "females" for "female"."""
    return "|".join(
        f"{re.escape(one[:-2])}[ae]n" if one.casefold().endswith("men") else f"{re.escape(one).removesuffix('s')}s?"
        for one in words
    )


# --- numbers ----------------------------------------------------------------------------------------------------------


def _mark_numbers(marks: Marks, names: Sequence[str], nouns: Nouns) -> None:
    """Mark the tests that name their field, "satisfaction below 3", and then those of an age that need no name."""
    ages = [one for one in names if one.casefold() in AGES]
    for forms, known in ((_NAMED, names), (_AGED, ages)):
        for name, form in product(known, forms.values()):
            said = {"FIELD": re.escape(_plain(name)), "PEOPLE": nouns.people}
            said["OWN"] = _filled(entry("marks.own"), **said) + (entry("marks.of_an_age") if name in ages else "")
            for relation, words in _RELATIONS.items() if _OF_RELATIONS.search(form) else (("=", ""),):
                test = re.compile(
                    rf"(?<![\w-])(?:{_filled(form, WORDS=words, BOUND=words if relation != '=' else '', **said)})",
                    FLAGS,
                )
                while one := _first(test, marks.text, nouns, aged=forms is _AGED):
                    found = one.groupdict()
                    sign = ">=" if found.get("up") else "<=" if found.get("down") else relation
                    value = f"{found['n']}..{found['to']}" if "to" in found else found["n"]
                    held = FieldTest(field=name, relation=cast(Relation, sign), value=value)
                    marks.put(one.start(), one.end(), held, people="who" in found)


def _first(test: re.Pattern[str], text: str, nouns: Nouns, *, aged: bool) -> re.Match[str] | None:
    return next((one for one in test.finditer(text) if not (aged and _is_of_another(one, nouns))), None)


def _is_of_another(found: re.Match[str], nouns: Nouns) -> bool:
    """Return whether a number that names no field is of another thing: "a BMI over 30", "more than 5 drugs".

    A bare number is an age only beside a word for units, or where "who are" or a joining word leads to it.
    """
    if _IS_AGE.search(found[0]):
        return False
    before, after = found.string[: found.start()], found.string[found.end() :]
    aged = re.search(_filled(entry("marks.of_age"), PEOPLE=nouns.people), before, FLAGS)
    owned = re.search(r"\bwhose [^,]*$", before, FLAGS)
    return bool(owned or not aged or (_QUANTITY.search(found[0]) and _THINGS.match(after)))


# --- dates ------------------------------------------------------------------------------------------------------------


def _range(text: str) -> tuple[int, int, str, str] | None:
    """Return the place, relation and value of the first range of dates in a text."""
    for lead in _MARKS.between.finditer(text):
        first = _date(text, lead.end())
        if first is None and (bare := _A_MONTH.match(text, lead.end())):
            first = f"{_number_of(bare['name']):02d}", bare.end()
        join = first and _MARKS.to.match(text, first[1])
        last = join and _date(text, join.end())
        if first and last:
            begin = first[0] if len(first[0]) > 3 else f"{last[0][:4]}-{first[0]}"
            return lead.start(), last[1], "=", f"{begin.split('..')[0]}..{last[0].split('..')[-1]}"
    return None


def _moment(text: str) -> tuple[int, int, str, str] | None:
    """Return the place, relation and value of the first date in a text."""
    for lead in _MARKS.one_date.finditer(text):
        if (date := _date(text, lead.end())) is None:
            continue
        if part := _MARKS.beside.search(f"{text[: lead.start()]}{lead['how'].casefold()} "):
            raise refusal("unsure.date", part=part[0].strip())
        value, end = date
        onwards = _MARKS.onwards.match(text, end)
        sign = next((sign for sign, words in _TIMES.items() if re.fullmatch(words, lead["how"], FLAGS)), "=")
        sign = ">=" if onwards and lead["how"].casefold() == "from" else sign
        bound = {"=": value, "<": value.split("..")[0], ">=": value.split("..")[0]}.get(sign, value.split("..")[-1])
        return lead.start(), onwards.end() if onwards and sign == ">=" else end, sign, bound
    return None


def _date(text: str, at: int) -> tuple[str, int] | None:
    """Return the date at a place of a text in its ISO form, and its end."""
    for form in _DATES:
        if (found := form.match(text, at)) and (value := _iso(found.groupdict())):
            return value, found.end()
    return None


def _number_of(month: str) -> int:
    return _SHORT.index(month[:3].casefold()) + 1


def _iso(parts: Mapping[str, str | None]) -> str:
    """Return a date, a month, a year or a quarter in ISO form; "" if there is no such day."""
    year, day, quarter, name = parts["y"] or "", parts.get("d"), parts.get("q"), parts.get("name")
    if quarter:
        number = _QUARTERS.get(quarter.casefold()) or int(quarter)
        return f"{year}-{3 * number - 2:02d}..{year}-{3 * number:02d}"
    month = _number_of(name) if name else int(parts.get("m") or 0)
    if month > 12 or (day and not 1 <= int(day) <= 31):
        return ""
    return f"{year}-{month:02d}-{int(day):02d}" if day else f"{year}-{month:02d}" if month else year
