"""Streams of questions: every unit has one budget for all questions, and each question spends a part of it."""

import tempfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.algorithms.base import Algorithm
from discreet.algorithms.murag import NaiveMultiRAG
from discreet.algorithms.retrieval import AllVoteRAG, PrivateRAG
from discreet.baselines import NonRAG
from discreet.errors import BudgetExhausted
from discreet.privacy.account import Payment
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.filter import MemoryLedger
from discreet.privacy.noise import InsecureSeededNoise
from discreet.query.answer_cache import AnswerCache
from discreet.query.known_answers import KnownQuestion
from discreet.store.sealed_corpus import unit_key
from discreet.system.plain import Records
from discreet.vault import Vault
from discreet_lab.evaluation.caching_model import CachingModel
from discreet_lab.evaluation.metrics import score


@dataclass(frozen=True)
class Setting:
    """An algorithm, and the budget of every unit for the whole stream.

    Attributes:
        algorithm: the algorithm that answers each question.
        epsilon: every unit's budget; None for an algorithm without a guarantee or without costs.
        delta: its delta.
        reuse: whether released answers are used again.
        note: what else is special about it, for the table.
    """

    algorithm: Algorithm
    epsilon: float | None = None
    delta: float = 1e-5
    reuse: bool = False
    note: str = ""

    @property
    def label(self) -> str:
        """The name of the setting in a table."""
        return ", ".join([_name(self.algorithm), *(["reuse"] * self.reuse), *([self.note] if self.note else [])])

    @property
    def places(self) -> int:
        """The maximum number of units that an answer is based on."""
        return getattr(self.algorithm, "units_read", 0)


def _name(algorithm: Algorithm) -> str:
    """Return the name of an algorithm, with the parameters that distinguish two instances in a table."""
    parts = [algorithm.name]
    if isinstance(algorithm, PrivateRAG) and not isinstance(algorithm, NaiveMultiRAG):  # there, all units pay the same
        parts += [f"M={algorithm.uses}"] * bool(algorithm.uses)
    if isinstance(algorithm, AllVoteRAG):
        parts += ["the nearest vote"] * (not algorithm.all_vote) + ["by support"] * algorithm.by_support
    return ", ".join(parts)


@dataclass
class StreamResult:
    """The result of a stream.

    Attributes:
        setting: the setting.
        scores: the score of each answer, in [0, 1].
        precision: for each question, the share of its nearest units that took part; empty if it is not known.
        of_paper: precision as Table 1 of MuRAG has it: the share of the nearest among the units that took part, for
            each question in which some did.
        unpaid: the number of questions that could not be paid, and were answered without documents.
        free: the number of questions with an earlier answer, which is free.
        private: the number of private tokens.
        texts: the answers.
    """

    setting: Setting
    scores: list[float] = field(default_factory=list)
    precision: list[float] = field(default_factory=list)
    of_paper: list[float] = field(default_factory=list)
    unpaid: int = 0
    free: int = 0
    private: int = 0
    texts: list[str] = field(default_factory=list)

    @property
    def accuracy(self) -> float:
        """The mean score."""
        return sum(self.scores) / len(self.scores)

    def describe(self) -> dict[str, Any]:
        """Return the outcome as plain data."""
        return {
            "label": self.setting.label,
            "epsilon": self.setting.epsilon,
            "accuracy": self.accuracy,
            "precision": mean_of(self.precision),
            "precision of the paper": mean_of(self.of_paper),
            "unpaid": self.unpaid,
            "free": self.free,
            "private": self.private,
            "scores": self.scores,
            "texts": self.texts,
        }


class WatchedLedger(MemoryLedger):
    """A ledger of a simulation that keeps the units that were admitted last."""

    def __init__(self, budget: Budget) -> None:
        super().__init__(budget, simulation=True)
        self.admitted: frozenset[bytes] | None = None
        self.excluded: frozenset[bytes] = frozenset()

    def reserve(self, question: str, part: int, most: Spending, units: Sequence[bytes]) -> frozenset[bytes]:
        """Reserve, and keep the admitted units."""
        self.admitted = super().reserve(question, part, most, units)
        return self.admitted

    def reserve_all(self, question: str, part: int, most: Spending) -> frozenset[bytes]:
        """Reserve, and keep the excluded units."""
        self.admitted = None
        self.excluded = super().reserve_all(question, part, most)
        return self.excluded


def run_stream(
    vault: Vault,
    questions: Sequence[KnownQuestion],
    settings: Sequence[Setting],
    seed: int = 0,
    progress: Callable[[], None] = lambda: None,
    model: CachingModel | None = None,
) -> Records[StreamResult]:
    """Answer the questions in order, in each of the settings. Nothing is paid by the vault; noise is seeded.

    `progress` is called after each answer. `model` is the vault's model, with what it knows from earlier streams.
    """
    model = model or CachingModel(vault.model)
    outcomes = Records(StreamResult(setting) for setting in settings)
    ledgers = [WatchedLedger(_budget(setting)) for setting in settings]
    secret = vault.corpus.secret
    with tempfile.TemporaryDirectory() as folder:
        histories = [
            AnswerCache(Path(folder) / str(number), vault.embedder) if setting.reuse else None
            for number, setting in enumerate(settings)
        ]
        for question in questions:
            nearest = vault.components.baseline_corpus.unsealed_passages(question.question, 2000)
            ranked = [unit_key(passage.unit, secret) for passage in nearest]
            for outcome, ledger, history in zip(outcomes, ledgers, histories, strict=True):
                ledger.admitted, free = frozenset(), outcome.free
                _answer(vault, model, question, outcome, ledger, history, seed)
                places = outcome.setting.places
                if outcome.setting.epsilon is not None and places and outcome.free == free:
                    all_read = getattr(outcome.setting.algorithm, "all_vote", False)
                    share, of_paper = precisions(_took_part(ledger, ranked), ranked[:places], all_read)
                    outcome.precision.append(share)
                    outcome.of_paper += [] if of_paper is None else [of_paper]
                progress()
    return outcomes


def _budget(setting: Setting) -> Budget:
    epsilon = setting.epsilon or 1.0
    return Budget(epsilon, setting.delta, 0.5 * setting.delta)


def _answer(
    vault: Vault,
    model: CachingModel,
    question: KnownQuestion,
    outcome: StreamResult,
    ledger: WatchedLedger,
    history: AnswerCache | None,
    seed: int,
) -> None:
    algorithm = outcome.setting.algorithm
    # The same noise at every epsilon, where the scale is the same.
    noise = InsecureSeededNoise(zlib.crc32(f"{question.id}|{outcome.setting.label}|{seed}".encode()))
    used = ledger if algorithm.spec.payment is Payment.EACH_UNIT else None
    try:
        answer = vault.simulate(question.question, algorithm, noise=noise, model=model, ledger=used, history=history)
        outcome.free += bool(answer.receipt and answer.receipt.payment == "nobody" and answer.receipt.reused)
    except BudgetExhausted:
        outcome.unpaid += 1
        ledger.admitted = frozenset()
        inner = getattr(algorithm, "inner", None)
        answer = vault.simulate(
            question.question, NonRAG(prefix=getattr(inner, "prefix", "")), noise=noise, model=model
        )
    outcome.scores.append(score(answer.text_or_public, question.answers, question.kind))
    outcome.texts.append(answer.text_or_public)
    outcome.private += answer.private_tokens


def precisions(took_part: Sequence[bytes], nearest: Sequence[bytes], all_read: bool) -> tuple[float, float | None]:
    """Return the share of the nearest units that are read, and the share of the nearest among those that are read.

    The second one is the precision of Table 1 of MuRAG. It is None if no unit is read.

    Args:
        took_part: the units that took part, nearest first.
        nearest: the units nearest to the question.
        all_read: whether all that took part are read; else as many as there are `nearest`.
    """
    dealt = took_part[: len(nearest)]
    read, near = took_part if all_read else dealt, set(nearest)
    return len(near & set(dealt)) / len(nearest), len(near & set(read)) / len(read) if read else None


def mean_of(values: Sequence[float]) -> float | None:
    """Return the mean; None if there are no values."""
    return sum(values) / len(values) if values else None


def _took_part(ledger: WatchedLedger, ranked: Sequence[bytes]) -> list[bytes]:
    """Return the units that were admitted, nearest first."""
    if ledger.admitted is None:
        return [unit for unit in ranked if unit not in ledger.excluded]
    return [unit for unit in ranked if unit in ledger.admitted]
