"""The shared parts of the methods of synthesis: the texts of units, plans and their prices, synthetic texts.

A method is a frozen dataclass of its parameters (`SynthesisAlgorithm`). Its `plan` returns the releases with their
noise, before a payment and before a document is read. Its `make` carries out the plan.
`discreet.synthesis.runner` does the rest, in the same way for all methods.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BudgetExhausted, UsageError
from discreet.models.protocol import ScoringModel
from discreet.privacy.accounting import Budget, Spending, budget_for, largest
from discreet.privacy.costs import Cost
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.private import Private
from discreet.store.embedding import Embedder

Whole = NDArray[np.int64]
Fact = tuple[str, str]
"""The kind of a fact and its value; without a kind, "" and a whole sentence."""
R = TypeVar("R")
Progress = Callable[[str, int, int], None]
"""Called with the step, how much of it is done, and its size."""
Ranked = tuple[tuple[str, float], ...]
"""Words with their surprise in nats, the most surprising first."""
ListKeywords = Callable[[ScoringModel, Sequence[str], int, int], Iterator[tuple[int, Ranked]]]
"""Takes the model, texts, the most keywords of a text and its tokens; yields keywords with the text's position."""

FEWEST_RHO = 1e-6
"""The zCDP of the cheapest plan that is tried."""
LEAST = 0.8
"""The smallest part of the zCDP that its price pays for, with which a corpus is made."""


@dataclass(frozen=True)
class TextPiece:
    """A text of a unit, its vector in whole numbers, and its keywords and facts, if the method asked for any."""

    text: str = field(repr=False)
    vector: Whole = field(repr=False)
    ranked: Ranked = field(repr=False)
    facts: tuple[Fact, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class UnitTexts:
    """All texts of a unit; together they have at most K keywords that count.

    Attributes:
        pieces: its texts.
        most: K.
        name: its name in the files of a run: a keyed hash.
    """

    pieces: tuple[TextPiece, ...] = field(repr=False)
    most: int
    name: str = ""

    @cached_property
    def ranked(self) -> list[str]:
        """The K most surprising words of all of its texts, the most surprising first."""
        ranks: dict[str, float] = {}
        for piece in self.pieces:
            for word, nats in piece.ranked:
                ranks[word] = max(nats, ranks.get(word, 0.0))
        return sorted(ranks, key=lambda word: (-ranks[word], word))[: self.most]

    @property
    def keywords(self) -> frozenset[str]:
        """The set of `ranked`, which is counted."""
        return frozenset(self.ranked)

    def about(self, keywords: Collection[str]) -> TextPiece:
        """Return the text in which one of the keywords is most surprising."""
        ranked = [
            (max((nats for word, nats in piece.ranked if word in keywords), default=-1.0), piece.text, place)
            for place, piece in enumerate(self.pieces)
        ]
        return self.pieces[max(ranked)[2]]


@dataclass(frozen=True)
class SyntheticText:
    """A text that all may read.

    Attributes:
        text: the text.
        keyword: the released keyword of the cluster that wrote it; empty if the method has no keywords.
        kept: whether it is part of the corpus.
    """

    text: str
    keyword: str = ""
    kept: bool = True


class Checkpoint(Protocol):
    """A store of drawn values, so that an interrupted run resumes without a second draw."""

    def once(self, name: str, draw: Callable[[], R]) -> R:
        """Return the value that was drawn under this name; draw it now, and keep it durably, if there is none."""


@dataclass(frozen=True)
class Public:
    """The model and the embedder, which a method may use on public texts without payment."""

    model: ScoringModel
    embedder: Embedder


@dataclass(frozen=True, kw_only=True)
class CorpusPlan(ABC):
    """The releases of a run, with their noise.

    Attributes:
        rho: the approximate zCDP of all releases.
        ceiling: the budget that they fill.
    """

    rho: float
    ceiling: Budget | None = None

    @property
    @abstractmethod
    def cost(self) -> Cost:
        """The cost of all releases, for one unit."""

    @property
    def possible(self) -> bool:
        """Whether a method can run with this noise, regardless of the price."""
        return True

    @abstractmethod
    def steps(self, vocabulary: int) -> dict[str, object]:
        """Return the releases as plain data."""

    @abstractmethod
    def lines(self, vocabulary: int) -> list[str]:
        """Return the releases in words, one sentence a line."""

    @abstractmethod
    def check_size(self, units: int, vocabulary: int) -> None:
        """Refuse a vault that is too small for a corpus.

        Raises:
            BadData: if the noise would exceed the votes of all units.
        """

    def describe(self, vocabulary: int) -> dict[str, object]:
        """Return the plan as plain data."""
        price = {
            "epsilon": self.ceiling.epsilon if self.ceiling else None,
            "delta": self.ceiling.delta if self.ceiling else None,
            "rho": self.rho,
        }
        return price | self.steps(vocabulary)


P = TypeVar("P", bound=CorpusPlan)


@dataclass(frozen=True, kw_only=True)
class SynthesisInputs(Generic[P]):
    """The inputs of one run of a method.

    Attributes:
        plan: the plan of the run, with its costs.
        units: the texts of every unit that pays.
        public: the public model and embedder.
        privacy: the filter that charges, and then opens sealed values.
        checkpoint: what this run has drawn before; of this corpus alone.
        on_progress: called with the step, how much of it is done, and its size.
    """

    plan: P
    units: Private[UnitTexts]
    public: Public
    privacy: PrivacyFilter
    checkpoint: Checkpoint
    on_progress: Progress = lambda *_: None


@dataclass(frozen=True, kw_only=True)
class SynthesisAlgorithm(ABC, Generic[P]):
    """A way to make a synthetic corpus, with its parameters.

    Attributes:
        epsilon: the price of the whole corpus.
        delta: the delta of the whole corpus; the vault's if None.
        task: the purpose of the corpus. The model drops texts that are useless for it; none if the task is empty.
    """

    name: ClassVar[str]
    failures: ClassVar[float] = 0.0
    """The part of delta that goes to releases that can fail."""
    counts: ClassVar[tuple[str, ...]] = ()
    """The parameters that are whole numbers of at least 1."""

    epsilon: float = 10.0
    delta: float | None = None
    task: str = ""

    def __post_init__(self) -> None:
        for name in self.counts:
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be at least 1, not {getattr(self, name)}.")
        if not (self.epsilon > 0 and math.isfinite(self.epsilon)):
            raise UsageError(f"epsilon must be a number above 0, not {self.epsilon}.")
        if self.delta is not None and not 0 < self.delta < 1:
            raise UsageError(f"delta is a probability between 0 and 1, not {self.delta}. Try 1e-6.")

    @property
    def keywords_read(self) -> tuple[int, int] | None:
        """The number of keywords of a text, and the number of tokens that are read for them; None without keywords."""
        return None

    @property
    def list_keywords(self) -> ListKeywords | None:
        """What lists the keywords of a text; None for the words that surprise the model most."""
        return None

    @property
    def facts_read(self) -> tuple[int, int] | None:
        """The tokens in which the facts of a text are written, and those that are read; None without facts."""
        return None

    @abstractmethod
    def check(self, public: Public) -> None:
        """Check, before a payment, that the model and the embedder can run the method.

        Raises:
            UsageError: if texts do not fit the model, or if the embedder lacks a property that the method needs.
        """

    @abstractmethod
    def steps(self, rho: float, delta: float, dimension: int, length: int) -> P:
        """Return the plan that costs about `rho`, with `delta` for releases that can fail."""

    @abstractmethod
    def make(self, inputs: SynthesisInputs[P]) -> list[SyntheticText]:
        """Return all texts, kept or not.

        Everything is paid in one order, before it is drawn, regardless of the values in the checkpoint. A charge is
        identified by its number in this order: without one charge, the next one would have its number.
        """

    def plan(self, budget: Budget, spent: Spending, dimension: int, length: int, *, rho: float | None = None) -> P:
        """Divide the price among the steps; return the plan with the least noise.

        Args:
            budget: the vault's budget.
            spent: what every unit has spent of it.
            dimension: the dimension of the vectors of texts.
            length: the maximum length of such a vector.
            rho: the rho of an earlier plan, which is made again.

        Raises:
            UsageError: if delta is above the vault's, or if the price is too small for any plan.
            BudgetExhausted: if the price is not left to every unit.
        """
        delta = self.delta if self.delta is not None else budget.delta
        if not delta > 0:
            raise UsageError(
                "A synthetic corpus needs a delta above 0, and the vault has none. Give one: --delta 1e-6."
            )
        if delta > budget.delta:
            raise UsageError(f"The corpus's delta, {delta:g}, is above the vault's, {budget.delta:g}. Ask for less.")
        # A bisection takes as long as a small corpus. A run asks for its plan more than once, an audit for each draw.
        plan: P = _shared_out(self, budget, *spent.pack(), delta, dimension, length, rho)
        return plan


@lru_cache(maxsize=64)
def _shared_out(
    method: SynthesisAlgorithm[Any],
    budget: Budget,
    loss: bytes,
    failure: int,
    delta: float,
    dimension: int,
    length: int,
    rho: float | None,
) -> Any:
    kept = method.failures * delta
    below = kept * (1 - 1e-9)  # so that it stays below its share, rounded up
    return share_out(
        lambda rho: method.steps(rho, below, dimension, length),
        lambda cost: budget_for(cost, method.epsilon, delta, kept),
        budget,
        Spending.unpack(loss, failure),
        rho,
    )


def share_out(
    make: Callable[[float], P], ceiling: Callable[[Cost], Budget], budget: Budget, spent: Spending, rho: float | None
) -> P:
    """Return the plan with the largest rho that its own ceiling and the vault's budget admit.

    Args:
        make: returns the plan of a rho.
        ceiling: returns the budget of a corpus with this cost.
        budget: the vault's budget.
        spent: what every unit has spent of it.
        rho: the rho of an earlier plan, which is made again.

    Raises:
        BudgetExhausted: if the price is not left to every unit.
    """

    def fits(rho: float) -> bool:
        plan = make(rho)
        return plan.possible and ceiling(plan.cost).admits(Spending.of(plan.cost))

    def is_left(rho: float) -> bool:
        return fits(rho) and budget.admits(spent + Spending.of(make(rho).cost))

    if rho is None:
        if not fits(FEWEST_RHO):
            price = ceiling(make(FEWEST_RHO).cost)
            raise UsageError(
                f"Epsilon {price.epsilon:g} at delta {price.delta:g} is too little for any corpus. "
                "Give a larger epsilon. Nothing was paid."
            )
        wanted_rho = largest(fits, FEWEST_RHO, 1e4)
        # A vault adds costs at an order of its own, at which the same steps may cost somewhat more.
        rho = largest(is_left, FEWEST_RHO, wanted_rho)
        if not is_left(rho) or rho < LEAST * wanted_rho:
            price = ceiling(make(rho).cost)
            raise BudgetExhausted(
                f"Epsilon {price.epsilon:g} at delta {price.delta:g} is not left to every unit: all units have spent "
                f"{budget.spent(spent):.4g} of {budget.epsilon:g}. Give a smaller epsilon, or use a vault with a "
                "larger grant. Nothing was paid.",
                asked=price.epsilon,
                left=budget.left(spent),
            )
    plan = make(rho)
    return replace(plan, ceiling=ceiling(plan.cost))
