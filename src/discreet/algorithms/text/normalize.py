"""The canonical form of a short answer: what must be equal for two voters to have said the same.

Public and deterministic, one answer at a time: it may look at the question, which is public, and never at another
answer. The steps:

1. the first line, and of it the first sentence;
2. a question that wants yes or no: that word, if the answer begins with it;
3. words without case, punctuation (hyphens and points inside a word stay), and articles in front;
4. without the phrase that leads up to the answer: "The treatment for X is Y" becomes "y", since its head, "the
   treatment", says no more than the question does; "Y is the disease" becomes "y" as well.

An answer of which nothing is left is an abstention.
"""

import re
import unicodedata
from functools import lru_cache

from discreet.errors import UsageError

_WORD = re.compile(r"\w+(?:[-'.,:/&+]\w+)*", re.UNICODE)
# A sentence ends before a space, but not after a single letter or a title: "Dr. Lind", "J. Lind".
SENTENCE_END = re.compile(r"(?<!\b\w)(?<!\b[DMS]r)(?<!\bMrs)(?<!\bMs)(?<!\bSt)(?<!\bNo)[.!?](?=\s|$)")

ARTICLES = frozenset("a an the".split())
LINKS = frozenset("is are was were be called named known as".split())
_NO_START = ARTICLES | LINKS
_PREPOSITIONS = frozenset("of for in on at to from with by among within".split())
# Words that say of what kind an answer is, not which.
LABELS = frozenset(
    """
    answer name one some its his her their this that it he she they condition disease illness disorder syndrome
    diagnosis symptom sign treatment therapy medication medicine drug remedy cure patient record question doctor
    person place date time year number reason cause rare common main likely possible possibly probably most also
    """.split()
)
_YES_NO = frozenset(
    "is are was were am do does did can could will would should has have had may might must shall".split()
)


def canonical(answer: str, question: str = "") -> str:
    """The canonical form of `answer`; empty if it says nothing.

    Args:
        answer: what a voter wrote.
        question: the question that it answers.
    """
    said, asked = words_of(_first_sentence(answer)), words_of(question)
    if said and said[0] in ("yes", "no") and asked and asked[0] in _YES_NO:
        return said[0]
    return " ".join(_without_lead(said, frozenset(map(_stem, asked))))


def choice(answer: str, choices: tuple[str, ...], question: str = "") -> int | None:
    """Which of the public `choices` an answer names: the one named first, of those the longest; None if none.

    The core of the answer counts before the whole of it, so that "the better of A and B is B" is B.
    """
    named = _named(choices)
    longest = max(map(len, named))
    for words in (canonical(answer, question).split(), words_of(answer)):
        for start in range(len(words)):
            for length in range(min(longest, len(words) - start), 0, -1):
                found = named.get(tuple(words[start : start + length]))
                if found is not None:
                    return found
    return None


def check_choices(choices: tuple[str, ...]) -> None:
    """Refuse choices between which no answer could tell.

    Raises:
        UsageError: there is only one, one has no words, or two are the same but for case and punctuation.
    """
    if len(choices) < 2:
        raise UsageError("One choice leaves nothing to ask. Give at least two, or none.")
    if len(_named(choices)) < len(choices) or () in _named(choices):
        raise UsageError("Two choices are the same but for case and punctuation, or one is empty. Leave it out.")


@lru_cache(maxsize=16)
def _named(choices: tuple[str, ...]) -> dict[tuple[str, ...], int]:
    return {tuple(words_of(text)): number for number, text in enumerate(choices)}


def _first_sentence(text: str) -> str:
    lines = text.strip().splitlines()
    line = lines[0] if lines else ""
    end = SENTENCE_END.search(line)
    return line[: end.start()] if end and line[: end.start()].strip() else line


def words_of(text: str) -> list[str]:
    """The words of a text, without case and punctuation; hyphens and points inside a word stay."""
    plain = unicodedata.normalize("NFKC", text).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").casefold()
    return _WORD.findall(plain)


def _without_lead(words: list[str], asked: frozenset[str]) -> list[str]:
    """The words without those that lead up to the answer."""

    def empty(part: list[str]) -> bool:
        said = ({word, _stem(word)} for word in part)
        return all(forms & asked or forms & LABELS or forms & ARTICLES or forms & LINKS for forms in said)

    while True:
        words = words[next((place for place, word in enumerate(words[:-1]) if word not in _NO_START), len(words) - 1) :]
        if words in (["the"], ["an"]):  # but "a" alone may be an answer: a blood group, a choice
            return []
        place = next((place for place, word in enumerate(words) if word in LINKS), len(words))
        before, after = words[:place], words[place + 1 :]
        if not (before and after):
            return words
        if not empty(head(before)):
            return before if empty(head(after)) else words
        words = after


def head(words: list[str]) -> list[str]:
    """A phrase up to its first preposition: of "treatment for X", "treatment"."""
    place = next((place for place, word in enumerate(words) if word in _PREPOSITIONS), len(words))
    return words[:place]


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
