"""Phrases in a text: where the words of a phrase stand close together in one sentence, and whether it denies them.

English has the words of `normalize`. The other languages have short tables here: words that deny, words that mean
nothing alone, and endings. Which one counts is public: it is that of the question. So whether a phrase holds remains a
function of the question and of one unit's texts.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from discreet.algorithms.text.normalize import NEGATIONS, STOP_WORDS, Claim, canonical, content, stem, words_of
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
        lists: the words that deny all things of a list: "denies nausea, vomiting and fever".
        ends: the words that end such a list.
        relatives: the words for people of whose illnesses a text on an individual tells.
        having: the words by which such a person has what follows: "her mother had asthma".
    """

    negations: frozenset[str]
    forward: frozenset[str]
    joins: frozenset[str]
    empty: frozenset[str]
    content: Callable[[str], tuple[str, ...]]
    stem: Callable[[str], str]
    plain: Callable[[str], str] = str
    lists: frozenset[str] = frozenset()
    ends: frozenset[str] = frozenset()
    relatives: frozenset[str] = frozenset()
    having: frozenset[str] = frozenset()


@dataclass(frozen=True)
class _Words:
    """The words of a language.

    Attributes:
        negations, forward, joins, empty: see `Tongue`. The negations have no forward ones.
        endings: the endings that are cut off, the longest first; at least three letters stay.
        elided: the letters of words that lose their end before a vowel: l'asthme.
        relatives, having: see `Tongue`.
    """

    negations: str
    forward: str
    joins: str
    empty: str
    endings: Sequence[str]
    elided: str = ""
    relatives: str = ""
    having: str = ""


_KNOWN = {
    "de": _Words(
        "nicht nie niemals nein verneint verneinte verneinen ausgeschlossen",
        "kein keine keiner keinen keinem keines ohne weder leugnet leugnete",
        "und oder aber sondern jedoch doch",
        "der die das des dem den ein eine einer eines einem einen und oder in im an am auf aus bei beim mit von vom zu "
        "zum zur über unter für gegen nach vor seit um als wie auch noch schon sehr ist sind war waren wird wurde "
        "wurden hat haben hatte hatten sich er sie es ihr ihre ihren sein seine seinen patient patientin patienten",
        ("en", "er", "es", "em", "e", "n", "s"),
        relatives="mutter vater schwester bruder tante onkel großmutter großvater oma opa eltern",
        having="hat hatte haben hatten mit litt leidet",
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
        "mère père soeur sœur frère tante oncle parents",
        "a avait ont avaient avec souffre souffrait",
    ),
    "es": _Words(
        "no nunca jamás ni",
        "sin niega niegan negó ningún ninguna ninguno tampoco ausencia",
        "y e o u pero sino aunque",
        "el la los las un una unos unas de del al a en con por para y e o u que se su sus es son era está están fue ha "
        "han hay muy también lo le paciente pacientes",
        ("es", "as", "os", "s", "a", "o", "e"),
        relatives="madre padre hermana hermano tía tío abuela abuelo padres",
        having="tiene tenía tuvo tienen tenían tuvieron con sufre sufrió",
    ),
}
LANGUAGES = ("en", *_KNOWN)
_FORWARD = frozenset("no without denies excludes".split())
_JOINS = frozenset("and or but yet though although while whereas".split())
_LISTS = frozenset("denies denying deny".split())
_RELATIVES = frozenset(
    "mother father mom mum dad sister brother aunt uncle grandmother grandfather grandma grandpa parents cousin".split()
)
_HAVING = frozenset("had has have with suffered suffers".split())
_ENDS = frozenset(
    "but however although though except yet has had have having reports reported complains complained presents "
    "presented admits is was are were now takes took since started".split()
)


@lru_cache
def tongue_of(language: str) -> Tongue:
    """Return what is known of a language; "" is English.

    Raises:
        UnknownName: if nothing is known of it.
    """
    if language not in ("", *LANGUAGES):
        raise UnknownName("language of a phrase", language, LANGUAGES)
    words = _KNOWN.get(language, _KNOWN["de"])
    forward, joins, empty = (frozenset(one.split()) for one in (words.forward, words.joins, words.empty))
    negations = forward | frozenset(words.negations.split())
    if language in ("", "en"):
        # A thing has one name in notes of both languages: "Kein Asthma" denies it. Names ("Dr Nie") do not count, and
        # no other German word here is English.
        negations, forward = negations - _NAMES, forward - _NAMES
        own = (NEGATIONS | negations, _FORWARD | forward, _JOINS | joins, STOP_WORDS | negations)

        def of_english(text: str) -> tuple[str, ...]:
            return tuple(word for word in content(text) if word not in negations)

        return Tongue(*own, of_english, stem, str, _LISTS, _ENDS, _RELATIVES, _HAVING)
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

    related, having = (frozenset(one.split()) for one in (words.relatives, words.having))
    return Tongue(negations, forward, joins, empty, counted, bare, plain, relatives=related, having=having)


_SPACES = frozenset(",|and|or|but".split("|"))
_TOKEN = re.compile(r"\w+(?:['.&+]\w+)*|,")
_END = re.compile(
    r"[.!?:;()\[\]\n](?:(?<=\n)|(?<=[;()\[\]])[.!?:;()\[\]]*"
    r"|(?<![.!?:].)[.!?:]*+(?:(?=\s|\Z)|[;()\[\]][.!?:;()\[\]]*))"
)
"""The end of a sentence: a new line, or marks. If they are nothing but .!?: a space or the end of the text follows."""
_NEGATION = re.compile(r"\b(?:no|not|never|without)\b")
_NAMES = frozenset("nie nein weder".split())
_LIST = 20
"""So many words and commas of a list are looked back for the word that denies it, or for whose it is."""
_WITH = frozenset("with mit avec con".split())
"""Words that belong to what stands before them, and begin no other subject."""
_BESIDES = _WITH | frozenset("by to from my von bei durch zu par chez por de".split())
"""Words before a relative who is no subject, or of whom a text is."""
_REPORTED = frozenset("been brought found given seen said told taken to him her them concerns questions".split())
_WHOSE = frozenset("her his their patient's pt's ihre seine deren dessen sa su , .".split())
"""Words before a relative: without one, "mother with" is the individual."""
LONG = 5
"""From so many letters on, a word in capitals is no abbreviation."""
_BETWEEN = 3
"""The most other words between the words of a phrase. A comma, or "and", counts as so many words."""

Span = tuple[list[str], int, int]
"""A sentence, and the start and end of a phrase in it."""


def sentences_of(text: str) -> list[list[str]]:
    """Return the words and commas of each sentence of a text, without case."""
    plain = unicodedata.normalize("NFKC", text).replace("\u2019", "'").casefold()
    return [words_in(part) for part in split_sentences(plain)]


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text."""
    return _END.split(text)


def words_in(sentence: str) -> list[str]:
    """Return the words and commas of a sentence."""
    return _TOKEN.findall(sentence)


def abbreviation_of(word: str) -> str:
    """Return an abbreviation without the small s of its plural, "PET" of "PETs"; "" if the word is none."""
    base = word[:-1] if word.endswith("s") else word
    return base if base.isupper() and 1 < len(base) < LONG else ""


def is_shouted(text: str) -> bool:
    """Return whether a text is wholly in capitals and has a long word, so that its words are no abbreviations."""
    return text.isupper() and any(len(word) >= LONG for word in words_in(text))


def spans_of(sentences: Sequence[list[str]], words: Sequence[str], tongue: Tongue | None = None) -> list[Span]:
    """Return the spans in which the words stand close together: at most one in each sentence.

    Args:
        sentences: the sentences of a text.
        words: the words, without their endings.
        tongue: what is known of the language of the words; English if None.
    """
    words_of_tongue = tongue or tongue_of("")
    likely = (one for one in sentences if all(map(" ".join(one).__contains__, words)))  # a word begins with its stem
    windows = ((one, window_of(one, words, list(map(words_of_tongue.stem, one)), words_of_tongue)) for one in likely)
    return [(sentence, *window) for sentence, window in windows if window]


def window_of(
    sentence: list[str], words: Sequence[str], stems: Sequence[str], tongue: Tongue
) -> tuple[int, int] | None:
    """Return the start and end of the words in a sentence, in any order; None if they are not close together.

    On both sides of a comma, only the order of the phrase counts.

    Args:
        sentence: the words and commas of the sentence.
        words: the words of the phrase, without their endings.
        stems: the words of the sentence, without their endings.
        tongue: what is known of the language of the phrase.
    """
    for start, first in enumerate(stems):
        if first not in words:
            continue
        missing, room = set(words), _BETWEEN
        for index in range(start, len(stems)):
            if stems[index] in missing:
                missing.discard(stems[index])
            elif sentence[index] in _SPACES:
                in_order = missing == set(words[len(words) - len(missing) :])
                room -= _BETWEEN if in_order else _BETWEEN + 1
            elif sentence[index] not in tongue.empty:
                room -= 1
            if not missing and room >= 0:
                return start, index + 1
            if room < 0:
                break
    return None


def is_denied(sentence: list[str], start: int, end: int, without: bool, tongue: Tongue | None = None) -> bool:
    """Return whether a negation stands beside the span.

    A negation within the span counts if the question has none there. If the question has one, its absence counts.
    """
    words_of_tongue = tongue or tongue_of("")
    if words_of_tongue.negations.isdisjoint(sentence):
        return without
    if _in_denied_list(sentence[:start], words_of_tongue):
        return True
    before = list(words_back(sentence[max(start - 3, 0) : start]))
    beside = bool(words_of_tongue.negations & {*before}) or _denies_back(sentence[end : end + 3], words_of_tongue)
    return beside or bool(words_of_tongue.negations & set(sentence[start:end])) != without


def _in_denied_list(before: list[str], tongue: Tongue) -> bool:
    """Return whether what stands before a span denies a list that it is in: "denies nausea, vomiting and ...".

    "No" denies a list whose last join is "or": "no nausea, vomiting or ...". After a comma, it may be another thing.
    """
    last = ""
    for word in reversed(before[-_LIST:]):
        if word in tongue.ends:
            return False
        if word in tongue.lists or (word == "no" and last in ("", "or", "nor") and tongue.lists):
            return True
        last = word if not last and word in (",", "and", "or", "nor") else last
    return False


def is_of_another(before: list[str], tongue: Tongue | None = None) -> bool:
    """Return whether what stands before a span tells of another person: "her mother had", "father with asthma and".

    A relative who reports ("mother says that she has a fever", "mother has seen blood"), or who is no subject ("brought
    by her mother with fever"), tells of the individual, and so does who writes of "my mother". The next verb begins
    with another subject.
    """
    words_of_tongue = tongue or tongue_of("")
    verbs = words_of_tongue.having | words_of_tongue.ends
    for place in range(len(before) - 1, max(0, len(before) - _LIST) - 1, -1):
        verb = before[place]
        if verb in verbs and place and before[place - 1] in words_of_tongue.relatives:
            reports = any(one.endswith("ed") or one in _REPORTED for one in before[place + 1 : place + 2])
            own = place > 1 and verb in _WITH and before[place - 2] not in _WHOSE  # "a breastfeeding mother with"
            beside = not _BESIDES.isdisjoint(before[max(place - 3, 0) : place - 1])
            return verb in words_of_tongue.having and not (reports or own or beside)
        if verb in verbs and verb not in _WITH:
            return False
    return False


def is_denied_in(sentences: Sequence[list[str]], value: str) -> bool:
    """Return whether the sentences of a text deny a value each time that they say it, or say it of another person.

    Both are English: "no fever", "her mother had asthma".
    """
    words = tongue_of("").content(value)
    spans = spans_of(sentences, words) if words else []
    has_negation = bool(_NEGATION.search(value))
    return bool(spans) and all(is_denied(*span, has_negation) or is_of_another(span[0][: span[1]]) for span in spans)


def _denies_back(after: list[str], tongue: Tongue) -> bool:
    """Return whether one of the two words after a span denies it; the third one shows what follows these.

    "Winter Hand and no fever" and "Winter Hand without fever" deny the next thing; "fever denied" and "fever no" do
    not: a word that denies what follows counts where nothing follows.
    """
    for place, word in enumerate(after[:2]):
        if _is_join(word, tongue):
            return False
        if word in tongue.negations:
            follows = after[place + 1 : place + 2]
            return word not in tongue.forward or not follows or _is_join(follows[0], tongue)
    return False


def _is_join(word: str, tongue: Tongue) -> bool:
    return word == "," or word in tongue.joins


def words_back(words: list[str]) -> Iterator[str]:
    """Yield the words from the last one back to a comma."""
    for word in reversed(words):
        if word == ",":
            return
        yield word


# --- grounded votes: yes or no by a voter's own documents, and by its answer to the open question ---------------------
# A small language model answers "yes" to nearly every question, so no voter is asked for yes or no. The rules:
#
# yes       its documents hold subject and value, and (for a treatment) its answer names the value, too
# no        its documents deny the value; or they hold the subject and another treatment, which its answer names
# not said  anything else; but documents that do not hold the subject do not decide, so that their voter abstains
#
# A vote is a function of the claim, one voter's documents and its answer alone.

YES, NO = "yes", "no"

_GIVING = frozenset("treatment treated treat therapy remedy cure prescribed prescribes prescribe prescription".split())
_ABOUT = frozenset("for of against".split())


def vote(claim: Claim, texts: Sequence[str], answer: str = "") -> str:
    """Return one voter's vote on a claim: "yes", "no", or "" for not said.

    Args:
        claim: the claim of the question.
        texts: the voter's documents.
        answer: the voter's answer to `claim.open`.
    """
    if claim.negated:
        return ""
    votes = [_one(claim, text, answer) for text in texts]
    return next((said for said in votes if said), "")


def is_about(claim: Claim, texts: Sequence[str]) -> bool:
    """Return whether a voter's documents decide a claim: they hold its subject, or it has none."""
    return not claim.subject or any(spans_of(sentences_of(text), claim.subject) for text in texts)


def _one(claim: Claim, text: str, answer: str) -> str:
    sentences = sentences_of(text)
    if not claim.subject:
        return _plain(claim.value, sentences)
    if not spans_of(sentences, claim.subject):
        return ""
    spans = spans_of(sentences, claim.value)
    if spans and all(is_denied(*span, claim.without) for span in spans):
        return NO
    if not claim.open:
        about = [*spans, *spans_of(sentences, claim.subject)]
        return "" if not spans or (not claim.received and any(_given(*span) for span in about)) else YES
    said = [word for word in content(canonical(answer, claim.open)) if word not in claim.subject]
    if not said:
        return ""
    if set(said) <= set(claim.value) or set(claim.value) <= set(said):
        return YES if spans else ""
    return NO if spans_of(sentences, said) else ""


def _plain(words: Sequence[str], sentences: Sequence[list[str]]) -> str:
    """Return yes if one sentence holds all of several words, and has no negation."""
    held = (sentence for sentence in sentences if set(words) <= {stem(word) for word in sentence})
    return YES if len(words) > 1 and any(not NEGATIONS & set(sentence) for sentence in held) else ""


def _given(sentence: list[str], start: int, end: int) -> bool:
    """Return whether words for a treatment lead up to the span as the treatment that was given.

    A span after "for", "of" or "against" is the condition, not the treatment.
    """
    return start > 0 and sentence[start - 1] not in _ABOUT and bool(_GIVING & set(words_back(sentence[:start])))
