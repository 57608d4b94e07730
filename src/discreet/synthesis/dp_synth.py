"""DP-Synth: a synthetic corpus by private prediction from random subsets, the baseline of DP-SynRAG.

Amin, Bie, Kong, Kurakin, Ponomareva, Syed, Terzis and Vassilvitskii, "Private prediction for large-scale synthetic
text generation" (2024). Units are dealt to subsets regardless of their texts; those of a subset write texts together.
A unit is in one subset, so all of them together cost what one does. Ours differs from the paper:

- Every token is private; the paper's test whether the public model would do for a token (a sparse vector) is not built.
- A unit with several texts brings one of them, and which one follows from its own texts alone.
"""

import hashlib
import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from discreet.algorithms.logit_sum import Shape, Writers, check_shape, drawn, heard, voices
from discreet.engines.ray import run_concurrently
from discreet.errors import BadData, UsageError
from discreet.models.prompts import DOCUMENT_TOKENS, rewrite_layout
from discreet.models.protocol import ScoringModel
from discreet.privacy.costs import Cost
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.mechanisms.vectors import LARGEST_CLIP, TokenPrice
from discreet.privacy.partition import ADD_REMOVE_ONE, InEachCluster, filters, partition_by_cluster
from discreet.privacy.private import Private
from discreet.synthesis import base
from discreet.synthesis.dp_synrag import of_use, write_texts


@dataclass(frozen=True, kw_only=True)
class DPSynth(base.SynthesisAlgorithm["SynthPlan"]):
    """Parameters.

    Attributes:
        subsets: the number of subsets to which units are dealt: public, so do not derive it from their exact number.
        tokens: the number of tokens that are drawn for a subset.
        shape: how a unit's logits of the next token are bounded (algorithms/logit_sum.py).
        text_tokens: the number of tokens to which a unit's text is cut.
    """

    name: ClassVar[str] = "dp-synth"
    counts: ClassVar[tuple[str, ...]] = ("subsets", "tokens", "text_tokens")

    subsets: int = 20
    tokens: int = 48
    shape: Shape = "votes"
    text_tokens: int = DOCUMENT_TOKENS

    def __post_init__(self) -> None:
        super().__post_init__()
        check_shape(self.shape)
        if self.shape == "difference":
            raise UsageError(
                "Differences to the public model are shared out among about as many units as write together, which is "
                "not public for random subsets. Take votes, centred or clip."
            )

    def check(self, public: base.Public) -> None:
        """Check that the prompt fits the model."""
        rewrite_layout(public.model, self.text_tokens, self.tokens)

    def steps(self, rho: float, delta: float, dimension: int, length: int) -> "SynthPlan":
        """Return the plan: the price, in equal parts, for the tokens of a subset; a token costs c^2/2."""
        clip = math.sqrt(2 * rho / self.tokens)
        each = InEachCluster("texts of random subsets", ((TokenPrice(clip), self.tokens),), overlap=1)
        return SynthPlan(rho=rho, each=each, subsets=self.subsets, clip=clip)

    def make(self, inputs: base.SynthesisInputs["SynthPlan"]) -> list[base.SyntheticText]:
        """Deal units to subsets, and write the texts of each subset."""
        plan, model = inputs.plan, inputs.public.model
        members = partition_by_cluster(
            inputs.units,
            lambda unit: [subset(unit.name, self.subsets)],
            self.subsets,
            overlap=1,
            name=lambda unit: unit.name,
            remember=lambda found: found,  # nothing to keep: a unit's name does not change
        )
        works = [
            partial(
                inputs.checkpoint.once,
                f"text {number}",
                partial(self.write, own.map(one_text), model, paid, plan.clip),
            )
            for number, (own, paid) in enumerate(
                zip(members, filters(inputs.privacy, plan.each, self.subsets), strict=True)
            )
        ]
        written = run_concurrently(model, works, lambda done: inputs.on_progress("subsets", done, self.subsets))
        return of_use(self.task, model, [base.SyntheticText(text) for texts in written for text in texts])

    def write(self, texts: Private[str], model: ScoringModel, paid: PrivacyFilter, clip: float) -> list[str]:
        """Write the texts of one subset, with the prompt of DP-SynRAG, which names no keyword."""
        laid_out = rewrite_layout(model, self.text_tokens, self.tokens)
        writers = Writers(model, laid_out, texts, self.tokens)
        return write_texts(writers, model, paid, tokens=self.tokens, shape=self.shape, clip=clip)


@dataclass(frozen=True, kw_only=True)
class SynthPlan(base.CorpusPlan):
    """The draws of a run, with their noise.

    Attributes:
        each: the draws in each subset.
        subsets: the number of subsets.
        clip: the bound of a unit's logits on a token (c, at temperature 1).
    """

    each: InEachCluster
    subsets: int
    clip: float

    @property
    def cost(self) -> Cost:
        """The cost of the one subset that a unit is in."""
        return self.each.cost(ADD_REMOVE_ONE)

    @property
    def possible(self) -> bool:
        """Whether the clip is small enough for a meaningful guarantee."""
        return self.clip <= LARGEST_CLIP

    def steps(self, vocabulary: int) -> dict[str, object]:
        """Return the draws as plain data."""
        return {
            "subsets": self.subsets,
            "drawn_in_each_subset": drawn(self.each),
            "clip": self.clip,
            "voices_needed": voices(vocabulary, self.clip),
        }

    def lines(self, vocabulary: int) -> list[str]:
        """Return the draws in words, one sentence a line."""
        return [
            f"subsets: {self.subsets}, a unit in one of them; in each:",
            *(f"  {times} x {priced}" for priced, times in self.each.drawn),
            heard(vocabulary, self.clip),
        ]

    def check_size(self, units: int, vocabulary: int) -> None:
        """Refuse subsets in which the noise would exceed the votes of all units."""
        needed = voices(vocabulary, self.clip)
        if units < needed * self.subsets:
            raise BadData(
                f"There are {units} units to deal to {self.subsets} subsets, and at this price about {needed} in each "
                "must agree on a token that the public model does not expect: they would not be heard. Nothing was "
                "paid. Take fewer subsets, add documents, or pay more."
            )


def subset(name: str, subsets: int) -> int:
    """Return the subset of a unit: a function of its name alone, a keyed hash, and never of other units."""
    return int.from_bytes(hashlib.blake2b(name.encode(), person=b"subset", digest_size=8).digest()) % subsets


def one_text(unit: base.UnitTexts) -> str:
    """Return the text that a unit brings: the first by a hash, so that no content is preferred."""
    return min((piece.text for piece in unit.pieces), key=lambda text: (_digest(text), text))


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=16).digest()
