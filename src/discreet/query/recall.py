"""The reuse of released answers: find them, and keep new ones."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from hashlib import blake2b

from discreet.algorithms.common.algorithm import Algorithm, Answer, Figure, GeneratedAnswer, Support
from discreet.algorithms.statistics.counted import MAY_LACK
from discreet.algorithms.statistics.labelled import LabelledSample
from discreet.algorithms.statistics.statistic import Statistic
from discreet.errors import StoreError, UsageError
from discreet.privacy.filter import released_before
from discreet.query.answer_cache import NOTHING, AnswerCache, Released, as_record
from discreet.query.derived import Derived, Releases, derive, widened
from discreet.query.latency import AT_ONCE, Pace
from discreet.query.useless import useless
from discreet.retrieval.public import PublicTexts

RELATED, ALIKE = 3, 0.5
"""The number of released answers in the public prompt, and the least similarity of their questions to the new one."""


def find_released(history: AnswerCache, question: str, algorithm: Algorithm) -> Released | None:
    """Return the earlier release to the same question, an answer or "no answer"; None if it lacks required shares.

    A statistic is the same if its parts are, in other words of the question, too. Or it follows from other ones.
    """
    if isinstance(algorithm, Statistic):
        found = history.apart(algorithm.set_apart) or derive(history.made_of_all(Releases), question, algorithm)
        if found is not None:
            return found
    known = history.same(question, algorithm.set_apart, fingerprint(algorithm))
    if known is None or not known.is_answer:
        return known
    return known if known.shares or not algorithm.releases_shares else None


def fingerprint(algorithm: Algorithm) -> str:
    """Return a short hash of the algorithm and its parameters: public."""
    return blake2b(repr(algorithm).encode(errors="surrogatepass"), digest_size=8).hexdigest()


def public_record(related: Sequence[Released], texts: PublicTexts | None, question: str) -> str:
    """Return the text that the public prompt reads in place of a document. The prompt cuts it to the same length.

    Released answers come first, since they are short and their questions are similar. The text of the public corpus
    that is nearest to the question gets the rest of the room.
    """
    parts = [as_record(related), texts.nearest(question) if texts else ""]
    return " ".join(part for part in parts if part)


def keep_answer(
    history: AnswerCache,
    question: str,
    algorithm: Algorithm,
    answer: Answer,
    asked: Algorithm | None = None,
    pace: Pace = AT_ONCE,
) -> Answer:
    """Keep a release, with the minute in which it leaves, and return the answer.

    An answer that could not be written is nevertheless paid and released.

    It is found by the algorithm, and by the one that was `asked` before a schema named its attribute.
    "No answer" is also kept. A useless answer is not kept, since it would be repeated for ever.
    """
    said = answer.stopped != NOTHING and not answer.table  # a number always says something
    why = useless(question, answer.text, answer.released, algorithm.public_choices) if said else ""
    if why:
        return replace(answer, useless=why)
    try:
        released = replace(_as_released(question, algorithm, answer), time=pace.minute())
        history.add(replace(released, asked=asked.set_apart) if asked and asked != algorithm else released)
    except StoreError:
        return replace(answer, kept=False)
    return answer


def repeat_answer(known: Released, unit: str) -> Answer:
    """Return an earlier answer again. It is public, so it costs nothing."""
    generated = GeneratedAnswer(
        known.answer,
        known.stopped,
        known.tokens,
        released=tuple(known.released),
        shares=known.shares,
        support=Support(**known.support) if known.support else None,
        table=tuple(Figure(**one) for one in known.table),
        public_text=known.public_text,
    )
    receipt = replace(released_before(unit), reused=max(1, len(known.moments)))
    follows = isinstance(known, Derived)
    answer = Answer.of(generated, known.algorithm, receipt)
    unable = known.unable
    if MAY_LACK in known.answer and not unable:  # of an earlier version, without the number
        unable = None
    return replace(answer, released_at=known.moments, follows=follows, unable=unable)


def widen_answer(
    history: AnswerCache, question: str, statistic: Statistic, answer: Answer, sample: LabelledSample
) -> Answer:
    """Return a statistic with intervals that cover what phrases get wrong as well. The sample is public: it is free.

    Raises:
        UsageError: if an earlier release has no counts.
    """
    own = _as_released(question, statistic, answer) if answer.counts else history.apart(statistic.set_apart)
    found = widened([own] if own else history.made_of_all(Releases), question, statistic, sample)
    if found is None:
        raise UsageError("This was released without its counts. Ask anew, and pay: --anew.")
    return replace(answer, text=found.answer, table=tuple(Figure(**one) for one in found.table))


def _as_released(question: str, algorithm: Algorithm, answer: Answer) -> Released:
    return Released(
        question,
        answer.text,
        answer.stopped,
        answer.algorithm,
        answer.tokens,
        choices=algorithm.set_apart,
        released=answer.released,
        shares=answer.shares,
        support=asdict(answer.support) if answer.support else None,
        table=tuple(asdict(one) for one in answer.table),
        public_text=answer.public_text,
        way=fingerprint(algorithm),
        counts=asdict(answer.counts) if answer.counts else None,
        parts=algorithm.parts if isinstance(algorithm, Statistic) else None,
        epsilon=answer.receipt.epsilon if answer.receipt else None,
    )
