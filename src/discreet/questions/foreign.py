"""German, French and Spanish questions for counts, shares, lists, ages and trends: one grammar, by words of all three.

A lead says the kind ("wie viele", "quelle part", "qué síntomas"). A statement follows: units, who they are, and what
holds of them. Marks of tests are taken out first: they narrow who is counted from any place. A question with a word
that would be lost has no slots. A text of another language shows by its letters and its most frequent words.
"""

import re
import unicodedata
from dataclasses import replace
from functools import cache

from discreet.questions.marks import MARKED
from discreet.questions.sentences import FLAGS, LONGEST, Nouns, sentences_of, table
from discreet.questions.statements import Kind, Slots, joined

_SIGNS = table("foreign.signs")
"""Words that tell the languages apart."""
_VERBS = table("foreign.verbs")
"""Verbs that say no more than that a thing holds of a unit."""
_WORDS = table("foreign.words")
_ATTRIBUTES = table("foreign.attributes")
_NUMBERS = "drei trois tres vier quatre cuatro fünf cinq cinco sechs six seis sieben sept siete acht huit ocho".split()


def foreign_slots(question: str, nouns: Nouns) -> Slots | None:
    """Return the slots of a German, French or Spanish question; None if it is of no kind that is read in these.

    Args:
        question: the question, with its tests as marks.
        nouns: the words for units.
    """
    text = " ".join(re.sub("[\u00bf\u00a1]", "", (sentences_of(question) or [""])[-1]).split()).strip(" ?.!,;:\u2026")
    signs = {name: len(re.findall(rf"(?<![\w'-])(?:{said})(?!\w)", text, FLAGS)) for name, said in _SIGNS.items()}
    language = max(signs, key=lambda name: signs[name])
    return _Reader(language, nouns).slots(text) if signs[language] and len(text) <= LONGEST else None


class _Reader:
    """Reads questions in one language: a part "not X" is denied."""

    def __init__(self, language: str, nouns: Nouns) -> None:
        self._language, self._nouns = language, nouns
        own = rf"{re.escape(nouns.plural.removesuffix('s'))}(?:e?[ns]|e)?"
        words = _WORDS | {"verb": _VERBS[language], "units": f"{_WORDS['units']}|{own}|{nouns.people}"}
        words |= {"attribute": "|".join(_ATTRIBUTES.values()), "number": "|".join(_NUMBERS)}
        words |= {"frame": "{frame}|{of}|{verb}".format(**words), "at": "{prep}|{of}".format(**words)}
        # Atomic, since "de la" is also two words: no text takes long.
        self._words = {name: rf"(?>(?<![\w-])(?:{said})(?:(?<=')|(?<!\S)|(?![\w-])))" for name, said in words.items()}

    def _find(self, pattern: str, text: str) -> re.Match[str] | None:
        """Return the first place of a pattern, in which `<name>` stands for words."""
        return re.search(re.sub(r"(?<!\?P)<([a-z]+)>", lambda one: self._words[one[1]], pattern), text, FLAGS)

    def _without(self, pattern: str, text: str) -> str:
        """Return a text without a pattern."""
        text = text.strip(" ,:")
        while text and (found := self._find(pattern, text)):
            text = " ".join(f"{text[: found.start()]} {text[found.end() :]}".split()).strip(" ,:")
        return text

    def slots(self, text: str) -> Slots | None:
        """Return the slots of a sentence; None if it has none."""
        tied = self._find(rf"(?:<join>|<not>|<without>) (?:\S+ )?in {MARKED}", text)
        tests, by = joined(*(f"in {one}" for one in re.findall(MARKED, text))), self._find("<by>", text)
        text = self._without(rf"\bin {MARKED}(?!\w)|<by>", text)
        found = self._counted("share", text) or self._counted("count", text) or self._list(text)
        found = found or (Slots("count", text) if by and len(text.split()) < 3 else None)
        if tied or not found or any(self._find(r"<lost>|^<join> |(?: <join>|[,:]|-)$", one) for one in found.parts):
            return None
        of, among = found.of, joined(tests, found.among)
        of, among = (among, "") if found.kind == "share" and not of else (of, among)
        length = ("", "month", "month", "quarter", "year")[(by.lastindex or 1) if by else 0]
        found = replace(found, of=of, among=among, by=length)
        return replace(found, kind="trend" if by else found.kind, language=self._language)

    def _counted(self, kind: Kind, text: str) -> Slots | None:
        """Return the slots of a count or a share: a population before the lead, and a statement after it."""
        lead = self._find(f"<{kind}>", text)
        front = lead and self._find(r"^(?:(?P<who>.+?) ?[,:\u2013-] ?)??(?:<frame>[ ,:]*)*$", text[: lead.start()])
        if not lead or not front:
            return None
        of, among = self._statement(text[lead.end() :])
        among = joined(self._whom(front["who"] or ""), among)
        return Slots(kind, of or among, among=among if of else "")

    def _statement(self, text: str) -> tuple[str, str]:
        """Return what holds, and of whom."""
        text = self._without("^(?:<of>|<verb>)", text)
        if units := self._find(r"^(?:(?P<mod>(?!<verb>|<prep>|<share>)[\w-]+) )?<units>(?P<rest>.*)", text):
            rest = units["rest"].strip(" ,")
            verb = self._find(r"(?:(?:^|, )(?:die|welche)|(?:^|,? )qu[ie])(?!\w)|(?:^| )(?:ne |n'|no )?<verb>", rest)
            narrow = self._find("^(?:<with>|<without>|<prep>)", rest)
            verb = verb or (narrow and self._find(r"(?<=\w) (?-i:(?!\w*ment$)[a-z\u00df-\u00ff]+(?:en|ent|an))$", rest))
            cut = verb.start() if verb else len(rest) if narrow else 0
            return self._holds(rest[cut:]), joined(units["mod"], self._holds(rest[:cut]))
        who = self._find(r"^(?P<of>.+?) (?:(?:<at> ?)+(?=<units>)|(?:bei|mit|chez|sous|avec|con) )(?P<who>.+)", text)
        who = who or self._find(r"^(?P<who>.+?) (?P<of>(?:ne |n'|no )?<verb> .+)", text)
        return self._holds(who["of"] if who else text), self._whom(who["who"]) if who else ""

    def _holds(self, text: str) -> str:
        """Return what a predicate says; a denial among several things stays in its words."""
        text, before, denied = self._without("^<with>", text), "", False
        no = None if self._find("<join>", text) else self._find(r"^(?:ne |n')?(?P<verb>[\w-]+) <not>", text)
        text, denied = (f"{no['verb']}{text[no.end() :]}", True) if no else (text, False)
        while text != before:
            before = text = self._without("^(?:<verb>|<of>)|<end>$", text)
            if not self._find(" <join> ", text):
                text = self._without(r"^<not>|(?<= )(?:nicht|pas)$|^<without>", text)
                denied = denied != (text != before)
        first, *more = re.split(rf" {self._words['without']} ", text, flags=FLAGS)
        first = f"not {first}" if denied and first else first
        return joined(first, *(f"not {self._without('^<of>', one)}" for one in more))

    def _whom(self, text: str) -> str:
        """Return the population that a phrase names; "" for all units."""
        of, among = self._statement(self._without("^(?:<at>|<with>)", text))
        return joined(among, of)

    def _list(self, text: str) -> Slots | None:
        """Return the slots of a list; None if it does not say of what, or its attribute may be anything."""
        lead = self._find(r"^(?:<frame>[ ,:]*)*?<list>", text)
        attribute = r"[\w-]+ de [\w-]+(?= <usual>)|<attribute>|(?!<units>)[\w-]+[sern]\b"
        pattern = rf"^(?:(?P<most>\d+|<number>) )?(?:<usual> )?(?P<attr>{attribute})(?![\w-])(?P<who>.*)"
        found = self._find(pattern, self._without("^<of>", text[lead.end() :])) if lead else None
        said = found["attr"] if found else ""
        if not found or not self._find(r"(?m)^<attribute>$|<units>|list[ae] des?\b|<usual>", f"{said}\n{text}"):
            return None
        who = self._without("<usual>", found["who"])
        among = self._whom(self._without("^<verb>", who))
        if self._find("<units>", among) or (who and not self._find("^(?:<verb>|<at>|<end>)", who)):
            return None
        number = (found["most"] or "0").casefold()
        most = _NUMBERS.index(number) // 3 + 3 if number in _NUMBERS else int(number)
        named = next((one for one, words in _ATTRIBUTES.items() if re.fullmatch(words, said, FLAGS)), said)
        return Slots("list", among=among, attribute=named, most=most)


# --- the language of a text -------------------------------------------------------------------------------------------
# Guess the language of a text from its letters and its most frequent words, without a model or a network.

_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")

# Frequent words of each language. In a comparison of two languages, their common words are ignored.
_COMMON = table("foreign.common")
_SCRIPTS = dict.fromkeys(_COMMON, "LATIN") | table("foreign.scripts")
"""The beginnings of the names of the letters of each language."""


def is_foreign(text: str, language: str) -> bool:
    """Return whether a text is clearly in another language than this one.

    In doubt, return False: a few words of another language, a name, or a text without frequent words are no sign.

    Args:
        text: a question.
        language: the code of a language, such as "en". For an unknown code and for "", the result is False.
    """
    letters = [unicodedata.name(letter, "") for letter in text if letter.isalpha()]
    scripts = tuple(_SCRIPTS[language].split()) if language in _SCRIPTS else ""
    if sum(name.startswith(scripts) for name in letters) * 2 < len(letters):
        return True
    words = [word.casefold().replace("\u2019", "'") for word in _WORD.findall(text)]
    for other in _COMMON.keys() - {language} if language in _COMMON else ():
        theirs = sum(word in _only(other, language) for word in words)
        own = sum(word in _only(language, other) for word in words)
        if theirs > 2 * own and theirs >= (2 if text.isascii() else 1):
            return True
    return False


@cache
def _only(one: str, other: str) -> frozenset[str]:
    """Return the frequent words of one language that are not frequent in the other."""
    return frozenset(_COMMON[one].split()) - frozenset(_COMMON[other].split())
