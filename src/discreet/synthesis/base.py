"""What the methods of making a synthetic corpus share: what units bring, how a price is shared out, what comes out.

A method is a frozen dataclass of its parameters (`SynthesisAlgorithm`). Its `plan` says what runs and with which
noise, before anything is paid or read; its `make` has it run.
`discreet.synthesis.runner` does the rest, the same for all of them.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import ClassVar, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BudgetExhausted, UsageError
from discreet.generation.model import ScoringModel
from discreet.privacy.accounting import Budget, Spending, budget_for, largest
from discreet.privacy.costs import Cost
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.private import Private
from discreet.retrieval.embedding import Embedder

Whole = NDArray[np.int64]
Fact = tuple[str, str]
"""Of what kind it is, and what it says: "" and a whole sentence, if it is of no kind."""
R = TypeVar("R")
Progress = Callable[[str, int, int], None]
"""Told (the step, how much of it is done, of how much)."""
Ranked = tuple[tuple[str, float], ...]
"""Words with their surprise in nats, the most surprising first."""

FEWEST_RHO = 1e-6
"""The zCDP of the cheapest plan that is looked for."""
LEAST = 0.8
"""A corpus is made with no less than this part of the zCDP that its price pays for by itself."""


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
        name: what it is called in the files of a run: a keyed hash.
    """

    pieces: tuple[TextPiece, ...] = field(repr=False)
    most: int
    name: str = ""

    @property
    def ranked(self) -> list[str]:
        """The K most surprising words of all of its texts, the most surprising first."""
        found: dict[str, float] = {}
        for piece in self.pieces:
            for word, nats in piece.ranked:
                found[word] = max(nats, found.get(word, 0.0))
        return sorted(found, key=lambda word: (-found[word], word))[: self.most]

    @property
    def keywords(self) -> frozenset[str]:
        """The same, as they are counted."""
        return frozenset(self.ranked)

    def about(self, keywords: Collection[str]) -> TextPiece:
        """Its text that one of the keywords is most surprising in."""
        told = [
            (max((nats for word, nats in piece.ranked if word in keywords), default=-1.0), piece.text, place)
            for place, piece in enumerate(self.pieces)
        ]
        return self.pieces[max(told)[2]]


@dataclass(frozen=True)
class SyntheticText:
    """A text for anybody to read.

    Attributes:
        text: the text.
        keyword: the released keyword of the cluster that wrote it; empty if the method has no keywords.
        kept: whether it is part of the corpus.
    """

    text: str
    keyword: str = ""
    kept: bool = True


class Checkpoint(Protocol):
    """Keeps what was drawn, so that work that was interrupted goes on without drawing anything twice."""

    def once(self, name: str, draw: Callable[[], R]) -> R:
        """What was drawn under this name; drawn now, and kept durably, if nothing was."""


@dataclass(frozen=True)
class Public:
    """What a method may use for nothing, as often as it likes, on texts that are public."""

    model: ScoringModel
    embedder: Embedder


@dataclass(frozen=True, kw_only=True)
class CorpusPlan(ABC):
    """What runs, with which noise.

    Attributes:
        rho: the zCDP of everything, about.
        ceiling: the budget that it fills.
    """

    rho: float
    ceiling: Budget | None = None

    @property
    @abstractmethod
    def cost(self) -> Cost:
        """Of everything, for a unit."""

    @property
    def possible(self) -> bool:
        """Whether a method can run like this, whatever its price."""
        return True

    @abstractmethod
    def steps(self, vocabulary: int) -> dict[str, object]:
        """What runs, as plain data."""

    @abstractmethod
    def lines(self, vocabulary: int) -> list[str]:
        """What runs, for a person."""

    @abstractmethod
    def check_size(self, units: int, vocabulary: int) -> None:
        """Refuse what could not give a corpus.

        Raises:
            BadData: there are too few units for anything to be heard above the noise.
        """

    def describe(self, vocabulary: int) -> dict[str, object]:
        """The plan as plain data."""
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
        delta: of the whole corpus; the vault's if None.
        task: what the corpus is for: the model drops texts that are of no use for it. None are dropped if empty.
    """

    name: ClassVar[str]
    failures: ClassVar[float] = 0.0
    """The part of delta that goes to releases that can fail."""
    counts: ClassVar[tuple[str, ...]] = ()
    """Those of its parameters that are whole numbers of at least 1."""

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
        """How many keywords of a text it wants, and of how many of its tokens; None if it wants none."""
        return None

    @property
    def facts_read(self) -> tuple[int, int] | None:
        """In how many tokens the facts of a text are written, and how many of its own are read; None if none are."""
        return None

    @abstractmethod
    def check(self, public: Public) -> None:
        """Refuse, before anything is paid, what the model or the embedder cannot do.

        Raises:
            UsageError: texts do not fit the model, or the embedder lacks what is asked of it.
        """

    @abstractmethod
    def steps(self, rho: float, delta: float, dimension: int, length: int) -> P:
        """What runs if all of it is to cost about `rho`, with `delta` for what can fail."""

    @abstractmethod
    def make(self, inputs: SynthesisInputs[P]) -> list[SyntheticText]:
        """Return all texts, kept or not.

        Everything is paid in one order, before it is drawn, regardless of the values in the checkpoint. A charge is
        identified by its number in this order: without one charge, the next one would have its number.
        """

    def plan(self, budget: Budget, spent: Spending, dimension: int, length: int, *, rho: float | None = None) -> P:
        """Share the price out; every step as precise as it can be.

        Args:
            budget: the vault's.
            spent: what everybody has spent of it.
            dimension: of the vectors of texts.
            length: the longest that such a vector is.
            rho: of a plan that was made before.

        Raises:
            UsageError: delta is above the vault's, or so little is asked for that no plan fits it.
            BudgetExhausted: the price is not left to everybody.
        """
        delta = self.delta if self.delta is not None else budget.delta
        if not delta > 0:
            raise UsageError(
                "A synthetic corpus needs a delta above 0, and the vault has none. Give one: --delta 1e-6."
            )
        if delta > budget.delta:
            raise UsageError(f"The corpus's delta, {delta:g}, is above the vault's, {budget.delta:g}. Ask for less.")
        kept = self.failures * delta
        below = kept * (1 - 1e-9)  # so that it stays below what is kept for it, rounded up
        return share_out(
            lambda rho: self.steps(rho, below, dimension, length),
            lambda cost: budget_for(cost, self.epsilon, delta, kept),
            budget,
            spent,
            rho,
        )


def share_out(
    make: Callable[[float], P], ceiling: Callable[[Cost], Budget], budget: Budget, spent: Spending, rho: float | None
) -> P:
    """The plan with the largest rho that its own ceiling and the vault's budget admit.

    Args:
        make: the plan of a rho.
        ceiling: the budget of a corpus that costs so much.
        budget: the vault's.
        spent: what everybody has spent of it.
        rho: of a plan that was made before: it is made again.

    Raises:
        BudgetExhausted: the price is not left to everybody.
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
                f"Epsilon {price.epsilon:g} at delta {price.delta:g} is too little for any corpus, whatever is left. "
                "Ask for more. Nothing was paid."
            )
        asked = largest(fits, FEWEST_RHO, 1e4)
        # A vault adds up at an order of its own, at which the same steps may count for somewhat more.
        rho = largest(is_left, FEWEST_RHO, asked)
        if not is_left(rho) or rho < LEAST * asked:
            price = ceiling(make(rho).cost)
            raise BudgetExhausted(
                f"Epsilon {price.epsilon:g} at delta {price.delta:g} is not left to every unit: everybody has spent "
                f"{budget.spent(spent):.4g} of {budget.epsilon:g}. Ask for less, or use a vault with a larger "
                "grant. Nothing was paid.",
                asked=price.epsilon,
                left=budget.left(spent),
            )
    plan = make(rho)
    return replace(plan, ceiling=ceiling(plan.cost))
