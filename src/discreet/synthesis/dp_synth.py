"""DP-Synth: a synthetic corpus by private prediction from random subsets, the baseline of DP-SynRAG.

Amin, Bie, Kong, Kurakin, Ponomareva, Syed, Terzis and Vassilvitskii, "Private prediction for large-scale synthetic
text generation" (2024). Documents are dealt to subsets whatever they say, and those of a subset write texts together.
A unit is in one subset, so all of them together cost what one does. Ours differs from the paper:

- Every token is private; the paper's test whether the public model would do for a token (a sparse vector) is not built.
- A unit with several texts brings one of them, and which one follows from its own texts alone.
"""

import hashlib
import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from discreet.algorithms.common.logit_sum import Shape, Writers, check_shape, drawn, heard, voices
from discreet.errors import BadData, UsageError
from discreet.generation.model import ScoringModel
from discreet.generation.prompts import DOCUMENT_TOKENS, rewrite_layout
from discreet.generation.ray_backend.model import run_concurrently
from discreet.privacy.costs import Cost
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.mechanisms.aggregated_logits import LARGEST_CLIP, TokenPrice
from discreet.privacy.overlap import InEachCluster, filters
from discreet.privacy.partition import ADD_REMOVE_ONE, partition_by_cluster
from discreet.privacy.private import Private
from discreet.synthesis.base import (
    CorpusPlan,
    Public,
    SynthesisAlgorithm,
    SynthesisInputs,
    SyntheticText,
    UnitTexts,
)
from discreet.synthesis.dp_synrag.rewrite import write_texts
from discreet.synthesis.dp_synrag.select import of_use


@dataclass(frozen=True, kw_only=True)
class DPSynth(SynthesisAlgorithm["Plan"]):
    """Parameters.

    Attributes:
        subsets: among how many subsets units are dealt: public, so not to be read off their exact number.
        tokens: how many tokens are drawn for a subset.
        shape: how a unit's opinion of the next token is brought into bounds (algorithms/common/logit_sum.py).
        text_tokens: to how many tokens a unit's text is cut.
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

    def check(self, public: Public) -> None:
        """The prompt must fit the model."""
        rewrite_layout(public.model, self.text_tokens, self.tokens)

    def steps(self, rho: float, delta: float, dimension: int, length: int) -> "Plan":
        """All of the price, in equal parts, for the tokens of a subset; a token costs c^2/2."""
        clip = math.sqrt(2 * rho / self.tokens)
        each = InEachCluster("texts of random subsets", ((TokenPrice(clip), self.tokens),), overlap=1)
        return Plan(rho=rho, each=each, subsets=self.subsets, clip=clip)

    def make(self, inputs: SynthesisInputs["Plan"]) -> list[SyntheticText]:
        """Deal units to subsets; have those of each write."""
        plan, model = inputs.plan, inputs.public.model
        members = partition_by_cluster(
            inputs.units,
            lambda unit: [subset(unit.name, self.subsets)],
            self.subsets,
            overlap=1,
            name=lambda unit: unit.name,
            remember=lambda found: found,  # nothing to keep: a unit's name stays what it is
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
        return of_use(self.task, model, [SyntheticText(text) for texts in written for text in texts])

    def write(self, texts: Private[str], model: ScoringModel, paid: PrivacyFilter, clip: float) -> list[str]:
        """The texts of one subset, with the prompt of DP-SynRAG, which names no keyword."""
        laid_out = rewrite_layout(model, self.text_tokens, self.tokens)
        writers = Writers(model, laid_out, texts, self.tokens)
        return write_texts(writers, model, paid, tokens=self.tokens, shape=self.shape, clip=clip)


@dataclass(frozen=True, kw_only=True)
class Plan(CorpusPlan):
    """What runs, with which noise.

    Attributes:
        each: what is drawn in each subset.
        subsets: how many there are.
        clip: the bound of a unit's opinion on a token (c, at temperature 1).
    """

    each: InEachCluster
    subsets: int
    clip: float

    @property
    def cost(self) -> Cost:
        """Of the one subset that a unit is in."""
        return self.each.cost(ADD_REMOVE_ONE)

    @property
    def possible(self) -> bool:
        """A larger clip is no privacy to speak of."""
        return self.clip <= LARGEST_CLIP

    def steps(self, vocabulary: int) -> dict[str, object]:
        """What runs, as plain data."""
        return {
            "subsets": self.subsets,
            "drawn_in_each_subset": drawn(self.each),
            "clip": self.clip,
            "voices_needed": voices(vocabulary, self.clip),
        }

    def lines(self, vocabulary: int) -> list[str]:
        """What runs, for a person."""
        return [
            f"subsets: {self.subsets}, a unit in one of them; in each:",
            *(f"  {times} x {priced}" for priced, times in self.each.drawn),
            heard(vocabulary, self.clip),
        ]

    def check_size(self, units: int, vocabulary: int) -> None:
        """Refuse subsets in which all units together could not be heard."""
        needed = voices(vocabulary, self.clip)
        if units < needed * self.subsets:
            raise BadData(
                f"There are {units} units to deal to {self.subsets} subsets, and at this price about {needed} in each "
                "must agree on a token that the public model does not expect: they would not be heard. Nothing was "
                "paid. Take fewer subsets, add documents, or pay more."
            )


def subset(name: str, subsets: int) -> int:
    """The subset of a unit: by its name, a keyed hash, and by nothing else; never by who else is there."""
    return int.from_bytes(hashlib.blake2b(name.encode(), person=b"subset", digest_size=8).digest()) % subsets


def one_text(unit: UnitTexts) -> str:
    """The text that a unit brings: the first by a hash of what it says, so that none is preferred for its content."""
    return min((piece.text for piece in unit.pieces), key=lambda text: (_digest(text), text))


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=16).digest()
