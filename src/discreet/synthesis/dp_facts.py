"""DP-Facts (ours): a synthetic corpus of what many documents state, word for word, by one count.

DP-SynRAG draws every token from what a cluster's documents say together, and pays for each. But documents about the
same thing state the same short facts, once a model has written them as such: a fact is released as a whole, or not at
all. What whole-answer consensus is to votes on tokens, this is to private prediction.

1. The model reads each text by itself: its keywords, and its facts (fact_extraction.py). Nothing is released.
2. Keywords that enough units have are released, and each unit goes to at most L of them: steps 1 (a) and (b) of
   DP-SynRAG.
3. A unit brings, for each of its keywords, at most K facts of its text about it. All (keyword, fact) pairs are counted
   in one histogram, and those that enough units bring are released (mechanisms/counting.py; privacy-spec, part 8:
   an unbounded domain has a threshold).
4. The facts of a keyword make a text. That is free: they are public by then.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from discreet.errors import BadData
from discreet.models.prompts import DOCUMENT_TOKENS, rewrite_layout
from discreet.privacy.costs import Cost, Together
from discreet.privacy.mechanisms.counting import KeywordCounts
from discreet.privacy.partition import ADD_REMOVE_ONE
from discreet.synthesis import base
from discreet.synthesis.dp_synrag import First, check_first, check_overlap, numbered, of_use, ordered, places
from discreet.synthesis.extraction import sentences

KEYWORD_SHARE = 0.3
"""Of the whole zCDP, for the histogram of keywords; the rest is for the facts."""


@dataclass(frozen=True, kw_only=True)
class DPFacts(base.SynthesisAlgorithm["FactsPlan"]):
    """Parameters.

    Attributes:
        keywords: the number of keywords of a unit that count.
        clusters: the maximum number of keywords for which a text is made.
        overlap: the number of keywords to which a unit brings facts (L).
        first: the order in which a unit's released keywords are taken; see `DPSynRAG`.
        facts: the number of facts that a unit brings to a keyword (K): the first ones of its text.
        tokens: the maximum number of tokens in which the model writes a text's facts.
        text_tokens: the number of tokens to which a unit's text is cut.
    """

    name: ClassVar[str] = "dp-facts"
    failures: ClassVar[float] = 0.1
    counts: ClassVar[tuple[str, ...]] = ("keywords", "clusters", "overlap", "facts", "tokens", "text_tokens")

    keywords: int = 4
    clusters: int = 500
    overlap: int = 1
    first: First = "surprising"
    facts: int = 6
    tokens: int = 64
    text_tokens: int = DOCUMENT_TOKENS

    def __post_init__(self) -> None:
        super().__post_init__()
        check_first(self.first)
        check_overlap(self.overlap, self.keywords)

    @property
    def keywords_read(self) -> tuple[int, int]:
        """The keywords that count, of the tokens that are read."""
        return self.keywords, self.text_tokens

    @property
    def facts_read(self) -> tuple[int, int]:
        """The tokens that facts are written in, and those that are read."""
        return self.tokens, self.text_tokens

    def check(self, public: base.Public) -> None:
        """Check that the prompt fits the model."""
        rewrite_layout(public.model, self.text_tokens, self.tokens)

    def steps(self, rho: float, delta: float, dimension: int, length: int) -> "FactsPlan":
        """Return the plan: the price, divided between the two counts."""
        return FactsPlan(
            rho=rho,
            counts=KeywordCounts.calibrated(KEYWORD_SHARE * rho, delta / 2, self.keywords, ADD_REMOVE_ONE),
            stated=KeywordCounts.calibrated(
                (1 - KEYWORD_SHARE) * rho, delta / 2, self.overlap * self.facts, ADD_REMOVE_ONE, "facts"
            ),
            first=self.first,
        )

    def make(self, inputs: base.SynthesisInputs["FactsPlan"]) -> list[base.SyntheticText]:
        """Count keywords, count facts, and write the released facts as texts."""
        plan, privacy, once, model = inputs.plan, inputs.privacy, inputs.checkpoint.once, inputs.public.model
        for_keywords, for_facts = (privacy.pay(counted, ADD_REMOVE_ONE) for counted in (plan.counts, plan.stated))
        inputs.on_progress("counts", 0, 2)
        words = inputs.units.map(lambda unit: unit.keywords)
        found = once("keywords", lambda: privacy.within(for_keywords).release(plan.counts, words))
        order = once("order", lambda: ordered(found, self.clusters, self.first, model))
        inputs.on_progress("counts", 1, 2)
        brought = inputs.units.map(partial(pairs, order=order, most=self.facts, overlap=self.overlap))
        counts = once("facts", lambda: privacy.within(for_facts).release(plan.stated, brought))
        inputs.on_progress("counts", 2, 2)
        return of_use(self.task, model, texts(order, counts))


def pairs(unit: base.UnitTexts, order: Sequence[str], most: int, overlap: int) -> frozenset[str]:
    """Return the pairs (keyword, fact) of a unit, at most `overlap` times `most`, each as one string."""
    numbers = numbered([[word] for word in order])
    own = [order[place] for place in places(unit, numbers)[:overlap]]
    return frozenset(
        json.dumps([keyword, *fact], ensure_ascii=False)
        for keyword in own
        for fact in unit.about([keyword]).facts[:most]
    )


def texts(order: Sequence[str], counts: Mapping[str, int]) -> list[base.SyntheticText]:
    """Return a text for each keyword with a released fact; the facts of most units come first. Public."""
    by_keyword: dict[str, list[base.Fact]] = {keyword: [] for keyword in order}
    for pair in sorted(counts, key=lambda pair: (-counts[pair], pair)):
        keyword, kind, value = json.loads(pair)
        by_keyword[keyword].append((kind, value))
    return [base.SyntheticText(sentences(facts), keyword) for keyword, facts in by_keyword.items() if facts]


@dataclass(frozen=True, kw_only=True)
class FactsPlan(base.CorpusPlan):
    """The two counts of a run, with their noise.

    Attributes:
        counts: the histogram of keywords.
        stated: the histogram of facts.
        first: the order in which a unit's keywords are taken.
    """

    counts: KeywordCounts
    stated: KeywordCounts
    first: First

    @property
    def cost(self) -> Cost:
        """The cost of both counts."""
        return Together((self.counts.cost(ADD_REMOVE_ONE), self.stated.cost(ADD_REMOVE_ONE)))

    def steps(self, vocabulary: int) -> dict[str, object]:
        """Return the counts as plain data."""
        return {
            "keyword_sigma": self.counts.sigma,
            "keyword_threshold": self.counts.threshold,
            "fact_sigma": self.stated.sigma,
            "fact_threshold": self.stated.threshold,
            "keywords_in_order_of": "surprise of the keyword by itself" if self.first == "surprising" else "rarity",
        }

    def lines(self, vocabulary: int) -> list[str]:
        """Return the counts in words, one sentence a line."""
        return [
            f"keywords: {self.counts}; a keyword is released if about {self.counts.threshold} units have it",
            f"facts: {self.stated}; a fact is released if about {self.stated.threshold} units state it in these words",
        ]

    def check_size(self, units: int, vocabulary: int) -> None:
        """Refuse a corpus for which no keyword or fact would be released."""
        least = max(self.counts.threshold, self.stated.threshold)
        if units < least:
            raise BadData(
                f"There are {units} units to make a corpus from, and at this price something is released if about "
                f"{least} say it: nothing would be. Nothing was paid. Add documents, or pay more."
            )
