"""Aug-PE: a synthetic corpus by private evolution, the baseline of DP-SynRAG that reads no document with the model.

Xie, Lin, Backurs, Gopi, Yu, Inan, Nori, Jiang, Zhang, Lee, Li and Yekhanin, "Differentially Private Synthetic Data via
Foundation Model APIs 2: Text" (2024), Algorithm 1, by rank. The public model writes texts from a public description;
in every generation each unit votes for the one that is nearest to it, the votes are counted with noise, those with
most votes are kept, and the model writes variations of them. Nothing but the counts has to do with documents. Ours
differs from the paper:

- A unit casts one vote in a generation, however many documents it has.
- Counts get whole-number noise, and the whole is paid before the first is drawn.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadData, UsageError
from discreet.models.answers import sample_texts
from discreet.models.prompts import vary_layout, write_layout
from discreet.models.protocol import ScoringModel
from discreet.privacy.costs import Cost, Times
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.mechanisms.counting import NoisySum
from discreet.privacy.partition import ADD_REMOVE_ONE
from discreet.privacy.private import Change, Private
from discreet.store.vectors import LARGEST
from discreet.synthesis import base
from discreet.synthesis.dp_synrag import of_use


@dataclass(frozen=True, kw_only=True)
class AugPE(base.SynthesisAlgorithm["AugPEPlan"]):
    """Parameters of Algorithm 1. All of them are public, and so is every text before it is voted on.

    Attributes:
        about: the kind of texts that the model writes first, in words that need no document.
        texts: the number of texts that are kept in a generation; those of the last generation are the corpus.
        variations: the number of variations that are written of each text (L - 1).
        generations: the number of votes of a unit (T).
        tokens: the maximum length of a text, in tokens.
        temperature: the temperature of the public model: texts are more varied, and less sensible, at larger values.
        seed: the seed of the public texts. It has no effect on privacy.
    """

    name: ClassVar[str] = "aug-pe"
    counts: ClassVar[tuple[str, ...]] = ("texts", "variations", "generations", "tokens")

    about: str = "a note about a person"
    texts: int = 100
    variations: int = 3
    generations: int = 5
    tokens: int = 48
    temperature: float = 0.7
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.temperature > 0 and math.isfinite(self.temperature)):
            raise UsageError(f"temperature must be a number above 0, not {self.temperature}. Try 1.")
        if not self.about.strip():
            raise UsageError("Say what kind of texts the public model is to write first: --about 'a note of a doctor'.")

    def check(self, public: base.Public) -> None:
        """Check that both prompts fit the model."""
        write_layout(public.model, self.about, self.tokens)
        vary_layout(public.model, self.tokens, self.tokens)

    def steps(self, rho: float, delta: float, dimension: int, length: int) -> "AugPEPlan":
        """Return the plan: the price, in equal parts, for the votes of the generations."""
        population = self.texts * (self.variations + 1)
        return AugPEPlan(
            rho=rho,
            votes=Votes(NoisySum.calibrated(rho / self.generations, population, 1, ADD_REMOVE_ONE), self.generations),
        )

    def make(self, inputs: base.SynthesisInputs["AugPEPlan"]) -> list[base.SyntheticText]:
        """Run Algorithm 1. Texts are kept like votes: a vote refers to the texts of its generation."""
        votes, public, once = inputs.plan.votes, inputs.public, inputs.checkpoint.once
        paid = inputs.privacy.within(inputs.privacy.pay(votes, ADD_REMOVE_ONE))
        best: list[str] = []
        for generation in range(self.generations):
            on_texts = partial(inputs.on_progress, f"texts of generation {generation + 1}")
            written: list[str] = once(
                f"texts {generation}", partial(self.population, generation, best, public.model, on_texts)
            )
            inputs.on_progress("votes", generation, self.generations)
            among = whole(public, written)
            cast = inputs.units.map(partial(vote, among=among, places=votes.each.dimension))
            counts = once(f"votes {generation}", partial(_counted, paid, votes.each, cast))
            best = most_votes(written, counts, self.texts)
        inputs.on_progress("votes", self.generations, self.generations)
        return of_use(self.task, public.model, [base.SyntheticText(text) for text in best])

    def population(
        self, generation: int, best: Sequence[str], model: ScoringModel, on_texts: Callable[[int, int], None]
    ) -> list[str]:
        """Return the texts of a generation, each once: the kept ones and their variations; at first, new ones."""
        if generation == 0:
            count = self.texts * (self.variations + 1)
            prompts = [(f"{self.seed} {generation} {number}", self.about) for number in range(count)]
            laid_out = write_layout(model, self.about, self.tokens)
        else:
            prompts = [
                (f"{self.seed} {generation} {number} {copy}", text)
                for number, text in enumerate(best)
                for copy in range(self.variations)
            ]
            laid_out = vary_layout(model, self.tokens, self.tokens)
        written = sample_texts(
            model,
            laid_out,
            prompts,
            tokens=self.tokens,
            temperature=self.temperature,
            on_progress=lambda done: on_texts(done, len(prompts)),
        )
        return [text for text in dict.fromkeys([*best, *written]) if text]


@dataclass(frozen=True)
class Votes:
    """The votes of all generations, as one release that every unit pays.

    Attributes:
        each: the count of one generation; a vote is a vector of length one.
        generations: the number of generations.
    """

    each: NoisySum
    generations: int

    def __str__(self) -> str:
        return f"votes for {self.each.dimension} texts, sigma {self.each.sigma:.6g}, {self.generations} times"

    def cost(self, change: Change) -> Cost:
        """Return the cost of all votes: a unit votes once in each generation."""
        return Times(self.each.cost(change), self.generations)


@dataclass(frozen=True, kw_only=True)
class AugPEPlan(base.CorpusPlan):
    """The votes of a run, with their noise."""

    votes: Votes

    @property
    def cost(self) -> Cost:
        """The cost of all votes."""
        return self.votes.cost(ADD_REMOVE_ONE)

    @property
    def least(self) -> int:
        """About how many votes for one text stand out of the noise on all others."""
        return max(1, math.ceil(self.votes.each.sigma * math.sqrt(2 * math.log(self.votes.each.dimension))))

    def steps(self, vocabulary: int) -> dict[str, object]:
        """Return the votes as plain data."""
        return {
            "generations": self.votes.generations,
            "texts_voted_on": self.votes.each.dimension,
            "vote_sigma": self.votes.each.sigma,
            "votes_that_stand_out": self.least,
        }

    def lines(self, vocabulary: int) -> list[str]:
        """Return the votes in words, one sentence a line."""
        return [
            f"votes: a unit casts one in each of {self.votes.generations} generations; in each:",
            f"  1 x {self.votes.each}",
            f"about {self.least} votes for a text stand out of the noise on all others",
        ]

    def check_size(self, units: int, vocabulary: int) -> None:
        """Refuse votes that the noise would exceed even if all were for one text."""
        if units < self.least:
            raise BadData(
                f"There are {units} units to vote, and at this price about {self.least} votes for one text stand out "
                "of the noise: none would. Nothing was paid. Add documents, take fewer generations, or pay more."
            )


def vote(unit: base.UnitTexts, among: NDArray[np.float64], places: int) -> base.Whole:
    """Return the vote of a unit: 1 for the text that is nearest to one of its own; the first of equally near texts.

    Args:
        unit: the unit. Its vote is a function of its own texts and of public texts.
        among: the vectors of the texts, in whole numbers, shape (texts, dimension).
        places: the maximum number of texts, public.

    Returns:
        shape (places,): 1 for that text and 0 for the others; zeros if no text is similar to the unit's texts.
    """
    cast = np.zeros(places, dtype=np.int64)
    # Sums of such whole numbers are exact in double precision, in any order.
    likeness = np.max([among @ piece.vector for piece in unit.pieces], axis=0, initial=0)
    if likeness.max(initial=0) > 0:
        cast[likeness.argmax()] = 1
    return cast


def whole(public: base.Public, texts: Sequence[str]) -> NDArray[np.float64]:
    """Return the vectors of public texts in whole numbers, shape (texts, dimension)."""
    return np.rint(public.embedder.embed(list(texts)).astype(np.float64) * LARGEST)


def most_votes(texts: Sequence[str], counts: Sequence[int], most: int) -> list[str]:
    """Return the texts with most votes; of equal counts, the first. Counts without a text are ignored."""
    order = sorted(range(len(texts)), key=lambda place: (-counts[place], place))
    return [texts[place] for place in order[:most]]


def _counted(paid: PrivacyFilter, votes: NoisySum, cast: Private[base.Whole]) -> list[int]:
    counts: list[int] = paid.release(votes, cast).tolist()
    return counts
