"""One question, answered and paid for: what stands between a vault and an algorithm."""

import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from discreet.affording import affords
from discreet.algorithms.adaptive import Adaptive
from discreet.algorithms.answer import Algorithm, Answer, Draft
from discreet.algorithms.dp_rag import DPRAG
from discreet.algorithms.ensemble import Ensemble
from discreet.algorithms.multi import ManyQuestions
from discreet.algorithms.naive_multi_rag import NaiveMultiRAG
from discreet.algorithms.panel import Panel
from discreet.algorithms.projected import Projected
from discreet.algorithms.rag import RAG
from discreet.algorithms.tuning import Tuning, suggestion
from discreet.errors import BudgetExhausted, Interrupted, StoreError, UsageError
from discreet.generation.model import LanguageModel
from discreet.history import History, Released, as_record
from discreet.ledger.sql import SqlLedger
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import Pure
from discreet.privacy.filter import NotPrivateFilter, PrivacyFilter, Receipt, public_texts, released_before
from discreet.privacy.individual import UnitFilter
from discreet.privacy.ledger import UnitLedger
from discreet.privacy.noise import Noise
from discreet.retrieval.documents import is_unicode
from discreet.retrieval.public import PublicTexts
from discreet.retrieval.retriever import Corpus
from discreet.settings import Settings

# So many released answers go into the public prompt, if their questions are so similar to the one asked.
RELATED, ALIKE = 3, 0.5
NEW: tuple[None, list[Released]] = (None, [])
"""What is recalled of a question where nothing may be."""


@dataclass(frozen=True)
class Asked:
    """A question on its way.

    Attributes:
        id: under which it pays.
        question: its text.
        name: what the algorithm is called that was asked for.
        algorithm: how it is answered.
        ceiling: its own budget.
    """

    id: str
    question: str
    name: str
    algorithm: Algorithm | ManyQuestions
    ceiling: Budget


def payable(algorithm: Algorithm | ManyQuestions, settings: Settings, path: Path) -> Algorithm | ManyQuestions:
    """The algorithm as the vault at `path` runs it.

    Raises:
        UsageError: it is not for a vault in which these pay, or rests on a claim that the vault does not accept.
    """
    if isinstance(algorithm, Projected) and not settings.accept_claims:
        raise UsageError(
            f"'{algorithm.name}' rests on a published claim that is no guarantee, and the vault at {path} accepts "
            "none. Use an algorithm with a guarantee; for research, make a vault with: discreet init --accept-claims"
        )
    if settings.payment == "unit":
        return paid_by_units(algorithm)
    if isinstance(algorithm, ManyQuestions):
        raise UsageError(
            f"'{algorithm.name}' has units pay by themselves; in the vault at {path} everybody pays for every "
            f"question. Choose another algorithm, or let units pay from now on: discreet budget {path} "
            "--convert. What everybody has paid stays paid."
        )
    return algorithm


def checked(question: str) -> str:
    """The question without spaces around it.

    Raises:
        UsageError: nothing is left of it, or it holds half a character.
    """
    question = question.strip()
    if not question:
        raise UsageError("The question is empty. Ask something in words.")
    if not is_unicode(question):
        raise UsageError("The question holds half a character (a lone surrogate). Ask it in UTF-8.")
    return question


def check_allowed(algorithm: Algorithm | ManyQuestions, not_private: bool) -> None:
    """Nothing, if the algorithm promises something, or whoever asks says that it need not.

    Raises:
        UsageError: neither.
    """
    if not (algorithm.private or not_private):
        raise UsageError(
            f"'{algorithm.name}' gives no guarantee: its answer may repeat any document. It is refused unless "
            "you say so: --not-private (in Python: not_private=True)."
        )


def paid_by_units(algorithm: Algorithm | ManyQuestions) -> Algorithm | ManyQuestions:
    """The algorithm as a vault runs it in which units pay by themselves: what everybody pays is one more way to pay.

    Raises:
        UsageError: it has everybody pay for what it finds out about the vault as a whole.
    """
    if isinstance(algorithm, Ensemble):
        return NaiveMultiRAG(inner=algorithm, epsilon=algorithm.epsilon)
    if isinstance(algorithm, Adaptive):
        raise UsageError(
            "'adaptive' has everybody pay for its count; in this vault units pay by themselves. murag-ada counts the "
            "units near a question, too."
        )
    if isinstance(algorithm, DPRAG):
        raise UsageError(
            "'dp-rag' has everybody pay for its threshold and its tokens; in this vault units pay by themselves. "
            "murag-ada finds a threshold for each question, too."
        )
    return algorithm


def check_fits(algorithm: Algorithm | ManyQuestions, question: str, model: LanguageModel) -> None:
    """Refuse a question for which the model has no room, before anybody pays.

    Raises:
        UsageError: it is too long.
    """
    single = _single(algorithm)
    if isinstance(single, Panel):
        single.check_fits(question, model)


def answer(
    asked: Asked,
    corpus: Corpus,
    model: LanguageModel,
    ledger: UnitLedger,
    *,
    unit: str,
    noise: Noise | None = None,
) -> Answer:
    """Answer a question, paying into `ledger`.

    Raises:
        BudgetExhausted: another question used up the budget in the middle of this one.
        Interrupted: Ctrl-C; what was paid stays paid.
    """
    if isinstance(asked.algorithm, ManyQuestions):
        units = UnitFilter(ledger, asked.id, ceiling=asked.ceiling, unit=unit, noise=noise)
        draft = _by_units(asked, asked.algorithm, corpus, model, units)
        return _finished(asked, draft, units.receipt())
    kind = PrivacyFilter if asked.algorithm.private else NotPrivateFilter
    privacy = kind(ledger, asked.ceiling, asked.id, unit=unit, noise=noise)
    return _finished(asked, _by_everybody(asked, asked.algorithm, corpus, model, privacy), privacy.receipt())


def recall(
    history: History, question: str, algorithm: Algorithm | ManyQuestions
) -> tuple[Released | None, list[Released]]:
    """What was released before: the answer to this very question, if it will do; else those to related ones."""
    known = history.same(question, _choices(algorithm))
    if known is not None and (known.shares or not getattr(_single(algorithm), "vote_shares", False)):
        return known, []
    return None, history.related(question, RELATED, ALIKE)


def public_record(related: Sequence[Released], texts: PublicTexts | None, question: str) -> str:
    """What stands in the public prompt in place of a document; it is cut to the length of one.

    Released answers come first: they were found to be about a similar question, and are short. What room they leave
    has the text of the public corpus that is nearest to the question.
    """
    parts = [as_record(related), texts.nearest(question) if texts else ""]
    return " ".join(part for part in parts if part)


def to_keep(question: str, algorithm: Algorithm | ManyQuestions, answer: Answer) -> Released:
    """An answer as it is kept."""
    return Released(
        question,
        answer.text,
        answer.stopped,
        answer.algorithm,
        answer.tokens,
        choices=_choices(algorithm),
        released=answer.released,
        shares=answer.shares,
    )


def remembered(history: History, question: str, algorithm: Algorithm | ManyQuestions, answer: Answer) -> Answer:
    """The answer, kept; one that could not be kept is paid and released all the same, and says so."""
    try:
        history.add(to_keep(question, algorithm, answer))
    except StoreError:
        return replace(answer, kept=False)
    return answer


def kept_answer(known: Released, unit: str) -> Answer:
    """An answer that was released before: public, so it costs nothing."""
    return Answer(
        known.answer,
        known.stopped,  # type: ignore[arg-type]
        known.tokens,
        released=tuple(known.released),
        shares=known.shares,
        algorithm=known.algorithm,
        receipt=released_before(unit),
    )


def from_public_texts(
    question: str, texts: PublicTexts, reader: RAG, model: LanguageModel, *, unit: str, remaining: float
) -> Answer:
    """An answer from texts that are public: it costs nothing."""
    draft = reader.read(question, texts.unsealed_passages(question, reader.units), model)
    return Answer(**asdict(draft), algorithm="rag over public texts", receipt=public_texts(unit), remaining=remaining)


def release_threshold(
    tuning: Tuning, questions: Sequence[str], corpus: Corpus, ledger: SqlLedger, settings: Settings
) -> tuple[float, Receipt]:
    """A threshold of similarity, released privately from public questions, and what it cost.

    Raises:
        UsageError: everybody pays in this vault, or there is no question.
        BudgetExhausted: everybody has less left than it costs.
        Interrupted: Ctrl-C; what was paid stays paid.
    """
    if settings.payment != "unit":
        raise UsageError(
            "Tuning needs a vault in which units pay by themselves. Let them, from now on, with: discreet budget VAULT "
            "--convert"
        )
    if not questions:
        raise UsageError("Tuning needs at least one question.")
    affords(ledger.budget, ledger.spent(), tuning.epsilon, lambda epsilon: Spending.of(Pure(epsilon)))
    question_id = uuid.uuid4().hex
    ledger.begin(question_id, "tune", f"{len(questions)} public questions")
    privacy = UnitFilter(ledger, question_id, unit=settings.unit_field)
    released = None
    # Suppressed rather than chained: the frames of an interruption hold private values.
    with suppress(KeyboardInterrupt):
        released = tuning.release(questions, corpus, privacy)
    privacy.settle()
    if released is None:
        raise Interrupted(privacy.receipt().epsilon)
    ledger.finish(question_id, "end")
    return suggestion(released), privacy.receipt()


def _single(algorithm: Algorithm | ManyQuestions) -> Algorithm:
    return algorithm.inner if isinstance(algorithm, ManyQuestions | Adaptive) else algorithm


def _choices(algorithm: Algorithm | ManyQuestions) -> tuple[str, ...]:
    return tuple(getattr(_single(algorithm), "choices", ()))


def _by_units(
    asked: Asked, algorithm: ManyQuestions, corpus: Corpus, model: LanguageModel, privacy: UnitFilter
) -> Draft | None:
    draft = None
    # Suppressed rather than chained: the frames of an interruption hold private values.
    with suppress(KeyboardInterrupt):
        draft = algorithm.answer(asked.question, corpus, model, privacy)
    # After an error nothing is returned: when it came may have depended on more than what was released.
    privacy.settle()
    return draft


def _by_everybody(
    asked: Asked, algorithm: Algorithm, corpus: Corpus, model: LanguageModel, privacy: PrivacyFilter
) -> Draft | None:
    draft = None
    try:
        with suppress(KeyboardInterrupt):
            draft = algorithm.answer(asked.question, corpus, model, privacy)
    except BudgetExhausted as refusal:  # another process spent, in the middle of this answer, what it needed
        paid = privacy.receipt().epsilon
        raise BudgetExhausted(
            f"Another question used up the budget in the middle of this one. What was paid stays paid: epsilon "
            f"{paid:.4g}. No answer was released; {refusal.left:.4g} is left.",
            asked=refusal.asked,
            left=refusal.left,
        ) from None
    return draft


def _finished(asked: Asked, draft: Draft | None, receipt: Receipt) -> Answer:
    if draft is None:
        raise Interrupted(receipt.epsilon)
    return Answer(**asdict(draft), algorithm=asked.name, receipt=receipt)
