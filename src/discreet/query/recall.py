"""Answers that were released before: found again, and kept for the next question."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b

from discreet.algorithms.common.algorithm import Algorithm
from discreet.algorithms.common.answer import Answer, GeneratedAnswer
from discreet.errors import StoreError
from discreet.privacy.filter import released_before
from discreet.query.answer_cache import NOTHING, AnswerCache, Released, as_record
from discreet.query.useless import useless
from discreet.retrieval.public import PublicTexts

RELATED, ALIKE = 3, 0.5
"""So many released answers go into the public prompt, if their questions are so similar to the one asked."""


def find_released(history: AnswerCache, question: str, algorithm: Algorithm) -> Released | None:
    """Return what was released before to this very question, if it will do: an answer, or that nothing was released."""
    known = history.same(question, algorithm.public_choices, fingerprint(algorithm))
    if known is None or not known.is_answer:
        return known
    return known if known.shares or not algorithm.releases_shares else None


def fingerprint(algorithm: Algorithm) -> str:
    """Return a few characters that stand for the algorithm and its parameters: public."""
    return blake2b(repr(algorithm).encode(errors="surrogatepass"), digest_size=8).hexdigest()


def public_record(related: Sequence[Released], texts: PublicTexts | None, question: str) -> str:
    """Return what the public prompt reads in place of a document; it is cut to the length of one.

    Released answers come first: their questions are similar, and they are short. The text of the public corpus that is
    nearest to the question has the room that they leave.
    """
    parts = [as_record(related), texts.nearest(question) if texts else ""]
    return " ".join(part for part in parts if part)


def keep_answer(history: AnswerCache, question: str, algorithm: Algorithm, answer: Answer) -> Answer:
    """Keep a release and return the answer. One that could not be written is paid and released all the same.

    That nothing was released is kept, too. A useless answer is not: it would be given again for ever.
    """
    why = useless(question, answer.text, answer.released, algorithm.public_choices) if answer.stopped != NOTHING else ""
    if why:
        return replace(answer, useless=why)
    try:
        history.add(_as_released(question, algorithm, answer))
    except StoreError:
        return replace(answer, kept=False)
    return answer


def repeat_answer(known: Released, unit: str) -> Answer:
    """Return an answer that was released before: it is public, so it costs nothing."""
    generated = GeneratedAnswer(
        known.answer,
        known.stopped,
        known.tokens,
        released=tuple(known.released),
        shares=known.shares,
        public_text=known.public_text,
    )
    return Answer.of(generated, known.algorithm, released_before(unit))


def _as_released(question: str, algorithm: Algorithm, answer: Answer) -> Released:
    return Released(
        question,
        answer.text,
        answer.stopped,
        answer.algorithm,
        answer.tokens,
        choices=algorithm.public_choices,
        released=answer.released,
        shares=answer.shares,
        public_text=answer.public_text,
        way=fingerprint(algorithm),
    )
