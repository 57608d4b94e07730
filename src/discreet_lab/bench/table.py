"""A table of a paper as data: what is varied, what is measured, what the paper found, and what ours does otherwise."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from discreet.errors import UsageError

Sweep = Mapping[str, tuple[Any, ...]]
"""The values of each parameter that a table varies."""
Row = dict[str, Any]
"""The cells of a row by their columns."""
THE_QUESTIONS = "the questions at hand"
"""A task of a synthetic corpus: to answer questions such as the first one."""
PRECISION = "precision of those read"
"""Precision as Table 1 of MuRAG has it: the share of the nearest among those that are read. "precision" is the share of
those that are read among the nearest."""
TOP_K_RELEASE = "murag-ada, top K released without privacy"
"""The row of a baseline of MuRAG, which is counted and asks no model."""
_EMBEDDINGS = "no algorithm answers there, since it asks no model and compares embeddings"
_PROTECTIONS = "its rows protect the vectors of one algorithm in several ways, and compare no algorithms"
WITHOUT_ALGORITHMS: Mapping[str, str] = {
    "knn-lm": _PROTECTIONS,
    "prompting": _PROTECTIONS,
    "projection": _EMBEDDINGS,
    "claim": _EMBEDDINGS,
    "overlap": _EMBEDDINGS,
    "tokens": "it is arithmetic of the papers' prices, and asks no model",
    "lengths": "it counts the words of the answers that are given, and asks no model",
}
"""The experiments that take no algorithm of one's own, and why."""
DEMO = "the fictional hospital of the demonstration"


class Data(StrEnum):
    """The kinds of data of the papers. A paper's figures stand beside ours on data of their own kind alone.

    Attributes:
        FACTS: other questions with short answers, of which one must occur in the text (match accuracy).
        KNOWLEDGE: such questions of general knowledge: Trivia, Natural Questions, SearchQA.
        PATIENTS: such questions on the diseases of patients: Medical Synth.
        FILMS: such questions on the films of viewers: MovieLens.
        CHAINS: such questions in chains, each on the answer of another one: MQuAKE.
        DIALOGUES: questions with a reference answer, compared by likeness: ChatDoctor.
        MAILS: texts with e-mail addresses, links and phone numbers, without questions: Enron.
        TEXTS: other texts without questions.
        NONE: arithmetic alone.
    """

    FACTS = "questions with short answers"
    KNOWLEDGE = "questions of general knowledge"
    PATIENTS = "questions on patients"
    FILMS = "questions on films"
    CHAINS = "chained questions"
    DIALOGUES = "questions with reference answers"
    MAILS = "mails with addresses, links and numbers"
    TEXTS = "texts without questions"
    NONE = "no data"


@dataclass(frozen=True)
class Paper:
    """A paper.

    Attributes:
        key: a short name.
        authors, title: as in the paper.
        models: the language models of its experiments.
        delta: the delta of its experiments; None if it states none.
        embedder: its retriever; "" if it names none.
        questions: the number of questions of a data set; 0 if it states none.
    """

    key: str
    authors: str
    title: str
    models: tuple[str, ...] = ()
    delta: float | None = None
    embedder: str = ""
    questions: int = 0

    def shown(self) -> "PaperShown":
        """Return the paper as it leaves."""
        return PaperShown(self.authors, self.title)


@dataclass(frozen=True)
class PaperShown:
    """A paper.

    Attributes:
        authors: its authors.
        title: its title.
    """

    authors: str
    title: str


@dataclass(frozen=True)
class Reported:
    """Figures that a paper states for the rows of a table.

    Attributes:
        source: the place in the paper, its data and its model.
        column: the measure that they are, as our column is called.
        keys: the columns that identify a row.
        values: the figure of each row, by the values of `keys`.
        data: the kind of the paper's data.
    """

    source: str
    column: str
    keys: tuple[str, ...]
    values: Mapping[tuple[Any, ...], float | str]
    data: Data

    def figure(self, row: Mapping[str, Any]) -> float | str | None:
        """Return the paper's figure for a row; None if it states none."""
        return self.values.get(tuple(row.get(key) for key in self.keys))


@dataclass(frozen=True)
class BenchTable:
    """A table or figure of a paper.

    Attributes:
        name: the name for `discreet bench`.
        paper: the paper.
        where: the table or figure in the paper.
        shows: what it shows.
        experiment: the kind of experiment, one of `runner.EXPERIMENTS`.
        sweep: the values of each parameter that is varied.
        quick: other values of some parameters, for a run in about a minute.
        columns: the columns that are measured.
        found: what the paper found, in words.
        ours: what our algorithms and measures do otherwise in every run. What a run shows is not in it.
        reported: the paper's figures.
        data: what it runs on: questions with short answers, mails, or no data.
        settings: what is the same in all rows.
        limit, quick_limit: the number of questions (of people, of mails) without --limit.
        seeds: the number of runs with different noise.
        work: the work in words, where it is not a number of answers.
    """

    name: str
    paper: Paper
    where: str
    shows: str
    experiment: str
    columns: tuple[str, ...]
    found: str
    ours: str
    sweep: Sweep = field(default_factory=dict)
    quick: Sweep = field(default_factory=dict)
    reported: tuple[Reported, ...] = ()
    data: Data = Data.FACTS
    settings: Mapping[str, Any] = field(default_factory=dict)
    limit: int = 40
    quick_limit: int = 4
    seeds: int = 3
    work: str = ""

    def values(self, quick: bool, given: Sweep) -> dict[str, tuple[Any, ...]]:
        """Return the values of each parameter that is varied.

        Args:
            quick: whether the run is quick.
            given: values in place of the table's.

        Raises:
            UsageError: if epsilons are given and the table varies none, or several values of what it does not vary.
        """
        found = {**self.sweep, **(self.quick if quick else {})}
        if "epsilon" in given and "epsilon" not in found:
            raise UsageError(f"The table '{self.name}' does not vary epsilon. Leave --epsilon out.")
        several = [name for name, values in given.items() if name not in found and len(values) > 1]
        if several:
            raise UsageError(f"The table '{self.name}' does not vary {several[0]}. Give one value.")
        return found | {name: values for name, values in given.items() if name in found}

    @property
    def estimated(self) -> str:
        """The estimated work of a whole run: what is varied, questions and runs."""
        if self.work:
            return self.work
        varied = " x ".join(
            f"{len(values)} algorithms" if name == "algorithm" else f"{len(values)} values of {name}"
            for name, values in self.sweep.items()
            if len(values) > 1
        )
        return f"{varied}; {self.limit} questions, {self.seeds} run{'s' * (self.seeds > 1)}"

    @property
    def no_plugin(self) -> str:
        """Why one's own algorithm cannot be a further row; "" if it can."""
        return WITHOUT_ALGORITHMS.get(self.experiment, "")

    def reported_on(self, data: Data) -> tuple[Reported, ...]:
        """Return the figures that the paper states for data of this kind."""
        return tuple(one for one in self.reported if one.data == data)
