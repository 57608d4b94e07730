"""Texts that the public model writes, and the tokens of a record that it reads."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import takewhile

from discreet.algorithms.base import GeneratedAnswer, Stopped
from discreet.algorithms.text.normalize import keywords, strip_plural
from discreet.errors import UsageError
from discreet.models.answers import write_answers
from discreet.models.length_buckets import length_buckets
from discreet.models.prompts import layout
from discreet.models.protocol import Prompt, VotingModel

_AT_ONCE = 32
"""The number of prompts in a batch."""


def write(model: VotingModel, shared: Sequence[int], prompt: Prompt, prefix: str, max_tokens: int) -> GeneratedAnswer:
    """Continue `shared` and `prompt` greedily, and return the answer."""
    (written,) = write_answers(model, shared, [prompt], max_tokens, all_steps=False)
    stopped: Stopped = "end" if written.ended else "length"
    return GeneratedAnswer(prefix + written.text, stopped, len(written.tokens))


def write_all(
    model: VotingModel, prompts: Sequence[tuple[Sequence[int], Prompt]], max_tokens: int
) -> list[tuple[list[int], bool]]:
    """Continue each pair of a shared part and a prompt greedily.

    Prompts of about the same length share a batch. One prompt affects another one only through rounding of sums.

    Returns:
        for each pair, its tokens, and whether the model ended it.
    """
    whole = [[*shared, *prompt.tokens[prompt.padding :]] for shared, prompt in prompts]
    # The common part ends before the last token of the shortest prompt: each row needs tokens of its own.
    alike = takewhile(lambda tokens: len(set(tokens)) == 1, zip(*(tokens[:-1] for tokens in whole), strict=False))
    common = [tokens[0] for tokens in alike]
    own = [tokens[len(common) :] for tokens in whole]
    written: dict[int, tuple[list[int], bool]] = {}
    for room, rows in length_buckets([len(tokens) for tokens in own], max(map(len, own), default=0), _AT_ONCE):
        batch = [own[row] for row in rows]
        padded = [Prompt((model.pad_token,) * (room - len(t)) + tuple(t), room - len(t)) for t in batch]
        answers = write_answers(model, common, padded, max_tokens, all_steps=False)
        written |= {row: (list(one.tokens), one.ended) for row, one in zip(rows, answers, strict=True)}
    return [written[row] for row in range(len(own))]


# --- a sentence around a released answer ------------------------------------------------------------------------------
# The public model writes it for free, since all its input is public.

_RECORD = "The answer is {answer}."


def phrase(model: VotingModel, question: str, answer: str, prefix: str, max_tokens: int) -> str:
    """Return a sentence that answers `question` with `answer`, beginning with `prefix`.

    If the model writes no complete sentence with the answer, return the answer alone.
    """
    alone = answer[:1].upper() + answer[1:]
    record = model.encode(_RECORD.format(answer=answer))
    try:
        laid_out = layout(model, question, prefix=prefix, document_tokens=len(record), max_tokens=max_tokens)
    except UsageError:  # no room for a sentence; the answer is paid, so it must not be lost
        return alone
    written = write(model, laid_out.shared, laid_out.prompt(record), prefix, max_tokens)
    if written.stopped == "end" and answer.casefold() in written.text.casefold():
        return written.text
    return alone


# --- the window of a record that fits a question ----------------------------------------------------------------------
# So many tokens of its text, chosen by the record itself.
#
# Reading records takes two thirds of an answer's time, and what answers the question stands in a part of a record. The
# window is a function of the question, which is public, and of this one record. It knows nothing of other records. How
# rare a word is among the records that were found would be a better weight, but then one record would move the windows
# of others, and so change more votes than its own.

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
    words, stems = text.split(), _stems(question)
    if not words:  # a text of spaces
        return encoded[-tokens:]
    last = len(words) - max(1, tokens * len(words) // len(encoded))
    start = last_fitting([_stems(word) & stems for word in words], len(words) - last)
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
