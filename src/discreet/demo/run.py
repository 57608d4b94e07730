"""The demonstration: the same questions without documents, with plain RAG, and privately."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from discreet.algorithms.base import Answer, AnswerShown
from discreet.demo.corpus import QUESTIONS, DemoQuestion, documents
from discreet.query.known_answers import matches
from discreet.registry import RAG, Consensus, MuRAGAda, NonRAG
from discreet.system.plain import KEY, Sparse
from discreet.vault import Vault
from discreet.vault.documents import Progress

GRANT = 20.0
DELTA = 1e-6
PEOPLE = 1200
"""How many patients the vault declares: a server measures statistics for so many."""
NOTE_TOKENS = 72
"""No note is longer. A row is computed at this length, which is public; by default it is more than twice as long."""


@dataclass(frozen=True)
class ThreeAnswers:
    """A question, its three answers, and the patients' names in the answers."""

    asked: DemoQuestion
    without: Answer
    plain: Answer
    private: Answer
    leaked: tuple[str, ...]
    leaked_privately: tuple[str, ...]

    def correct(self, answer: Answer) -> bool | None:
        """Return whether an answer is right; None if the question has no right answer."""
        return matches(answer.text_or_public, self.asked.answers) if self.asked.answers else None

    def shown(self) -> "DemoComparison":
        """Return the comparison as it leaves."""
        return DemoComparison(
            self.asked.question,
            self.asked.note,
            self.without.shown(),
            self.plain.shown(),
            self.private.shown(),
            self.leaked,
            self.leaked_privately,
        )


@dataclass(frozen=True)
class DemoComparison(Sparse):
    """A question that was asked in three ways.

    Attributes:
        question: the question.
        note: what it shows.
        without: the answer without documents.
        rag: the answer of plain RAG.
        private: the answer with a guarantee.
        leaked_by_rag: names of patients in the answer of plain RAG.
        leaked_privately: names of patients in the answer with a guarantee.
    """

    question: str
    note: str
    without: AnswerShown = field(metadata={KEY: "non-rag"})
    rag: AnswerShown
    private: AnswerShown
    leaked_by_rag: tuple[str, ...]
    leaked_privately: tuple[str, ...]


def build_vault(folder: Path, progress: Progress | None = None) -> Vault:
    """Make a vault with the fictional hospital. Return the vault."""
    vault = Vault.create(folder, epsilon=GRANT, delta=DELTA, unit_field="patient", people=PEOPLE, log_questions=True)
    vault.add_documents(documents(PEOPLE), progress)
    return vault


def compare(
    vault: Vault, epsilon: float | None = None, on_progress: Callable[[str], None] = lambda _: None
) -> list[ThreeAnswers]:
    """Ask each question of the demonstration in three ways. `on_progress` receives a question before it is asked."""
    names = [document.unit for document in documents()]
    shown = []
    for question in QUESTIONS:
        on_progress(question.question)
        voters = Consensus(max_tokens=16, prefix=question.prefix, document_tokens=NOTE_TOKENS)
        private = MuRAGAda(inner=voters, epsilon=epsilon)
        answers = (
            vault.ask(question.question, NonRAG(max_tokens=16, prefix=question.prefix)),
            vault.ask(question.question, RAG(max_tokens=16, prefix=question.prefix), not_private=True),
            vault.ask(question.question, private),
        )
        leaked, leaked_privately = (_names_in(answer.text_or_public, names) for answer in (answers[1], answers[2]))
        shown.append(ThreeAnswers(question, *answers, leaked, leaked_privately))
    return shown


def _names_in(text: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return the names that occur in a text, in the text's spelling."""
    places = ((name, text.casefold().find(name)) for name in names)
    return tuple(text[start : start + len(name)] for name, start in places if start >= 0)
