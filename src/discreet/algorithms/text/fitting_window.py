"""The window of a record that fits a question: so many tokens of its text, chosen by the record itself.

Reading records takes two thirds of an answer's time, and what answers the question stands in a part of a record. The
window is a function of the question, which is public, and of this one record. It knows nothing of other records. How
rare a word is among the records that were found would be a better weight, but then one record would move the windows
of others, and so change more votes than its own.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction

from discreet.algorithms.text.keywords import keywords
from discreet.algorithms.text.normalize import strip_plural

Encode = Callable[[str], Sequence[int]]
"""Returns the tokens of a text."""

_NEARLY_BEST = Fraction(4, 5)


def fitting_window(encode: Encode, question: str, text: str, tokens: int) -> Sequence[int]:
    """Return the tokens of the window of a text that fits a question; all of them if there are at most `tokens`.

    A window fits by the number of different words of the question in it; stop words and endings do not count. The last
    window with at least 4/5 of the largest number is taken, because an answer mostly follows the words of its question.
    If no word of the question stands in the text, this is the end of the text. The length of a window in words follows
    from the mean length of the record's words in tokens.

    Args:
        encode: returns the tokens of a text.
        question: the question.
        text: the text.
        tokens: the public length of the window, at least 1.
    """
    encoded = encode(text)
    if len(encoded) <= tokens:
        return encoded
    words, asked = text.split(), _stems(question)
    if not words:  # a text of spaces
        return encoded[-tokens:]
    last = len(words) - max(1, tokens * len(words) // len(encoded))
    start = last_fitting([_stems(word) & asked for word in words], len(words) - last)
    return encoded[-tokens:] if start == last else encode(" ".join(words[start:]))[:tokens]


def last_fitting(found: Sequence[frozenset[str]], length: int) -> int:
    """Return where the last window begins that holds nearly the most different words.

    Args:
        found: the words of the question at each place of the text.
        length: the length of a window in places.
    """
    fits = [len(frozenset().union(*found[start : start + length])) for start in range(len(found) - length + 1)]
    least = _NEARLY_BEST * max(fits)
    return max(start for start, fit in enumerate(fits) if fit >= least)


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(strip_plural, keywords(text)))
