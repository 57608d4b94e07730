"""The values in a sentence that a model wrote about an attribute, by the type of the attribute.

A value counts only if it stands in the text: its words, its number, or its date.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from discreet.algorithms.text.normalize import ARTICLES, SENTENCE_END, stem, words_of
from discreet.generation.asking import NOT_STATED
from discreet.reading.fields import dates_in, read_date
from discreet.retrieval.codebook import Attribute

_COMMA = re.compile(r"[,;]\s+(?:and\s+|or\s+)?", re.IGNORECASE)
_SENTENCE = re.compile(r"\b(?:is|are|was|were)\b")
"""A verb: what the model wrote is another sentence, and no value."""
_NUMBER = re.compile(r"(?<![\w.,])[-+]?\d+(?:,\d{3})*(?:\.\d+)?(?![\d]|[.,]\d)", re.ASCII)
_AFTER = re.compile(r"[\s-]*([^\W\d_]+|%|°\s?[CF]|[€$£])")
_UNITS = tuple(
    " ".join(group.split())
    for group in """years year yrs yr y; months month; weeks week; days day; hours hour h hrs; minutes minute min mins;
seconds second s; kg kilograms kilogram kilos kilo; g grams gram; mg milligrams milligram; lb lbs pounds pound; cm
centimetres centimeters; mm millimetres millimeters; m metres meters; km kilometres kilometers; inches inch;
feet foot ft; ml millilitres milliliters; l litres liters; % percent; € euros euro eur; $ dollars dollar usd; £
gbp; mmhg; bpm; °c; °f""".split(";")
)
"""Spellings of common units. A number with another unit than the schema's is left out: nothing is converted."""


@dataclass(frozen=True)
class Value:
    """A value that stands in a text.

    Attributes:
        text: the value in one spelling: words without case, the spelling of a category, a date, or a number.
        number: the number; None if it is none.
        unit: the unit of the number.
    """

    text: str
    number: float | None = None
    unit: str = ""


def values_said(attribute: Attribute, sentence: str, text: str) -> list[Value]:
    """Return the values that a sentence says and a text has, each once.

    Args:
        attribute: the attribute.
        sentence: what the model wrote after "The symptoms are".
        text: the text.
    """
    end = SENTENCE_END.search(sentence)
    said = (sentence[: end.start()] if end else sentence).split("\n")[0].strip()
    if said.casefold().startswith(NOT_STATED):
        return []
    reader = _codes if attribute.is_coded else {"text": _texts, "number": _numbers, "date": _dates}[attribute.type]
    return list(dict.fromkeys(reader(attribute, said, text)))


def stands_in(value: str, number: float | None, text: str) -> bool:
    """Return whether a text has a value: its words, its number, or its date."""
    if number is not None:
        return number in {one for one, _ in numbers_in(text)}
    words = words_of(value)
    return bool(words) and (set(words) <= set(words_of(text)) or value in dates_in(text))


def numbers_in(text: str) -> Iterator[tuple[float, str]]:
    """Yield the numbers of a text, each with the word that follows it, without case."""
    for match in _NUMBER.finditer(text):
        after = _AFTER.match(text, match.end())
        yield float(match[0].replace(",", "")), after[1].casefold().replace(" ", "") if after else ""


def unit_of(word: str) -> str:
    """Return the usual spelling of a common unit; empty if the word is none."""
    return next((group.split()[0] for group in _UNITS if word in group.split()), "")


def _texts(attribute: Attribute, said: str, text: str) -> Iterator[Value]:
    for part in _COMMA.split(said):
        words = words_of(part)
        while words and words[0] in ARTICLES:
            words = words[1:]
        value = " ".join(words)
        own = {stem(word) for word in words} <= {stem(word) for word in words_of(attribute.name)}
        if value and not own and not _SENTENCE.search(value) and stands_in(value, None, text):
            yield Value(value)


def _codes(attribute: Attribute, said: str, text: str) -> Iterator[Value]:
    """Yield the values that the sentence names, by name or by another word: the first ones, as many as count.

    The book is what they are checked against: the text may say "short of breath" where the code is "breathing".
    """
    words = words_of(said)
    called = [(words_of(word), one.name) for one in attribute.values for word in (one.name, *one.words)]
    spelled = sorted(called, key=lambda pair: -len(pair[0]))
    names: dict[str, None] = {}
    place = 0
    while place < len(words):
        own, name = next(
            ((own, name) for own, name in spelled if own and words[place : place + len(own)] == own), ([], "")
        )
        names |= {name: None} if name else {}
        place += len(own) or 1
    yield from map(Value, list(names)[: attribute.each])


def _numbers(attribute: Attribute, said: str, text: str) -> Iterator[Value]:
    """Yield the first number of the sentence, if the text has it in the unit of the attribute, or without a unit."""
    for number, _ in numbers_in(said):
        there = [after for one, after in numbers_in(text) if one == number and _agrees(after, attribute.unit)]
        if there and (attribute.low is None or attribute.high is None or attribute.low <= number <= attribute.high):
            yield Value(f"{number:.12g}", number, attribute.unit)
        return


def _dates(attribute: Attribute, said: str, text: str) -> Iterator[Value]:
    day = read_date(said) or next(dates_in(said), None)
    if day is not None and day in dates_in(text):
        yield Value(day)


def _agrees(after: str, unit: str) -> bool:
    """Return whether the word after a number is the unit, or no unit at all."""
    own = unit.casefold().replace(" ", "")
    return not own or not unit_of(after) or unit_of(after) == (unit_of(own) or own)
