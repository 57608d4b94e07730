"""The statements of a text about the attributes of a schema, each asked of the model by itself.

1  The model reads the text once, after the public instructions and examples.
2  For each attribute it continues a sentence that was begun for it.
3  A value in this sentence counts only if it stands in the text: its words, its number, or its date.

A small model misspells words when it copies them ("sudden splendid medicine"), so such words are set right first. The
schema may be proposed by the model, from public texts alone: the attributes that many of them state.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import partial

from discreet.algorithms.text.attributes import matches
from discreet.algorithms.text.normalize import ALIKE, ARTICLES, SENTENCE_END, STOP_WORDS, stem, words_of
from discreet.algorithms.text.phrases import is_denied_in, sentences_of
from discreet.engines.ray import RayModel
from discreet.errors import BadData
from discreet.files.fields import dates_in, read_date
from discreet.models.answers import decode_rows
from discreet.models.length_buckets import in_order, map_in_buckets
from discreet.models.prompts import DOCUMENT_TOKENS, NOT_STATED, Layout, asking_layout, begin_sentence
from discreet.models.protocol import ScoringModel
from discreet.store.codebook import LONGEST_NAME, Attribute, Codebook, Type
from discreet.synthesis.base import Fact
from discreet.synthesis.extraction import BLOCK, facts_of

# --- misspelt words ---------------------------------------------------------------------------------------------------

# A small model writes "sudden splendid medicine" for "Suddenly Splendid Medicine". Such a value does not stand in the
# text, and would be lost. It is replaced by the run of the text's own words that is nearly the same. So a value still
# consists of the text's words, and is a function of one text and of what the model wrote about it.


_SAME_START = 4
"""The number of letters with which a misspelled word begins like the word of the text."""
_MOST_WORDS = 12


def as_written(value: str, text: str) -> str:
    """Return a value in the words of a text: itself if they are its words, the run of words that it copies, or "".

    At least half of the words that mean something are copied exactly, each other one begins with the same four letters,
    and the whole is nearly the same. A word with a digit is copied exactly: another number is another value.
    """
    words, own = words_of(value), words_of(text)
    if not words or set(words) <= set(own):
        return value if words else ""
    if not 1 < len(words) <= _MOST_WORDS:
        return ""
    runs = (own[start : start + len(words)] for start in range(len(own) - len(words) + 1))
    run_of = next((run for run in runs if _copies(words, run)), [])
    return " ".join(run_of)


def _copies(words: list[str], run: list[str]) -> bool:
    pairs = list(zip(words, run, strict=True))
    if not all(one == other or _is_misspelled(one, other) for one, other in pairs):
        return False
    if SequenceMatcher(None, " ".join(words), " ".join(run), autojunk=False).ratio() < ALIKE:
        return False
    exact = sum(one == other for one, other in pairs if one not in STOP_WORDS)
    return 2 * exact >= sum(one not in STOP_WORDS for one in words) > 0


def _is_misspelled(said: str, written: str) -> bool:
    start = said[:_SAME_START]
    return len(start) == _SAME_START and written.startswith(start) and (said + written).isalpha()


# --- the values in a sentence -----------------------------------------------------------------------------------------

# A value counts only if it stands in the text: its words, its number, or its date.


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


# --- statements -------------------------------------------------------------------------------------------------------

# All steps are a function of this one text, of the schema and of the model.


ASKED = 1
"""The version of the steps: what was read with another version is not used."""

Found = tuple[str, str, bool, float | None, str]
"""A statement as plain data: its attribute and value, whether it is denied, its number, and the unit of the number."""


def asked(
    model: ScoringModel, texts: Sequence[str], schema: Codebook, tokens: int, text_tokens: int
) -> Iterator[tuple[int, list[Found]]]:
    """Yield the statements of each text, with the text's position.

    Args:
        model: the public model; on a cluster, workers read many texts at a time.
        texts: the texts.
        schema: the public schema.
        tokens: the maximum number of tokens that are written for an attribute: public.
        text_tokens: the number of tokens of a text that are read: public.
    """
    said: Iterator[tuple[int, list[str]]]
    if isinstance(model, RayModel):
        reader = partial(_by_a_worker, schema=schema, tokens=tokens, text_tokens=text_tokens)
        said = enumerate([str(one) for one in own] for own in model.read(reader, texts))
    else:
        said = _said(model, texts, schema, tokens, text_tokens)
    yield from ((place, statements_said(schema, texts[place], own)) for place, own in said)


def statements_said(schema: Codebook, text: str, said: Sequence[str]) -> list[Found]:
    """Return the statements of a text, from what the model wrote for each attribute.

    A text that says a value of one attribute does not say it of a later one: a small model repeats what it read.
    """
    statements: list[Found] = []
    sentences = sentences_of(text)
    taken: set[str] = set()
    for attribute, sentence in zip(schema.attributes, said, strict=True):
        for one in values_said(attribute, sentence, text):
            if one.text in taken and attribute.type == "text":
                continue
            taken.add(one.text)
            statements.append((attribute.name, one.text, is_denied_in(sentences, one.text), one.number, one.unit))
    return statements


def _said(
    model: ScoringModel, texts: Sequence[str], schema: Codebook, tokens: int, text_tokens: int
) -> Iterator[tuple[int, list[str]]]:
    beginnings = [model.encode(begin_sentence(one.name)) for one in schema.attributes]
    room = tokens + max(map(len, beginnings))
    laid_out = asking_layout(model, text_tokens, room)

    def read(length: int, block: list[list[int]]) -> list[list[str]]:
        return _written(model, replace(laid_out, document_tokens=length), block, beginnings, tokens)

    return map_in_buckets(model, texts, text_tokens, BLOCK, read)


def _written(
    model: ScoringModel, laid_out: Layout, texts: Sequence[Sequence[int]], beginnings: list[list[int]], tokens: int
) -> list[list[str]]:
    """Return what the model writes of each text for each attribute. The text is fed once."""
    prompts = [laid_out.prompt(text) for text in texts] + [laid_out.prompt()] * (BLOCK - len(texts))
    decoding = model.start(laid_out.shared, prompts, tokens + max(map(len, beginnings)))
    sentences: list[list[str]] = [[] for _ in texts]
    for beginning in beginnings:
        decoding.truncate(0)
        for token in beginning:
            decoding.append(token)
        written: list[list[int]] = [[] for _ in prompts]
        ended = [place >= len(texts) for place in range(len(prompts))]
        for step in range(tokens):
            best = decoding.best().tolist()
            for place, token in enumerate(best):
                ended[place] = ended[place] or token in model.end_tokens
                if not ended[place]:
                    written[place].append(token)
                    ended[place] = _is_whole(model.decode(written[place]))
            if step == tokens - 1 or all(ended):
                break
            decoding.append_each(best)
        for own, one in zip(sentences, written, strict=False):
            own.append(model.decode(one))
    return sentences


def _is_whole(said: str) -> bool:
    """Return whether a sentence has ended: the word after it has begun, so "2.5" is no end."""
    end = SENTENCE_END.search(said)
    return "\n" in said or (end is not None and end.end() < len(said.rstrip()))


def _by_a_worker(
    model: ScoringModel, texts: list[str], schema: Codebook, tokens: int, text_tokens: int
) -> list[list[str]]:
    return in_order(_said(model, texts, schema, tokens, text_tokens))


# --- the proposal of a schema -----------------------------------------------------------------------------------------

# 1  The model writes what each text states, in the form in which it is asked later (`models.prompts`).
# 2  Of each text, the kinds of statements whose values stand in it are counted.
# 3  A kind of at least a tenth of the texts is an attribute. Its type follows from its values.

# A kind of which nearly every text has another value, such as a name, tells individuals apart, and is left out.


MOST_TEXTS, MOST_PROPOSED = 200, 8
LEAST_SHARE = 0.1
"""The part of the texts that state an attribute, at least."""
_TOKENS = 64
_ALIKE = 0.8
"""The part of the values that have a type, at least."""
_TOO_MANY = 0.8
"""The part of the values that are different, at most; of a text."""


def propose_schema(model: ScoringModel, texts: Sequence[str]) -> Codebook:
    """Return the attributes that public texts state most often.

    Args:
        model: the model.
        texts: public texts; at most 200 of them, spread evenly, are read.

    Raises:
        BadData: if the texts share no attribute.
    """
    number = min(MOST_TEXTS, len(texts))
    some = [texts[place * len(texts) // number] for place in range(number)]
    values: dict[str, list[str]] = defaultdict(list)
    stated: Counter[str] = Counter()
    for place, facts in _stated(model, some):
        kinds: dict[str, None] = {}
        for kind, value in facts:
            if kind and len(kind.split()) <= LONGEST_NAME and _stands_in(value, some[place]):
                same_kind = next((one for one in values if matches(one, kind) and matches(kind, one)), kind)
                values[same_kind].append(value)
                kinds[same_kind] = None
        stated.update(list(kinds))
    common = [kind for kind, count in stated.most_common() if count >= LEAST_SHARE * number]
    attributes = [one for kind in common if (one := _attribute(kind, values[kind]))]
    if not attributes:
        raise BadData(
            f"The model found no attribute that a tenth of the {number} texts state. Write a schema yourself."
        )
    return Codebook(attributes=tuple(_distinct(attributes)[:MOST_PROPOSED]))


def _attribute(kind: str, values: Sequence[str]) -> Attribute | None:
    """Return the attribute of a kind, with its type; None if its values tell individuals apart."""
    type_ = _type(values)
    if type_ == "number":
        after = Counter(unit_of(word) for value in values for _, word in numbers_in(value))
        unit = after.most_common(1)[0][0]
        return Attribute(name=kind, type="number", unit=unit)
    different = len(set(values)) / len(values)
    return None if type_ == "text" and len(values) > 1 and different > _TOO_MANY else Attribute(name=kind, type=type_)


def _type(values: Sequence[str]) -> Type:
    enough = _ALIKE * len(values)
    if sum(read_date(value) is not None for value in values) >= enough:
        return "date"
    return "number" if sum(_is_number(value) for value in values) >= enough else "text"


def _is_number(value: str) -> bool:
    """Return whether a value is a number, alone or with its unit."""
    return len(list(numbers_in(value))) == 1 and len(value.split()) <= 2


def _distinct(made: Sequence[Attribute]) -> list[Attribute]:
    """Return the attributes that a question can tell apart: of two alike, the more frequent one."""
    kept: list[Attribute] = []
    for one in made:
        if not any(matches(one.name, other.name) or matches(other.name, one.name) for other in kept):
            kept.append(one)
    return kept


def _stands_in(value: str, text: str) -> bool:
    numbers = list(numbers_in(value))
    return stands_in(value, numbers[0][0] if _is_number(value) else None, text)


def _stated(model: ScoringModel, texts: Sequence[str]) -> Iterator[tuple[int, list[Fact]]]:
    laid_out = asking_layout(model, DOCUMENT_TOKENS, _TOKENS)

    def read(length: int, block: list[list[int]]) -> list[list[Fact]]:
        own = replace(laid_out, document_tokens=length)
        prompts = [own.prompt(text) for text in block] + [own.prompt()] * (BLOCK - len(block))
        decoding = model.start(own.shared, prompts, _TOKENS)
        written = decode_rows(decoding, decoding.best(), _TOKENS, model.end_tokens, all_steps=False)
        return [facts_of(model.decode(tokens), whole=ended) for tokens, ended in written[: len(block)]]

    return map_in_buckets(model, texts, DOCUMENT_TOKENS, BLOCK, read)
