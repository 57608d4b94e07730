"""The words that a voter's answer and its own records share: one vote for one answer in different phrases.

privacy-spec.md, part 5b ("grounded"). "The song is by B. J. Thomas" and "B. J. Thomas sang it" are one vote,
"b j thomas", if both records name him. What stands in no record of the voter is no vote. The form depends on the
question, which is public, and on one voter's records and answer alone.
"""

from collections.abc import Iterator, Sequence

from discreet.algorithms.text.keywords import STOP_WORDS
from discreet.algorithms.text.normalize import ARTICLES, LINKS, first_sentence, strip_plural, words_of


def shared_words(answer: str, texts: Sequence[str], question: str) -> str:
    """Return the longest run of words of an answer that stands in one of the texts, the first of several.

    Words of the question, articles and stop words at its ends are left out before the lengths are compared. Returns ""
    if nothing is left.

    Args:
        answer: the answer of a voter; its first sentence counts.
        texts: the voter's records.
        question: the question.
    """
    said = words_of(first_sentence(answer))
    asked = frozenset(form for word in words_of(question) for form in (word, strip_plural(word)))
    found: list[str] = []
    for text in texts:
        for start, end in _runs(said, words_of(text)):
            run = _trimmed(said[start:end], asked)
            if len(run) > len(found):
                found = run
    return " ".join(found)


def _runs(said: list[str], record: list[str]) -> Iterator[tuple[int, int]]:
    """Yield start and end of each run of `said` that stands in `record`, and in no longer run.

    The time follows from the lengths alone, and not from how often a word of one record comes back.
    """
    text, end = f" {' '.join(record)} ", 0
    for start in range(len(said)):
        before, end = end, max(end, start)
        while end < len(said) and f" {' '.join(said[start : end + 1])} " in text:
            end += 1
        if end > max(before, start):
            yield start, end


def _trimmed(run: list[str], asked: frozenset[str]) -> list[str]:
    def is_empty(word: str) -> bool:
        return word in asked or strip_plural(word) in asked or word in ARTICLES or word in LINKS or word in STOP_WORDS

    kept = [index for index, word in enumerate(run) if not is_empty(word)]
    return run[kept[0] : kept[-1] + 1] if kept else []
