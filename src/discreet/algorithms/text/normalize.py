"""The canonical form of a short answer: two voters agree if their canonical forms are equal.

The form is public and deterministic, and is computed for one answer at a time. It may depend on the question, which is
public, but not on other answers. The steps:

1. Keep the first line, and of it the first sentence.
2. If the question wants yes or no, and the answer begins with one, keep that word.
3. Keep words without case, punctuation and leading articles; hyphens and points inside a word stay.
4. Drop the phrase that leads up to the answer: "The treatment for X is Y" becomes "y", since its head, "the treatment",
   only repeats the question. "Y is the disease" becomes "y" as well.

An answer without remaining words is an abstention.
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
# Words that name the kind of an answer, not the answer.
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
    """Return the canonical form of `answer`; an empty string if it has no content.

    Args:
        answer: the answer of a voter.
        question: the question that it answers.
    """
    said, asked = words_of(first_sentence(answer)), words_of(question)
    if said and said[0] in ("yes", "no") and asked and asked[0] in _YES_NO:
        return said[0]
    return " ".join(_without_lead(said, frozenset(map(stem, asked))))


def choice(answer: str, choices: tuple[str, ...], question: str = "") -> int | None:
    """Return the index of the public choice that an answer names; None if it names no choice.

    The first choice in the text counts, and the longest of several that begin there. The core of the answer counts
    before the whole of it: "the better of A and B is B" names B.
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
    """Refuse choices that an answer could not distinguish.

    Raises:
        UsageError: if there is only one choice, one has no words, or two differ only in case and punctuation.
    """
    if len(choices) < 2:
        raise UsageError("There is only one choice. Give at least two, or none.")
    if len(_named(choices)) < len(choices) or () in _named(choices):
        raise UsageError("Two choices differ only in case and punctuation, or one is empty. Leave it out.")


@lru_cache(maxsize=16)
def _named(choices: tuple[str, ...]) -> dict[tuple[str, ...], int]:
    return {tuple(words_of(text)): number for number, text in enumerate(choices)}


def first_sentence(text: str) -> str:
    """Return the first sentence of the first line of a text."""
    lines = text.strip().splitlines()
    line = lines[0] if lines else ""
    end = SENTENCE_END.search(line)
    return line[: end.start()] if end and line[: end.start()].strip() else line


def words_of(text: str) -> list[str]:
    """Return the words of a text, without case and punctuation; hyphens and points inside a word stay."""
    plain = unicodedata.normalize("NFKC", text).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").casefold()
    return _WORD.findall(plain)


def _without_lead(words: list[str], asked: frozenset[str]) -> list[str]:
    """Return the words without those that lead up to the answer."""

    def empty(part: list[str]) -> bool:
        said = ({word, stem(word)} for word in part)
        return all(forms & asked or forms & LABELS or forms & ARTICLES or forms & LINKS for forms in said)

    while True:
        words = words[next((index for index, word in enumerate(words[:-1]) if word not in _NO_START), len(words) - 1) :]
        if words in (["the"], ["an"]):  # "a" alone may be an answer: a blood group, a choice
            return []
        link = next((index for index, word in enumerate(words) if word in LINKS), len(words))
        before, after = words[:link], words[link + 1 :]
        if not (before and after):
            return words
        if not empty(head(before)):
            return before if empty(head(after)) else words
        words = after


def head(words: list[str]) -> list[str]:
    """Return a phrase up to its first preposition: of "treatment for X", "treatment"."""
    end = next((index for index, word in enumerate(words) if word in _PREPOSITIONS), len(words))
    return words[:end]


def stem(word: str) -> str:
    """Return a word without the s of a plural."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
