"""A phrase: what holds of a unit if its own words say so. Privacy-spec, part 11.

Every word and every sign of a phrase counts. Words with a meaning of their own may stand in any order, close together,
with other endings. If the phrase also has a sign, a letter or a word that means nothing alone ("HIV+", "hepatitis A",
"on dialysis", "heart disease"), its words stand in their order, and that sign or letter at its place. Left out are
articles, forms of "be" and "have", and the prepositions between two words: "a pain in the knee".

A short word in capitals, of a text or of the phrase, is an abbreviation: HIV, PET. It is found by its letters, in any
case, and with the small s of its plural: PETs. No ending is cut from it, nor from a word to find it: "hives" is no HIV,
and "pets" are no PET. A text that is wholly in capitals, with a longer word, has none.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from discreet.algorithms.text.normalize import parts_of
from discreet.algorithms.text.phrases import (
    LONG,
    Span,
    Tongue,
    abbreviation_of,
    is_denied,
    is_of_another,
    is_shouted,
    split_sentences,
    tongue_of,
    window_of,
    words_in,
)
from discreet.errors import UsageError
from discreet.store.unit_records import UnitRecord
from discreet.system.words import as_read

_TOKEN = re.compile(r"\w+(?:['.&]\w+)*|,|(?<=\w)[-\u2212\u2013](?![\w-])|[^\w\s,\u2013-]")
_POINTS = frozenset("'\".:!?()\u2014\u2026\u201c\u201d\u201e\u00ab\u00bb`\u00bf\u00a1;[]")
"""Signs that change nothing."""
_SMALL = frozenset(
    "a an the their his her its my our your himself herself themselves is are was were be been being has have had "
    "having do does did that which who".split()
)
"""Words that change nothing."""
_BETWEEN = frozenset("of in at to for with by from about into onto".split())
"""Words that change nothing between two others."""
_LETTERS = ("a", "A", "i", "I")
"""Letters that may be words of their own."""
_NEAR = 3
"""The most other words between two words of a phrase."""
_NONE = re.compile(r":[ \t]*(?:none|nil|no|neg|negative|denied|absent)(?=[ \t]*(?:[.,;\n]|\Z))", re.IGNORECASE)
"""The answer of a form that denies what stands before it: "Nausea: none."."""
_FAMILY = re.compile(r"\b(?:fhx?|family (?:history|hx)|fa|familienanamnese)(?::| of| for)[ \t]*(?=\S)", re.IGNORECASE)
"""What begins a family's history. What follows is of relatives."""
_SHORT = re.compile(r"\.(?:(?<=\b(?:mr|ms|dr|st)\.)|(?<=\bmrs\.)|(?<=\bprof\.))(?=\s)", re.IGNORECASE)
"""The full stop of a title, which ends no sentence."""
_MARK = re.compile(r"[.:;!?](?=\s)")
_AT_THE_END = re.compile(r"[-\u2010](?<=\w.)[^\S\n]*+\n\s*+(?=\w)")


@dataclass(frozen=True)
class Phrase:
    """What holds of a unit if its own words say so: "Winter Hand", or "no fever".

    Attributes:
        text: the phrase; it holds of every unit if it is empty.
        language: the language of the phrase, whose words deny: "de", "fr" or "es"; English if empty.
    """

    text: str
    language: str = ""

    def __post_init__(self) -> None:
        if not self.words:
            raise UsageError(f"The phrase '{self.text}' has no word with a meaning of its own. Name a thing.")

    def holds(self, record: UnitRecord) -> bool:
        """Return whether it holds: the words stand close together in one of the unit's texts, and are not denied.

        A declared category that consists of these words counts as well, alone or with the name of its field.
        """
        if (verdict := record.said.get(self._key)) is None:
            likely = all(word in record.plain for word in self.words)
            verdict = (likely and (self._in_fields(record) or any(map(self._in_text, record.texts)))) != self.denies
            if likely:
                record.keep(self._key, verdict)
        return verdict

    def among(self, records: Sequence[UnitRecord]) -> list[bool]:
        """Return of which units it holds. Most lack its words; a text that cannot be read says nothing."""
        first, key, lacks = self.words[0], self._key, self.denies
        known: list[Any] = [one.said.get(key) if first in one.plain else lacks for one in records]
        if None not in known:
            return known
        return [self._reads(one) if holds is None else holds for holds, one in zip(known, records, strict=True)]

    def _reads(self, record: UnitRecord) -> bool:
        try:
            return self.holds(record)
        except Exception:  # an unusual text of one unit must not show as an error
            return self.denies

    @cached_property
    def _key(self) -> str:
        return f"{self.language} {self.text}"

    @cached_property
    def decides(self) -> tuple[str, ...]:
        """What decides of which units it holds, without regard to `denies`: equal for two phrases that ask the same."""
        bound = tuple(one if one in "aAiI" else one.casefold() for one in self._ordered)
        name = (self._said.casefold(),) if self._name else ()
        negated = ("without",) if self.has_negation else ()
        written, inflected = self._forms_of_words
        short = sorted(form for form, bare in written.items() if len(bare) < LONG and not form == bare in inflected)
        order = ("in order", *bound) if bound else ()
        return (self.language or "en", *negated, *self.words, *order, *name, *(("written", *short) if short else ()))

    @cached_property
    def _said(self) -> str:
        """The text with each letter in its one form, as the texts of a unit are read."""
        return as_read(self.text)

    @cached_property
    def _tongue(self) -> Tongue:
        return tongue_of(self.language)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Its words with a meaning of their own, without their endings. A word that denies is none of them."""
        rest = (word for word in self.text.split() if word.casefold() not in self._tongue.negations)
        return self._tongue.content(" ".join(rest)) or self._tongue.content(self.text)

    @cached_property
    def denies(self) -> bool:
        """Whether it denies a thing: "no fever" holds of a unit that says nothing of a fever, too."""
        return self._said.casefold().split()[0] in self._tongue.negations if self._said else False

    @cached_property
    def has_negation(self) -> bool:
        """Whether the thing itself has a negation: "cuts that do not bleed"."""
        return bool(self._tongue.negations & set(self._said.casefold().split()[1:]))

    # Its abbreviations

    @cached_property
    def _forms_of_words(self) -> tuple[dict[str, str], frozenset[str]]:
        """Its words without case, as an abbreviation is found, each without its ending; and those that have endings."""
        tongue, shouted = self._tongue, is_shouted(self._said)
        written, inflected = dict[str, str](), set[str]()
        for one in (*parts_of(tongue.plain(self._said)), *self._ordered):
            bare = tongue.stem(one.casefold())
            if one[0].isalnum() and (bare in self.words or one in self._ordered):
                base = "" if shouted else abbreviation_of(one)
                written |= {one.casefold(): bare, (base or one).casefold(): bare}
                inflected |= set() if base else {bare}
        return written, frozenset(inflected)

    def _bare(self, word: str, shouted: bool) -> str:
        """Return that word of the phrase, without its ending, that a word of a text says; "" if it says none."""
        (written, inflected), low = self._forms_of_words, word.casefold()
        base = "" if shouted or low in written else abbreviation_of(word)
        if base or low in written:
            return written.get(base.casefold() or low, "")
        bare = self._tongue.stem(low)
        return bare if bare in inflected else ""

    # In its order

    @cached_property
    def _ordered(self) -> tuple[str, ...]:
        """All its words and signs that count, in their order; nothing if only words with a meaning of their own do."""
        tokens = [one for one in _TOKEN.findall(self._said) if one not in _POINTS]
        kept = [(one, place) for place, one in enumerate(tokens) if not self._changes_nothing(tokens, place)]
        own = {place for one, place in kept if self._tongue.content(one)}
        return tuple(one for one, _ in kept) if len(own) < len(kept) else ()

    def _changes_nothing(self, tokens: Sequence[str], place: int) -> bool:
        token, low = tokens[place], tokens[place].casefold()
        if low in self._tongue.negations:
            return True
        if self.language in ("de", "fr", "es"):
            return low in self._tongue.empty and low not in _FOREIGN[self.language].split()
        if low in ("a", "i"):  # a letter at the end, or a capital one amid small ones: "vitamin A deficiency"
            return place + 1 < len(tokens) and (place == 0 or token.islower() or self._said.isupper())
        return low in _SMALL or (low in _BETWEEN and 0 < place < len(tokens) - 1)

    def _span_in_order(self, sentence: str, shouted: bool) -> Span | None:
        tokens = _TOKEN.findall(sentence)
        span = next(filter(None, (self._end(tokens, start, shouted) for start in range(len(tokens)))), None)
        if not span:
            return None
        # The denial check counts words and commas, and no other signs.
        words = [place for place, one in enumerate(tokens) if one == "," or one[0].isalnum()]
        first, last = (sum(place < end for place in words) for end in span)
        return [tokens[place].casefold() for place in words], first, last

    def _end(self, tokens: Sequence[str], start: int, shouted: bool) -> tuple[int, int] | None:
        """Return the start and the end of the phrase among the tokens of a sentence, if it begins at `start`."""
        at = start
        for number, (wanted, bare) in enumerate(self._forms):
            after_sign = number > 0 and not self._ordered[number - 1][0].isalnum()
            tight = number > 0 and (len(wanted) == 1 or after_sign)
            room = 0 if tight or number == 0 else _NEAR
            while at < len(tokens) and not self._same(tokens, at, wanted, bare, shouted):
                if number and tokens[at].casefold() in _SMALL | _BETWEEN and not tight:
                    at += 1
                elif room and tokens[at][0].isalnum():
                    room, at = room - 1, at + 1
                else:
                    return None
            if at == len(tokens):
                return None
            at += 1
        return start, at

    @cached_property
    def _forms(self) -> tuple[tuple[str, str], ...]:
        """Its words and signs in their order, each itself and without its ending; a sign, or a letter, has none."""
        has_ending = (one[0].isalnum() and one not in _LETTERS for one in self._ordered)
        pairs = zip(self._ordered, has_ending, strict=True)
        return tuple((one, self._tongue.stem(one.casefold()) if ends else "") for one, ends in pairs)

    def _same(self, tokens: Sequence[str], at: int, wanted: str, bare: str, shouted: bool) -> bool:
        token = tokens[at]
        if bare:
            return self._bare(token, shouted) == bare
        if wanted in _LETTERS:  # an article is no letter
            last = at + 1 == len(tokens) or not tokens[at + 1][0].isalnum()
            return token == wanted.upper() or (token == wanted.lower() and last)
        return token == wanted or (wanted in "-\u2212\u2013" and token in "-\u2212\u2013")

    # In the record of a unit

    def _in_fields(self, record: UnitRecord) -> bool:
        return any(
            self._says(name, value) for own in record.fields for name, value in own.items() if isinstance(value, str)
        )

    def _says(self, name: str, value: str) -> bool:
        """Return whether a category consists of these words: "north", "north ward" or "ward north"."""
        orders = (value, f"{value} {name}", f"{name} {value}")
        plain = as_read(orders[1]).replace("\u2019", "'").casefold()
        if not all(map(plain.__contains__, self.words)):  # most categories
            return False
        alike = [one for one in orders if self._tongue.content(one) == self.words]
        if self._ordered:
            return bool(alike) and any(self._span_in_order(one, is_shouted(one)) for one in orders)
        said = ({self._bare(part, is_shouted(one)) for part in parts_of(self._tongue.plain(one))} for one in alike)
        return any({*self.words} <= one for one in said)

    def _in_text(self, text: str) -> bool:
        """Return whether a text says it, as a person reads it; a word that a line breaks is read in two ways."""
        read = as_read(text)
        if not all(map(read.casefold().__contains__, self.words)):  # most texts
            return False
        if "\n" in text and _AT_THE_END.search(text) and self._in_one_form(as_read(_AT_THE_END.sub("-", text))):
            return True
        return self._in_one_form(read)

    def _in_one_form(self, whole: str) -> bool:
        shouted = is_shouted(whole)
        whole = _FAMILY.sub(_OF_RELATIVES.get(self.language, "mother had "), _NONE.sub(" denied", whole))
        whole = self._tongue.plain(_SHORT.sub("", whole)).replace("\u2019", "'")
        if self._name:
            said = _MARK.sub("", self._said)
            whole = self._name.sub(lambda _: said, whole)
        return any(self._in_sentence(one, shouted) for one in split_sentences(whole))

    def _in_sentence(self, sentence: str, shouted: bool) -> bool:
        """Return whether a sentence says it of the individual, and does not deny it."""
        if self._rarest not in sentence.casefold():  # most sentences
            return False
        if self._ordered:
            span = self._span_in_order(sentence, shouted)
        else:
            written = words_in(sentence)
            words = [one.casefold() for one in written]
            stems = [
                self._bare(one, shouted) if low.startswith(self.words) else ""
                for one, low in zip(written, words, strict=True)
            ]
            window = window_of(words, self.words, stems, self._tongue)
            span = (words, *window) if window else None
        if span is None or is_denied(*span, self.has_negation, self._tongue):
            return False
        return self._is_of_relatives or not is_of_another(span[0][: span[1]], self._tongue)

    @cached_property
    def _is_of_relatives(self) -> bool:
        """Whether the phrase itself names a relative: "her mother had asthma"."""
        return not self._tongue.relatives.isdisjoint(words_in(self._said.casefold()))

    @cached_property
    def _rarest(self) -> str:
        """Letters without which no sentence says it: a word begins with its stem."""
        return max((bare for _, bare in self._forms) if self._ordered else self.words, key=len)

    @cached_property
    def _name(self) -> re.Pattern[str] | None:
        """The phrase, if it has a mark that would end a sentence of a text: "L.A. Confidential", "Heat: Part Two"."""
        return re.compile(rf"(?<!\w){re.escape(self._said)}", re.IGNORECASE) if _MARK.search(self._said) else None


_OF_RELATIVES = {"de": "mutter hatte ", "fr": "mère avait ", "es": "madre tenía "}
_FOREIGN = {
    "de": "vor nach seit über unter weder noch ohne",
    "fr": "avant après depuis ni sans",
    "es": "antes después desde ni sin",
}
"""Words of grammar that change a phrase."""
