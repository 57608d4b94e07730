"""What is attacked, and how it is asked many questions: nothing is paid, and noise is seeded."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.algorithms.common.algorithm import Algorithm
from discreet.errors import BadData, UnknownName
from discreet.evaluation.datasets import Question
from discreet.evaluation.experiment import run_answers
from discreet.generation.model import LanguageModel
from discreet.privacy.accounting import Budget
from discreet.privacy.ledger import MemoryLedger
from discreet.privacy.noise import Noise
from discreet.registry import ALGORITHMS, RAG, NonRAG, make_algorithm
from discreet.retrieval.documents import Passage
from discreet.retrieval.public import PublicTexts
from discreet.synthesis.runner import METHODS, Told, make_corpus
from discreet.vault import Vault

REDACTED, CORPUS = "redacted", "corpus"
NAMES = (*ALGORITHMS, REDACTED, *METHODS, CORPUS)
"""Algorithms; plain RAG over redacted documents; methods of making a synthetic corpus; a corpus that is there."""
ROWS = 16
"""So many questions to plain RAG are answered at once."""
PLAIN = frozenset((RAG.name, NonRAG.name))
"""Algorithms that are answered so."""
Find = Callable[[str], list[Passage]]


@dataclass(frozen=True)
class Target:
    """What is attacked.

    Attributes:
        name: one of `NAMES`.
        epsilon, delta: what one question costs, or the whole corpus; None without a guarantee.
        algorithm: answers by voters and the like.
        find: or else, how plain RAG finds what it reads.
        once: whether the price is for all questions together.
        note: what a reader of its figures must know.
    """

    name: str
    epsilon: float | None = None
    delta: float | None = None
    algorithm: Algorithm | None = None
    find: Find | None = field(default=None, repr=False)
    once: bool = False
    note: str = ""

    @property
    def label(self) -> str:
        """What it is called in a table."""
        label = self.name if self.epsilon is None else f"{self.name}, epsilon {self.epsilon:g}"
        return f"{label} ({self.note})" if self.note else label

    def price(self, questions: int) -> tuple[float, float] | None:
        """What so many questions cost, by adding up; None without a guarantee."""
        if self.epsilon is None or self.delta is None:
            return None
        times = 1 if self.once else questions
        return times * self.epsilon, times * self.delta


def check_names(names: Sequence[str]) -> None:
    """Nothing, if there are such targets.

    Raises:
        UnknownName: there is none of that name.
    """
    for name in names:
        if name not in NAMES:
            raise UnknownName("target", name, NAMES)


def algorithms_called(name: str, epsilons: Sequence[float], options: dict[str, Any], vault: Vault) -> list[Target]:
    """An algorithm at several epsilons, if it has one."""
    made = {make_algorithm(name, {**options, "epsilon": epsilon}, strict=False): epsilon for epsilon in epsilons}
    targets = []
    for algorithm, epsilon in made.items():
        plan = algorithm.plan(vault.ledger.budget, vault.model.vocabulary_size) if algorithm.private else None
        if plan is None:
            targets.append(Target(name, algorithm=algorithm))
        else:
            targets.append(Target(name, epsilon, plan.ceiling.delta, algorithm))
    return targets


def made_corpus(copy: Vault, method: str, epsilon: float, folder: Path, noise: Noise, told: Told) -> Target:
    """Plain RAG over a synthetic corpus of a simulation, made with seeded noise."""
    delta = copy.settings.delta
    parameters = METHODS[method](epsilon=epsilon, delta=delta)
    # Plans fill a budget of their own; the order at which this one adds up costs a little more.
    ledger = MemoryLedger(Budget(1.5 * epsilon, delta, 0.5 * delta), simulation=True)
    shop = copy.workshop(noise, ledger)
    file = folder / f"{method}-{epsilon:g}.jsonl"
    try:
        make_corpus(shop, file, parameters, only_new=False, force=False, told=told)
        texts = PublicTexts.read(file, copy.embedder)
    except BadData:  # too few documents, or nothing was common enough: there is nothing to read
        return Target(method, epsilon, delta, find=_nothing, once=True, note="it has no text")
    return Target(method, epsilon, delta, find=reading(texts), once=True)


def reading(texts: PublicTexts) -> Find:
    """How plain RAG finds what it reads in a public corpus."""
    return lambda asked: texts.unsealed_passages(asked, 1)


@dataclass(frozen=True)
class Said:
    """What a target answered.

    Attributes:
        texts: one answer a question.
        private: to how many questions voters released something; None where there are no voters.
    """

    texts: list[str]
    private: int | None = None


def ask_all(
    copy: Vault,
    targets: Sequence[Target],
    questions: Sequence[str],
    options: Mapping[str, Any],
    seed: int = 0,
    progress: Callable[[int], None] = lambda _: None,
) -> list[Said]:
    """The answers of every target to all questions, in their order.

    Private algorithms are asked one after the other, so that at several epsilons a document is read once.
    """
    reader = RAG(max_tokens=options.get("max_tokens") or RAG.max_tokens, prefix=options.get("prefix") or "")
    voting = [target.algorithm for target in targets if target.algorithm and target.algorithm.name not in PLAIN]
    answers = _voted(copy, voting, questions, seed, progress)
    found = []
    for target in targets:
        if target.algorithm is not None and target.algorithm in answers:
            found.append(answers[target.algorithm])
            continue
        find = target.find or (
            _nothing if target.algorithm is not None and target.algorithm.private else finder(copy, reader.units)
        )
        found.append(Said(read_all(copy.model, reader, questions, find, progress)))
    return found


def finder(copy: Vault, units: int = 1) -> Find:
    """How plain RAG finds what it reads in a vault."""
    return lambda asked: copy.components.baseline_corpus.unsealed_passages(asked, units)


def _nothing(_: str) -> list[Passage]:
    return []


def _voted(
    copy: Vault,
    algorithms: Sequence[Algorithm],
    questions: Sequence[str],
    seed: int,
    progress: Callable[[int], None],
) -> dict[Algorithm, Said]:
    asked = [Question(f"{seed}|{number}", text, ()) for number, text in enumerate(questions)]
    outcomes = run_answers(copy, asked, algorithms, 1, lambda: progress(1))
    found = {}
    for algorithm, groups in outcomes.items():
        answers = [answer for answer, *_ in groups]
        private = sum(bool(answer.released or answer.private_tokens) for answer in answers)
        found[algorithm] = Said([answer.answer for answer in answers], private if algorithm.private else None)
    return found


def read_all(
    model: LanguageModel,
    reader: RAG,
    questions: Sequence[str],
    find: Find,
    progress: Callable[[int], None] = lambda _: None,
) -> list[str]:
    """What plain RAG answers to many questions, some at once: the same as one by one, up to rounding."""
    answers = []
    for start in range(0, len(questions), ROWS):
        asked = [(question, find(question)) for question in questions[start : start + ROWS]]
        answers += [draft.text for draft in reader.read_all(asked, model)]
        progress(len(asked))
    return answers
