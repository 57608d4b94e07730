"""What the phrase rule knows of a language: words that deny, words that mean nothing alone, and endings.

English is that of `phrases` and `yes_no_claim`. The other languages have short tables here. Which one counts is public:
it is that of the question. So whether a phrase holds remains a function of the question and of one unit's texts.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from discreet.algorithms.text.keywords import STOP_WORDS
from discreet.algorithms.text.normalize import words_of
from discreet.algorithms.text.yes_no_claim import NEGATIONS, content, stem
from discreet.errors import UnknownName


@dataclass(frozen=True)
class Tongue:
    """What is known of a language.

    Attributes:
        negations: the words that deny what stands beside them.
        forward: those of them that deny what follows alone: "Winter Hand without fever".
        joins: the words after which a sentence speaks of another thing.
        empty: the words that mean nothing alone.
        content: returns the words of a phrase that count, without their endings, each once.
        stem: returns a word without its ending.
        plain: returns a text in which words that are written together stand apart.
    """

    negations: frozenset[str]
    forward: frozenset[str]
    joins: frozenset[str]
    empty: frozenset[str]
    content: Callable[[str], tuple[str, ...]]
    stem: Callable[[str], str]
    plain: Callable[[str], str] = str


@dataclass(frozen=True)
class _Words:
    """The words of a language.

    Attributes:
        negations, forward, joins, empty: see `Tongue`. The negations have no forward ones.
        endings: the endings that are cut off, the longest first; at least three letters stay.
        elided: the letters of words that lose their end before a vowel: l'asthme.
    """

    negations: str
    forward: str
    joins: str
    empty: str
    endings: Sequence[str]
    elided: str = ""


_KNOWN = {
    "de": _Words(
        "nicht nie niemals nein verneint verneinte verneinen ausgeschlossen",
        "kein keine keiner keinen keinem keines ohne weder leugnet leugnete",
        "und oder aber sondern jedoch doch",
        "der die das des dem den ein eine einer eines einem einen und oder in im an am auf aus bei beim mit von vom zu "
        "zum zur über unter für gegen nach vor seit um als wie auch noch schon sehr ist sind war waren wird wurde "
        "wurden hat haben hatte hatten sich er sie es ihr ihre ihren sein seine seinen patient patientin patienten",
        ("en", "er", "es", "em", "e", "n", "s"),
    ),
    "fr": _Words(
        "pas jamais non ni",
        "sans aucun aucune nie nient absence",
        "et ou mais",
        "le la les un une des du de d l et ou à a au aux en dans sur avec par pour chez contre que qui se s ce cette "
        "ces "
        "son sa ses leur leurs il elle ils elles est sont était a ont avait y très aussi patient patiente patients",
        ("es", "s", "x", "e"),
        "cdjlmnst",
    ),
    "es": _Words(
        "no nunca jamás ni",
        "sin niega niegan negó ningún ninguna ninguno tampoco ausencia",
        "y e o u pero sino aunque",
        "el la los las un una unos unas de del al a en con por para y e o u que se su sus es son era está están fue ha "
        "han hay muy también lo le paciente pacientes",
        ("es", "as", "os", "s", "a", "o", "e"),
    ),
}
LANGUAGES = ("en", *_KNOWN)
_FORWARD = frozenset("no without denies excludes".split())
_JOINS = frozenset("and or but yet though although while whereas".split())


@lru_cache
def tongue_of(language: str) -> Tongue:
    """Return what is known of a language; "" is English.

    Raises:
        UnknownName: if nothing is known of it.
    """
    if language in ("", "en"):
        return Tongue(NEGATIONS, _FORWARD, _JOINS, STOP_WORDS, content, stem)
    if language not in _KNOWN:
        raise UnknownName("language of a phrase", language, LANGUAGES)
    words = _KNOWN[language]
    forward, empty = frozenset(words.forward.split()), frozenset(words.empty.split())
    negations = forward | frozenset(words.negations.split())
    elided = re.compile(rf"\b(?:[{words.elided}]|qu)['\u2019](?=\w)", re.IGNORECASE) if words.elided else None

    def plain(text: str) -> str:
        return elided.sub(" ", text) if elided else text

    def bare(word: str) -> str:
        for ending in words.endings:
            if word.endswith(ending) and len(word) - len(ending) > 2:
                return word[: -len(ending)]
        return word

    def counted(text: str) -> tuple[str, ...]:
        whole = unicodedata.normalize("NFKC", plain(text))
        kept = (word for word in words_of(whole) if word not in empty and word not in negations)
        return tuple(dict.fromkeys(bare(part) for word in kept for part in word.split("-")))

    return Tongue(negations, forward, frozenset(words.joins.split()), empty, counted, bare, plain)
