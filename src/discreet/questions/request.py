"""A request: what is asked, in data. It is public, and the contract of all faces.

    count: "winter hand" or "glass knee", among sex = w and date >= 2026-01-01
    share: "fever", among "winter hand"
    difference: "fever" versus "chills"
    compare: "fever", groups "winter hand" versus "glass knee"
    trend: "fever", by quarter of visit, since 2025-01, until 2026-03
    typical: mean of age, among ward = north
    list: symptoms, among "winter hand", most 5
    summary: all
    themes: complaint, by ward, among sex = w
    fact: What is the treatment for Winter Hand?, choices cold tea | warm oil

A question in words is one way to make a request. A text that begins with a kind and a colon is a request itself.
In one vault a request has a statistic, which follows from declared fields and from the schema.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from difflib import get_close_matches
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from discreet.algorithms.base import Algorithm
from discreet.algorithms.text.attributes import Embed, attribute_meant, attribute_named, matches
from discreet.config import VaultConfig, field_type, field_values
from discreet.errors import UnknownName, UsageError
from discreet.questions.sentences import refusal
from discreet.statistics.conditions import ALL, Condition, FieldTest, Says, is_text_form, parse
from discreet.statistics.counts import Compare, Count, Difference, Share
from discreet.statistics.statistic import Statistic
from discreet.statistics.themes import Themes
from discreet.statistics.trend import MONTHS, Trend
from discreet.statistics.typical import Typical
from discreet.statistics.values import ListValues, Summary
from discreet.store.codebook import USUAL_MOST, Codebook

Kind = Literal["count", "share", "difference", "compare", "trend", "typical", "list", "summary", "themes", "fact"]
KINDS: dict[str, type[Statistic]] = {
    kind.name: kind for kind in (Count, Share, Difference, ListValues, Compare, Trend, Typical, Summary, Themes)
}
"""The statistics by the names of their kinds."""
FACT: Literal["fact"] = "fact"
_MOST_GROUPS, _MOST_CHOICES = 6, 64
_PARTS: dict[str, tuple[str, ...]] = {
    "count": ("of", "among"),
    "share": ("of!", "among"),
    "difference": ("groups!", "among"),
    "compare": ("of", "groups!", "among"),
    "trend": ("of", "by", "dated", "since", "until", "among"),
    "typical": ("attribute!", "what", "among"),
    "list": ("attribute!", "most", "among"),
    "summary": ("among",),
    "themes": ("attribute!", "by", "dated", "since", "until", "most", "among"),
    "fact": ("question!", "choices"),
}
"""The parts of a request of each kind. One with ! must be there."""
_HEADS = {"difference": "groups", "typical": "attribute", "list": "attribute", "themes": "attribute", FACT: "question"}
"""The part that the text form of a kind begins with; `of` for the others."""
_PARAMETERS = {"of": "condition", "among": "population", "dated": "date_field"}
"""The parameters of statistics that have another name than the part of the request."""


class Request(BaseModel):
    """What is asked.

    Attributes:
        kind: what answers it: a statistic, or voters for a fact.
        of: what is counted; for a comparison and a trend, what holds of some units.
        among: the population; all units if None.
        groups: what a difference or a comparison compares.
        attribute: what is listed, measured, or shown by its public values: a declared field, a code, or what was read.
        by: the length of a trend's periods; of themes also a code or category by whose values they are shown.
        dated: the declared date of the periods; the only one if empty.
        since, until: the first and last day, month or year of the periods.
        what: the typical number.
        most: how many values are listed; 0 for ten.
        question: the question of a fact.
        choices: its public answers.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    kind: Kind
    of: Condition | None = None
    among: Condition | None = None
    groups: tuple[Condition, ...] = Field(default=(), max_length=_MOST_GROUPS)
    attribute: str = Field(default="", max_length=200)
    by: str = Field(default="", max_length=200)
    dated: str = Field(default="", max_length=200)
    since: str = Field(default="", max_length=10)
    until: str = Field(default="", max_length=10)
    what: Literal["median", "mean", "quartiles"] = "median"
    most: int = Field(default=0, ge=0)
    question: str = ""
    choices: tuple[str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _by_month(cls, given: Any) -> Any:
        if isinstance(given, dict) and given.get("kind") == "trend" and not given.get("by"):
            return {**given, "by": "month"}
        return given

    @model_validator(mode="after")
    def _check_parts(self) -> "Request":
        for name in _PARTS[self.kind]:
            if name.endswith("!") and not getattr(self, name[:-1]):
                raise ValueError(f"a {self.kind} needs `{name[:-1]}`")
        if self.kind == "trend" and self.by not in MONTHS:
            raise ValueError(f"a trend is by {', '.join(MONTHS)}")
        fields = type(self).model_fields
        given = {name for name in self.model_fields_set if getattr(self, name) != fields[name].default} - {"kind"}
        if strange := sorted(given - {*parts_of_kind(self.kind)}):
            raise ValueError(f"a {self.kind} has no {', '.join(strange)}")
        return self

    @property
    def phrases(self) -> tuple[str, ...]:
        """The phrases that texts are searched for, and the attribute."""
        conditions = (self.of, self.among, *self.groups)
        said = [leaf.says for one in conditions if one is not None for leaf in one.leaves() if isinstance(leaf, Says)]
        return (*said, *([self.attribute] if self.attribute else []))

    def statistic(self, **given: Any) -> Statistic:
        """Return the algorithm of a statistic, with other parameters, such as `epsilon` and `where`."""
        own: dict[str, Any] = {_PARAMETERS.get(name, name): getattr(self, name) for name in parts_of_kind(self.kind)}
        for name in {"condition", "population"} & own.keys():
            own[name] = _text(own[name])
        if self.groups:
            own["groups"] = tuple(map(_text, self.groups))
        return KINDS[self.kind](**(own | given))

    def __str__(self) -> str:
        return "".join(self._written())

    def _written(self) -> Iterator[str]:
        versus = " versus ".join(map(str, self.groups))
        head = versus if self.kind == "difference" else getattr(self, _HEADS.get(self.kind, "of"))
        yield f"{self.kind}: {f'{self.what} of ' if self.kind == 'typical' else ''}{head or ALL}"
        if self.kind == "compare":
            yield f", groups {versus}"
        if self.by:
            yield f", by {self.by}" + (f" of {self.dated}" if self.dated else "")
            yield f", since {self.since}" if self.since else ""
            yield f", until {self.until}" if self.until else ""
        yield f", most {self.most}" if self.most else ""
        yield f", among {self.among}" if self.among and self.among != ALL else ""
        yield f", choices {' | '.join(self.choices)}" if self.choices else ""


def parts_of_kind(kind: str) -> list[str]:
    """Return the names of the parts that a request of a kind may have."""
    return [name.removesuffix("!") for name in _PARTS.get(kind, ())]


def _text(condition: Condition | None) -> str:
    """Return a condition as the parameter of a statistic: a phrase alone unchanged."""
    return "" if condition in (None, ALL) else str(condition)


def request_of_statistic(statistic: Statistic) -> Request:
    """Return the request that a statistic answers. The tests of fields are part of its population."""
    own: dict[str, Any] = {"kind": statistic.name}
    for name in parts_of_kind(statistic.name):
        value = getattr(statistic, _PARAMETERS.get(name, name), None)
        if name in ("of", "groups") and value:
            value = statistic.read(value) if name == "of" else tuple(map(statistic.read, value))
        own[name] = value
    own["among"] = statistic.base
    if not statistic.dates_read:
        own.pop("dated", None)
    return Request(**{name: value for name, value in own.items() if value not in (None, "", ALL)})


# --- Python -----------------------------------------------------------------------------------------------------------


def count(of: Condition | str = ALL, *, among: Condition | str | None = None) -> Request:
    """Return the request for the number of units of which a condition holds."""
    return Request(kind="count", of=_condition(of), among=_condition(among))


def share(of: Condition | str, *, among: Condition | str | None = None) -> Request:
    """Return the request for the part of a population of which a condition holds."""
    return Request(kind="share", of=_condition(of), among=_condition(among))


def themes(attribute: str, *, by: str = "", among: Condition | str | None = None) -> Request:
    """Return the request for the share of each public value of a code or category, in all or by group."""
    return Request(kind="themes", attribute=attribute, by=by, among=_condition(among))


def difference(more: Condition | str, less: Condition | str, *, among: Condition | str | None = None) -> Request:
    """Return the request for how many more units one condition holds of than another one."""
    groups = tuple(one for one in map(_condition, (more, less)) if one is not None)
    return Request(kind="difference", groups=groups, among=_condition(among))


def _condition(given: Condition | str | None) -> Condition | None:
    return parse(given) if isinstance(given, str) else given


# --- the text form ----------------------------------------------------------------------------------------------------

_KIND = re.compile(rf"\s*({'|'.join(get_args(Kind))})\s*:\s*", re.IGNORECASE)
_CLAUSES = ("among", "groups", "by", "since", "until", "most", "choices")
_CLAUSE = re.compile(rf",\s*({'|'.join(_CLAUSES)})\s+", re.IGNORECASE)
_QUOTED = re.compile(r"\"[^\"]*\"|'(?:[^']|'')*'")


def is_request(text: str) -> bool:
    """Return whether a text is a request, and not a question."""
    return _KIND.match(text) is not None


def check_kind(text: str) -> None:
    """Refuse a text that begins with a misspelled kind: as a question it would be paid for nothing.

    Raises:
        UsageError: if it does.
    """
    word = re.match(r"\s*(\w{3,12})\s*:", text)
    meant = get_close_matches(word[1].casefold(), get_args(Kind), n=1, cutoff=0.75) if word else []
    if word and meant and not is_request(text):
        raise UsageError(f"There is no kind of request called '{word[1]}'. Did you mean {meant[0]}:?")


def parse_request(text: str) -> Request:
    """Return the request that a text states.

    Raises:
        UsageError: if it states none.
    """
    found = _KIND.match(text)
    if found is None:
        raise UsageError(f"A request begins with its kind and a colon: {', '.join(get_args(Kind))}. Write count: ...")
    kind = found[1].casefold()
    parts = _split(kind, text[found.end() :])
    choices = parts.get("choices", "")
    if choices.count("|") >= _MOST_CHOICES or len(choices) > 32_000:
        raise UsageError(f"A question has at most {_MOST_CHOICES} choices. Name fewer, and shorter ones.")
    own: dict[str, Any] = {"kind": kind}
    for name, said in parts.items():
        own |= _part(kind, name, said)
    try:
        return Request(**own)
    except ValidationError as error:
        why = "; ".join(f"{'.'.join(map(str, one['loc']))} {one['msg']}".strip() for one in error.errors())
        raise UsageError(f"The request is none: {why}. It has: {', '.join(_clauses_of(kind))}.") from None


def _clauses_of(kind: str) -> list[str]:
    """Return the parts that stand after the head of a text form."""
    return [name for name in parts_of_kind(kind) if name in _CLAUSES and name != _HEADS.get(kind)]


def _without_quotes(text: str) -> str:
    """Return a text of the same length, in which no word is quoted."""
    return _QUOTED.sub(lambda quoted: "x" * len(quoted[0]), text)


def _split(kind: str, text: str) -> dict[str, str]:
    """Return the parts of a text form by their names; the first is its head."""
    hidden = _without_quotes(text) if kind != FACT else text
    marks, known = list(_CLAUSE.finditer(hidden)), _clauses_of(kind)
    if kind == FACT:
        marks = [one for one in marks if one[1].casefold() == "choices"][-1:]
    ends = [*(one.start() for one in marks), len(text)]
    parts = {_HEADS.get(kind, "of"): text[: ends[0]].strip()}
    if not text[: ends[0]].strip():
        example = "all" if kind in ("count", "trend", "summary") else "..."
        raise UsageError(f"The request says nothing of what is asked. Write {kind}: {example}")
    for mark, end in zip(marks, ends[1:], strict=True):
        name = mark[1].casefold()
        if name in parts or name not in known:
            raise UsageError(f"A {kind} has the parts {', '.join(known)}, each once, and no '{name}'.")
        parts[name] = text[mark.end() : end].strip()
    return parts


def _part(kind: str, name: str, said: str) -> dict[str, Any]:
    """Return a part of the text form as parts of a request."""
    match name:
        case "of" | "among":
            return {name: _read(said)} if said != "all" or name == "among" else {}
        case "groups":
            return {name: _versus(said)}
        case "by":
            length, _, dated = said.partition(" of ")
            known = length.strip().casefold() in MONTHS
            return {"by": length.strip().casefold(), "dated": dated.strip()} if known else {"by": said}
        case "most":
            return {name: int(said) if said.isdecimal() and len(said) < 6 else -1}
        case "choices":
            return {name: tuple(one.strip()[:1000] for one in said.split("|") if one.strip())}
    measured = re.fullmatch(r"(median|mean|quartiles) of (.*)", said, re.I | re.S) if kind == "typical" else None
    return {"what": measured[1].casefold(), "attribute": measured[2]} if measured else {name: said}


def _read(said: str) -> Condition:
    """Return the condition of a request, in which every phrase stands in quotes.

    Raises:
        UsageError: if one does not: which words belong to it would be a guess.
    """
    if said and not is_text_form(said):
        pieces = re.split(r"(\b(?:and not|or not|and|or|not)\b)", said)
        quoted = " ".join(
            one.strip() if place % 2 else f'"{one.strip()}"' for place, one in enumerate(pieces) if one.strip()
        )
        raise UsageError(f"A phrase of a request stands in quotes. Write {quoted} in place of {said[:200]}")
    return parse(said)


def _versus(said: str) -> tuple[Condition, ...]:
    cuts = [one.span() for one in re.finditer(r"\b(?:versus\b|vs\b\.?)", _without_quotes(said), re.IGNORECASE)]
    starts, ends = [0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(said)]
    return tuple(_read(said[start:end].strip()) for start, end in zip(starts, ends, strict=True))


# --- the statistic of a request ---------------------------------------------------------------------------------------
# The statistic of a request, in one vault: its date, its attribute under the schema, and whether all of it is known.
#
# All of it depends on public values: the request, the declared fields, and whether the custodian had the documents
# read. A vault that was read under a schema has its attributes. Lists and typical numbers of another one are refused
# unpaid.


def of_request(
    request: Request,
    settings: VaultConfig,
    given: Mapping[str, Any],
    schema: Codebook | None = None,
    book: Codebook | None = None,
) -> Statistic:
    """Return the algorithm of a request, with what follows from the vault: its date, and the range of a number.

    Args:
        request: a request for a statistic.
        settings: the configuration of the vault.
        given: other parameters of the statistic, such as `where` and `epsilon`.
        schema: the book under which statements were read; None if there is none.
        book: the book of the codes; None if the records were not coded.

    Raises:
        CannotAnswer: if the vault cannot release such a statistic.
        UsageError: if such a statistic has no such parameter.
    """
    own: dict[str, Any] = dict(given)
    if request.kind == "list" and public_field(request.attribute, settings, book):
        # Its values are public, so all of them are counted, and none needs a threshold.
        request = Request(kind="themes", attribute=request.attribute, most=request.most, among=request.among)
    if request.kind == "themes":
        own = themes_of(request.attribute, request.by, settings, book) | own
    if request.kind == "trend" or (request.kind == "themes" and request.by in MONTHS):
        own = {"date_field": request.dated or _dates(settings)[0]} | own
    if request.kind == "typical":
        found = attribute_named(schema, request.attribute) if schema else None
        if found is not None and found.low is not None and not _is_declared(request.attribute, settings):
            own = {"low": found.low, "high": found.high} | own
    known = {field.name for field in fields(KINDS[request.kind])}
    if strange := sorted(own.keys() - known):
        raise UsageError(f"A {request.kind} has no {', '.join(strange)}. It has: {', '.join(sorted(known))}.")
    return request.statistic(**own)


def public_field(name: str, settings: VaultConfig, book: Codebook | None) -> str:
    """Return the code, or the category with public values, that a name means; "" if it means none."""
    found = attribute_named(coded, name) if book and (coded := book.part(coded=True)) else None
    if found is not None:
        return found.name.replace(" ", "_")
    some = [one for one, kind in settings.fields.items() if field_values(kind)]
    exact = [one for one in some if one.casefold() == name.casefold().replace(" ", "_")]
    return next((one for one in (*exact, *(one for one in some if matches(one, name)))), "")


def themes_of(attribute: str, by: str, settings: VaultConfig, book: Codebook | None) -> dict[str, Any]:
    """Return the parameters of themes that are public in a vault: the values, and how many of them a unit can have.

    Raises:
        CannotAnswer: if the attribute, or what it is shown by, has no public values.
    """
    found: dict[str, Any] = {}
    known = {one.name.replace(" ", "_"): one.each for one in book.coded} if book else {}
    for name, said, values, each in (("attribute", attribute, "values", "each"), ("by", by, "groups", "spread")):
        if not said or said in MONTHS:
            continue
        meant = public_field(said, settings, book)
        if not meant:
            some = ", ".join(one for one, kind in settings.fields.items() if field_values(kind))
            raise refusal("themes.some" if some else "themes.none", said=said, some=some)
        public = tuple(field_values(settings.fields[meant]))
        # A unit may have several values of a declared category: to count one of them alone would be false.
        found |= {name: meant, values: public, each: known.get(meant, min(len(public), USUAL_MOST))}
    return found


MOST_TESTS, LONGEST_TEST, LONGEST_POPULATION = 32, 200, 2_000
"""The tests of a population that binds a key, and the characters of one and of all: each audit line has them."""


def check_population(where: Sequence[str], settings: VaultConfig) -> str:
    """Refuse a population to which no key can be bound. Return it in words.

    Args:
        where: the tests of declared fields that bind a key.
        settings: the configuration of the vault.

    Raises:
        UsageError: if one is no test of a declared field, if they are too long, or single units do not pay.
    """
    said = " and ".join(where)
    if len(where) > MOST_TESTS or len(said) > LONGEST_POPULATION or any(len(one) > LONGEST_TEST for one in where):
        raise UsageError(
            f"A population has {MOST_TESTS} tests of {LONGEST_TEST} characters at most, and {LONGEST_POPULATION:,} in "
            f"all, not {len(where)} tests with {len(said):,}. Give fewer."
        )
    if where and settings.payment != "unit":
        raise UsageError("A key of a vault where all pay cannot be bound to a population: it has no statistics.")
    check_known(Count(where=tuple(where)), settings, read=True)
    return said


def check_known(algorithm: Algorithm, settings: VaultConfig, *, read: bool) -> None:
    """Refuse an algorithm that needs something that the vault does not know. Nothing was charged.

    Args:
        algorithm: the algorithm.
        settings: the configuration of the vault.
        read: whether the documents were read (`discreet code`).

    Raises:
        UnknownName: if a field that it tests is not declared.
        UsageError: if a field has another type.
        CannotAnswer: if what it reads is no declared field, and the documents were not read.
    """
    if algorithm.spec.needs_readings and not read:
        raise refusal("reading.unread", algorithm.name)
    if not isinstance(algorithm, Statistic):
        return
    for name in (*algorithm.fields_tested, *algorithm.dates_read):
        if name not in settings.fields:
            raise UnknownName("declared field", name, settings.fields)
    for name in algorithm.dates_read:
        if settings.fields[name] != "date":
            raise UsageError(f"The field '{name}' is a {settings.fields[name]}, and a trend needs a date.")
    for test in algorithm.tests:
        _check_value(test, settings.fields[test.field])
    for attribute in algorithm.attributes:
        if not (read or any(matches(name, attribute) for name in settings.fields)):
            raise refusal("reading.unknown", algorithm.name, attribute=attribute)


def _check_value(test: FieldTest, kind: str) -> None:
    """Refuse a value that is none of the type of its field.

    Raises:
        UsageError: if it is none; the error has the accepted forms.
    """
    name, value, values = test.field, test.value, field_values(kind)
    kind = field_type(kind)
    if values and value.casefold() not in map(str.casefold, values):
        meant = next((one for one, labels in values.items() if value.casefold() in map(str.casefold, labels)), "")
        known = ", ".join(f"{one} ({'/'.join(labels)})" if labels else one for one, labels in values.items())
        form = f"{name}={meant or next(iter(values))}"
        raise UsageError(f"The field '{name}' has the values {known}, and '{value}' is none. Write {form}.")
    if kind == "number" and not test.is_number:
        raise UsageError(f"The field '{name}' is a number, and '{value}' is none. Write {name}>=60, or {name}=60..69.")
    if kind == "date" and test.period is None:
        raise UsageError(
            f"The field '{name}' is a date, and '{value}' is no day, month or year. Write {name}=2026-03, "
            f"{name}>=2026-03-01, {name}=31.03.2026, {name}=2026 or {name}=2026-01..2026-03."
        )
    if kind == "category" and test.relation not in ("=", "!="):
        raise UsageError(f"The field '{name}' is a category, without an order. Write {name}={value}.")
    if ".." in value and kind != "category" and test.relation not in ("=", "!="):
        raise UsageError(f"'{value}' is a range, and is tested by = or !=. Write {name}={value}.")


def _dates(settings: VaultConfig) -> list[str]:
    """Return the names of the declared dates.

    Raises:
        CannotAnswer: if there is none.
    """
    if not (dates := [name for name, kind in settings.fields.items() if kind == "date"]):
        raise refusal("trend.dates")
    return dates


def under_schema(
    algorithm: Algorithm,
    settings: VaultConfig,
    schema: Codebook | None,
    embed: Embed,
    book: Codebook | None = None,
) -> Algorithm:
    """Return the algorithm with the attribute of the schema that it means.

    Args:
        algorithm: the algorithm.
        settings: the configuration of the vault; a declared field comes before an attribute.
        schema: the schema under which the documents were read; None if there is none.
        embed: returns the vector of a text; called only if the attribute is not named in the words of the schema.
        book: the book of the codes; None if the records were not coded.

    Raises:
        CannotAnswer: if the documents were not read for such an attribute, or if it is no number.
    """
    if isinstance(algorithm, Themes):
        public = themes_of(algorithm.attribute, algorithm.by, settings, book)
        own = {
            name: value for name, value in public.items() if not getattr(algorithm, name) or name in ("attribute", "by")
        }
        return replace(algorithm, **own)
    if schema is None or not isinstance(algorithm, ListValues | Typical) or _is_declared(algorithm.attribute, settings):
        return algorithm
    found = attribute_meant(schema, algorithm.attribute, embed)
    if found is None:
        known = ", ".join(schema.names)
        raise refusal("reading.other", algorithm.name, known=known, attribute=algorithm.attribute)
    if isinstance(algorithm, ListValues):
        return replace(algorithm, attribute=found.name)
    if found.type != "number":
        raise refusal("reading.no_number", algorithm.name, name=found.name, type=found.type)
    low, high = algorithm.range
    return replace(algorithm, attribute=found.name, low=low, high=high)


def _is_declared(attribute: str, settings: VaultConfig) -> bool:
    return any(matches(name, attribute) for name in settings.fields)
