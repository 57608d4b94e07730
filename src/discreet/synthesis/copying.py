"""The words of a text that a model misspelled when it copied them.

A small model writes "sudden splendid medicine" for "Suddenly Splendid Medicine". Such a value does not stand in the
text, and would be lost. It is replaced by the run of the text's own words that is nearly the same. So a value still
consists of the text's words, and is a function of one text and of what the model wrote about it.
"""

from difflib import SequenceMatcher

from discreet.algorithms.text.normalize import ALIKE, STOP_WORDS, words_of

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
