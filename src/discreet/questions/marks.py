"""Tests of declared fields in the words of a question: "women", "over 60", "in March 2026", "in ward north".

Each is a test (`FieldTest`), and a mark stands in its place in the text, after "in": "patients in M". So the grammar of
statements sees one form for all of them, and no number or date is left to be searched for in texts.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import cast

from discreet.algorithms.statistics.conditions import FieldTest, Relation
from discreet.config import field_type, field_values
from discreet.errors import CannotAnswer, UsageError
from discreet.questions.sentences import FLAGS, FOREIGN_UNITS, Nouns, entry, nouns_of, pattern, table

MARK = "\u16d7"
"""A rune: a letter, so that a mark is a word, and no letter of a question."""
MARKED = entry("marks.marked")
AGES = ("age", "alter", "\u00e2ge", "edad")
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH = r"(?P<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
_MONTH += r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
_YEAR = r"(?P<y>(?:19|20)\d\d)"
_DATES = tuple(
    re.compile(rf"(?:the )?(?:year |start of |beginning of |month of )?{one}(?![\w-]|[./]\d)", FLAGS)
    for one in (
        rf"{_YEAR}-(?P<m>\d\d?)-(?P<d>\d\d?)",
        rf"{_YEAR}-(?P<m>\d\d?)",
        rf"(?P<d>\d\d?)\.(?P<m>\d\d?)\.{_YEAR}",
        rf"(?P<m>\d\d?)[/.]{_YEAR}",
        rf"q(?P<q>[1-4])(?:[ /-]|,? of )?{_YEAR}",
        rf"(?P<q>first|second|third|fourth) quarter(?: of)? {_YEAR}",
        rf"(?P<d>\d\d?)(?:st|nd|rd|th)?(?: of)? {_MONTH},? {_YEAR}",
        rf"{_MONTH} (?P<d>\d\d?)(?:st|nd|rd|th)?,? {_YEAR}",
        rf"{_MONTH},?(?: of)? {_YEAR}",
        _YEAR,
    )
)
_QUARTERS = {"first": 1, "second": 2, "third": 3, "fourth": 4}
_BETWEEN = re.compile(r"\b(?P<how>between|from)\s+(?=\S*\d|[a-z]{3,9}\b|the )", FLAGS)
_AND = re.compile(r"\s*(?:to|until|till|and|through|-|\u2013)\s*", FLAGS)
_ONE_DATE = pattern("marks.one_date")
_ONWARDS = re.compile(r"\s*,?(?:onwards?|on\b|until (?:today|now)|to (?:date|now|today))", FLAGS)
_BESIDE = pattern("marks.beside")
"""What makes of a date another one: "two weeks before March 2026", "the first half of 2026"."""
_RELATIONS = {"after": ">", "before": "<", "until": "<=", "till": "<=", "up to": "<=", "through": "<="}
_SINCE = frozenset(("since", "as of", "starting", "beginning"))
_N = r"(?P<n>\d+(?:\.\d+)?)"
MONTHS = table("marks.months")
"""The names of the months in each language; English if empty."""
_FOREIGN_LABELS = {"women": ("Frauen", "femmes", "mujeres"), "men": ("Männer", "Männern", "hommes", "hombres")}
_FOREIGN_TIMES = table("marks.foreign_times")
_FOREIGN_AGES = table("marks.foreign_ages")
"""Words for "women", "since" and "over" in German, French and Spanish; in German a noun after the number is no age."""
_ABOVE = {
    r"over|above|more than|greater than|higher than|exceeding|>": ">",
    r"under|below|less than|fewer than|lower than|younger than|smaller than|<": "<",
    r"at least|no less than|not less than|minimum of|>=": ">=",
    r"at most|no more than|not more than|up to|maximum of|<=": "<=",
    r"older than|beyond": ">",
    r"exactly|equal to|=|of|is|:|": "=",
}
_OF_A_NAME = entry("marks.of_a_name")
"""What makes of "north" a part of another name: "from north America"."""
_CALLED = r" (?:surgery|clinic|hospital|doctors?|health|hormones?|nurses?)"
"""Nouns before which a label is a part of a name."""
_COMMON = r"how|many|what|which|who|have|has|had|with|is|are|was|were|in|on|at|from|of|for|by|the|an?|all|our|and|or"
"""Words of which a label alone would be found in every question."""
_MOST_TESTS = 26
"""A mark has one letter."""
_YEARS = r"(?: years?(?: old| of age)?|[- ]?y/?o| ?yrs?(?: old)?)?"


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
            raise CannotAnswer("unsure", f"It tests fields more than {_MOST_TESTS} times. Ask in simpler words.")
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
    types = {name: field_type(kind) for name, kind in fields.items()}
    for step in (partial(_mark_labels, foreign=foreign), _mark_numbers, _mark_dates):
        step(found, {name: (types[name], field_values(kind)) for name, kind in fields.items()}, nouns)
    return found


def _in_english(text: str) -> str:
    """Return a text with its times and ages in English words: "in Mar 2026" for "im März 2026"."""
    months = {name: n for language in ("de", "fr", "es") for n, name in enumerate(MONTHS[language].split())}
    named = rf"(?:(?P<month>{'|'.join(months)}) (?:de )?)?(?P<year>(?:19|20)\d\d)(?![\w-])"
    for english, said in _FOREIGN_TIMES.items():
        for one in re.finditer(rf"(?<![\w-])(?:{said}) {named}", text, FLAGS):
            month = f"{_MONTHS[months[one['month'].casefold()]]} " if one["month"] else ""
            text = text.replace(one[0], f"{english} {month}{one['year']}")
    for english, said in _FOREIGN_AGES.items():
        age = rf"(?<![\w-])(?<!seit )(?:{said}) (\d+)(?P<years> jahren?| ans| años)?(?: alt)?(?!\w)"
        text = re.sub(
            age,
            lambda one, sign=english: f"{sign} {one[1]} years{' old' if one['years'] else ''}",  # type: ignore[misc]
            text,
            flags=FLAGS,
        )
    return text


_Fields = Mapping[str, tuple[str, Mapping[str, Sequence[str]]]]


# --- declared values --------------------------------------------------------------------------------------------------


def _mark_labels(marks: Marks, fields: _Fields, nouns: Nouns, *, foreign: bool) -> None:
    people = rf"(?:{nouns.people})"
    for name, (kind, values) in fields.items():
        if kind != "category":
            continue
        said = "|".join(map(re.escape, _called(name, values, nouns)))
        said = rf"(?:{said})"
        every = (
            r"\b(?:(?:split |broken down |grouped )?by|per|for (?:each|every)|in (?:each|every)|each|every|"
            rf"across(?: (?:the|all))?) {said}s?\b"
        )
        if 1 < len(values) < 7 and (one := re.search(every, marks.text, FLAGS)):
            tests = [FieldTest(field=name, relation="=", value=value) for value in values]
            marks.put(one.start(), one.end(), *tests, each=True)
            continue
        for value, labels in values.items():
            test = FieldTest(field=name, relation="=", value=value)
            if foreign:
                labels = [one for label in labels for one in _FOREIGN_LABELS.get(label.casefold(), (label,))]
            # a label that a mark holds ("in", "patients") would be found in its own mark, without an end
            labels = [one for one in labels if not re.fullmatch(rf"in|{people}", one, FLAGS)]
            named = {*labels, value} - {one for one in (value,) if re.fullmatch(rf"in|{people}", one, FLAGS)}
            words = sorted((one for one in named if one in labels or len(one) > 1), key=len, reverse=True)
            some, each = "|".join(map(_forms, words)), "|".join(map(re.escape, sorted(named)))
            at = r"(?:in|on|from|at|of|within|for) (?:the |our )?"
            forms = [rf"(?:\b{at})?\b{said} (?:is |= ?|of )?(?:{each})(?![\w'-])"] if named else []
            if words:
                forms = [
                    rf"(?P<who>)\b(?:{some})(?= {people}\b) {people}\b",
                    rf"(?:\b{at})?\b(?:{some}) (?:{said}|team)\b",
                    *forms,
                    rf"(?:\b{at})?\b{said} (?:is |= ?|of )?(?:{some})\b",
                ]
            places = [one for one in labels if _is_place(one, nouns)]
            if places:
                forms.append(rf"(?:\b{at})?\b(?:the )?(?:{'|'.join(map(_forms, places))})\b")
            labelled = "|".join(_forms(one) for one in labels if one not in places)
            if labelled:
                forms.append(rf"(?P<who>)(?<![\w-])(?<!\w\w')(?:{labelled})(?![\w'-])(?!{_CALLED})")
            alone = r"(?:(?<=, )|(?<=\bvs )|(?<=\bversus )|(?<=\bthan )|(?<=\bor )|(?<=\band )|(?<=: ))"
            if words:
                forms += [
                    rf"\b(?:in|on|at|from) (?:the |our )?(?:{some})\b(?!{_OF_A_NAME})",
                    rf"{alone}(?:the )?(?:only )?(?:{some})(?: only)?(?=,|$| (?:vs|versus|or|and)\b|:)",
                ]
            if not foreign and any(len(one) > 2 for one in words):
                forms.append(rf"(?<=\w )(?:{some})(?: only)?$|(?<=: )(?:{some})(?= (?:vs|versus|or|and)\b)")
            for form in forms:
                while one := re.search(form, marks.text, FLAGS):
                    marks.put(one.start(), one.end(), test, people="who" in one.re.groupindex)


def check_labels(fields: Mapping[str, str], unit_field: str) -> None:
    """Refuse a label of common words alone ("patients in"): every question would test it.

    Raises:
        UsageError: if a declared field has one.
    """
    common = rf"(?:(?:{nouns_of(unit_field, ()).people}|{_COMMON})(?:\s+|$))+"
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
    return [re.sub(r"[\W_]+", " ", name).strip(), *sorted(shared)]


def _is_place(label: str, nouns: Nouns) -> bool:
    """Return whether a label is no word for people: "north ward", in contrast to "women" and "female patients"."""
    last = label.split()[-1] if label.split() else ""
    return len(label.split()) > 1 and re.fullmatch(rf"{nouns.people}|{nouns.narrow}", last, FLAGS) is None


def _forms(word: str) -> str:
    """Return a pattern of a word and its other number: "woman" for "women", "females" for "female"."""
    text = re.escape(word)
    if word.casefold().endswith("men"):
        return f"{re.escape(word[:-2])}[ae]n"
    return rf"{text.removesuffix('s')}s?"


# --- numbers ----------------------------------------------------------------------------------------------------------


def _mark_numbers(marks: Marks, fields: _Fields, nouns: Nouns) -> None:
    numbers = [name for name, (kind, _) in fields.items() if kind == "number"]
    for forms in (_named_numbers, _ages):
        for name in numbers:
            for form, sign in forms(name, nouns):
                while one := next(
                    (
                        one
                        for one in re.finditer(rf"(?<![\w-]){form}", marks.text, FLAGS)
                        if forms is _named_numbers or not _is_of_another(one, nouns)
                    ),
                    None,
                ):
                    marks.put(one.start(), one.end(), _number(name, sign, one), people=sign.endswith("who"))


_QUANTITY = pattern("marks.quantity")
_THINGS = pattern("marks.things")


def _is_of_another(found: re.Match[str], nouns: Nouns) -> bool:
    """Return whether a number that names no field is of another thing: "a BMI over 30", "more than 5 drugs".

    A bare number is an age only beside a word for units, or where "who are" or a joining word leads to it.
    """
    if re.search(r"\b(?:years? (?:old|of age)|age|older|younger|olds?|y/?o)\b|\ds\b", found[0], FLAGS):
        return False
    before, after = found.string[: found.start()], found.string[found.end() :]
    aged = (
        rf"(?:^|\b{MARKED}|\b(?:{nouns.people}|{FOREIGN_UNITS}|who (?:is|was)|are|were|than|and|or|but|not|those|ones))"
        r"[ ,]*$"
    )
    owned = re.search(r"\bwhose [^,]*$", before, FLAGS)
    return bool(owned or not re.search(aged, before, FLAGS) or (_QUANTITY.search(found[0]) and _THINGS.match(after)))


def _named_numbers(name: str, nouns: Nouns) -> Iterator[tuple[str, str]]:
    """Yield patterns of tests that name their field: "satisfaction below 3"; and of an age: "aged 30 to 39"."""
    said = re.escape(re.sub(r"[\W_]+", " ", name).strip())
    own = (
        rf"(?:(?:with|having|whose|of|and|in|at|for|gave|give|rated) )*(?:an? |the |their )?{said}(?: (?:is|was|are|"
        r"score|value))?"
    )
    if name.casefold() in AGES:
        own = rf"(?:{own}|(?:who (?:is|are|were) )?(?:aged?|of age)(?: of)?)"
    yield rf"{own} (?:between |from )?{_N} ?(?:-|\u2013|to|and) ?(?P<to>\d+(?:\.\d+)?){_YEARS}", ".."
    beside = (
        r"(?P<up> (?:and|or) (?:over|above|older|more|up|better|higher))?"
        r"(?P<down> (?:and|or) (?:under|below|younger|less|lower|worse))?"
    )
    for words, sign in _ABOVE.items():
        if sign != "=":
            yield rf"(?:{words}) (?:an? |the )?{said} of {_N}", sign
        yield rf"{own} (?:{words}) ?{_N}{_YEARS}{beside}(?![\d%])", sign


def _ages(name: str, nouns: Nouns) -> Iterator[tuple[str, str]]:
    """Yield patterns of tests of an age that need no name: "over 60", "30- to 39-year-olds"."""
    if name.casefold() not in AGES:
        return
    yield rf"(?:between|from) {_N} (?:and|to) (?P<to>\d+)(?: years?(?: old| of age)?| of age)", ".."
    yield rf"{_N} ?(?:-|\u2013|to) ?(?P<to>\d+)[- ]years?[- ]olds?(?: {nouns.people})?", ".. who"
    other = (
        r"(?: ?(?:%|percent|per cent|mg|ml|g|kg|cm|times|days?|weeks?|months?|hours?|minutes?|euros?|dollars?|units?|"
        r"points?|notes?|visits?|doses?|stars?))"
    )
    for words, sign in _ABOVE.items():
        if sign != "=":
            lead = r"(?:who (?:is|are|were) )?\b"
            yield rf"(?:the )?{lead}(?:{words}) (?:the age of )?{_N}s(?!\w)", f"{sign} who"
            yield rf"{lead}(?:{words}) (?:the age of )?{_N}{_YEARS}(?![\w.,]*\d)(?!\w)(?!{other}\b)(?! or more\b)", sign
    yield rf"{_N}{_YEARS} (?:and|or) (?:(?P<up>over|above|older|up)|(?P<down>under|below|younger))", "="
    yield rf"{_N}[- ]years?[- ]olds?(?: {nouns.people})?", "= who"


def _number(name: str, sign: str, found: re.Match[str]) -> FieldTest:
    groups = found.groupdict()
    sign = sign.removesuffix(" who")
    if sign == "..":
        return FieldTest(field=name, relation="=", value=f"{groups['n']}..{groups['to']}")
    sign = ">=" if groups.get("up") else "<=" if groups.get("down") else sign
    return FieldTest(field=name, relation=cast(Relation, sign), value=groups["n"])


# --- dates ------------------------------------------------------------------------------------------------------------


def _mark_dates(marks: Marks, fields: _Fields, nouns: Nouns) -> None:
    dates = [name for name, (kind, _) in fields.items() if kind == "date"]
    if len(dates) != 1:
        return
    for found in _times(marks):
        start, end, relation, value = found
        marks.put(start, end, FieldTest(field=dates[0], relation=cast(Relation, relation), value=value))


def _times(marks: Marks) -> Iterator[tuple[int, int, str, str]]:
    """Yield the next time in the text until there is none: its place, relation and value."""
    while True:
        found = _range(marks.text) or _moment(marks.text)
        if found is None:
            return
        yield found


def _range(text: str) -> tuple[int, int, str, str] | None:
    for lead in _BETWEEN.finditer(text):
        first = _date(text, lead.end())
        if first is None and (bare := re.compile(rf"{_MONTH}(?!\w)", FLAGS).match(text, lead.end())):
            first = f"{_number_of(bare['name']):02d}", bare.end()
        join = first and _AND.match(text, first[1])
        last = join and _date(text, join.end())
        if first and last:
            begin = first[0] if len(first[0]) > 3 else f"{last[0][:4]}-{first[0]}"
            return lead.start(), last[1], "=", f"{begin.split('..')[0]}..{last[0].split('..')[-1]}"
    return None


def _moment(text: str) -> tuple[int, int, str, str] | None:
    for lead in _ONE_DATE.finditer(text):
        if (date := _date(text, lead.end())) is None:
            continue
        how = lead["how"].casefold()
        if part := _BESIDE.search(text[: lead.start()] + how + " "):
            raise CannotAnswer(
                "unsure",
                f"With '{part[0].strip()}' a date names another time. Name the first and the last day: from ... to ...",
            )
        value, end = date
        first, last = value.split("..")[0], value.split("..")[-1]
        onwards = _ONWARDS.match(text, end)
        if how.split()[0] in _SINCE or (how == "from" and onwards):
            return lead.start(), onwards.end() if onwards else end, ">=", first
        if how in _RELATIONS:
            sign = _RELATIONS[how]
            return lead.start(), end, sign, first if sign == "<" else last
        return lead.start(), end, "<=" if how.startswith("by") else "=", value
    return None


def _date(text: str, at: int) -> tuple[str, int] | None:
    """Return the date at a place of a text in its ISO form, and its end."""
    for form in _DATES:
        if (found := form.match(text, at)) and (value := _iso(found.groupdict())):
            return value, found.end()
    return None


def _number_of(month: str) -> int:
    return _MONTHS.index(month[:3].casefold()) + 1


def _iso(parts: Mapping[str, str | None]) -> str:
    """Return a date, a month, a year or a quarter in ISO form; "" if there is no such day."""
    year, day, quarter = parts["y"] or "", parts.get("d"), parts.get("q")
    if quarter:
        number = _QUARTERS.get(quarter.casefold()) or int(quarter)
        return f"{year}-{3 * number - 2:02d}..{year}-{3 * number:02d}"
    name = parts.get("name")
    month = _number_of(name) if name else int(parts.get("m") or 0)
    if month > 12 or (day and not 1 <= int(day) <= 31):
        return ""
    return f"{year}-{month:02d}-{int(day):02d}" if day else f"{year}-{month:02d}" if month else year
