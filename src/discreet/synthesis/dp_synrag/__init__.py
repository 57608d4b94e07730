"""DP-SynRAG: a synthetic corpus, paid for once, to be asked for ever.

"Differentially Private Synthetic Text Generation for Retrieval-Augmented Generation" (ACL 2026), Algorithm 1. Ours
differs where privacy-spec, part 8, completes it: keywords have a threshold, logits are whole numbers, and a unit may
have several documents.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from discreet.algorithms.logit_sum import Writers
from discreet.engines.ray import run_concurrently
from discreet.generation.model import ScoringModel
from discreet.generation.prompts import rewrite_layout
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.mechanisms.counting import NoisySum
from discreet.privacy.mechanisms.selection import ThresholdChoice
from discreet.privacy.partition import ADD_REMOVE_ONE, filters, partition_by_cluster
from discreet.privacy.private import Private
from discreet.synthesis.base import Checkpoint, Public, SynthesisInputs, SyntheticText, TextPiece, UnitTexts
from discreet.synthesis.dp_synrag.clusters import merged, near_the_centre, numbered, ordered, places
from discreet.synthesis.dp_synrag.parameters import DPSynRAG, SynRAGPlan
from discreet.synthesis.dp_synrag.rewrite import write_texts
from discreet.synthesis.dp_synrag.select import mentions, of_use

_ONE = np.ones(1, dtype=np.int64)


def synthesize(parameters: DPSynRAG, inputs: SynthesisInputs[SynRAGPlan]) -> list[SyntheticText]:
    """Run Algorithm 1; return all texts, kept or not."""
    plan, privacy, once, model = inputs.plan, inputs.privacy, inputs.checkpoint.once, inputs.public.model
    paid = privacy.within(privacy.pay(plan.counts, ADD_REMOVE_ONE))
    counts = once("keywords", lambda: paid.release(plan.counts, inputs.units.map(lambda unit: unit.keywords)))
    keywords = once("order", lambda: _group_keywords(parameters, counts, inputs.public))
    if not keywords:
        return []
    members = partition_by_cluster(
        inputs.units,
        partial(places, numbers=numbered(keywords)),
        len(keywords),
        parameters.overlap,
        name=lambda unit: unit.name,
        remember=lambda found: once("places", lambda: found),
    )
    works = [
        partial(_Cluster(parameters, plan, own, model, fund, inputs.checkpoint).make, texts)
        for own, texts, fund in zip(keywords, members, filters(privacy, plan.each, len(keywords)), strict=True)
    ]
    written = run_concurrently(model, works, lambda done: inputs.on_progress("clusters", done, len(keywords)))
    found = [
        SyntheticText(text, own[0], any(mentions(text, word) for word in own))
        for own, texts in zip(keywords, written, strict=True)
        for text in texts
    ]
    return of_use(parameters.task, model, found)


def _group_keywords(parameters: DPSynRAG, counts: Mapping[str, int], public: Public) -> list[list[str]]:
    """Return the released keywords, by cluster."""
    order = ordered(counts, parameters.clusters, parameters.first, public.model)
    return merged(order, public.embedder, parameters.alike) if parameters.alike < 1 else [[word] for word in order]


@dataclass(frozen=True)
class _Cluster:
    """One cluster, with what writes its texts and pays for them."""

    parameters: DPSynRAG
    plan: SynRAGPlan
    keywords: Sequence[str]
    model: ScoringModel
    paid: PrivacyFilter
    checkpoint: Checkpoint

    def make(self, members: Private[UnitTexts]) -> list[str]:
        """Return the texts of the cluster, written now unless they were before."""
        about = members.map(self._choose_text)
        return self.checkpoint.once(f"text {self.keywords[0]}", partial(self._write, about))

    def _choose_text(self, unit: UnitTexts) -> TextPiece:
        return unit.about(self.keywords)

    def _once(self, name: str, draw: Callable[[], Any]) -> Any:
        # Each draw is kept by itself. A second draw after a failure that depends on the first would reveal it.
        return self.checkpoint.once(f"{name} {self.keywords[0]}", draw)

    def _write(self, members: Private[TextPiece]) -> list[str]:
        """Return the texts; none if, by a noisy count, the units are too few for their votes to exceed the noise."""
        parameters, plan, paid = self.parameters, self.plan, self.paid
        (counted,) = self._once("size", lambda: paid.release(plan.size, members.map(lambda _: _ONE)).tolist())
        if not plan.worth_writing(counted, self.model.vocabulary_size):
            return []
        if parameters.rerank:
            _, (centre, _), (threshold, _), _ = plan.each.drawn
            assert isinstance(centre, NoisySum)
            assert isinstance(threshold, ThresholdChoice)
            members = near_the_centre(members, paid, centre, threshold, self._once)
        laid_out = rewrite_layout(self.model, parameters.text_tokens, parameters.tokens)
        writers = Writers(self.model, laid_out, members.map(lambda piece: piece.text), parameters.tokens)
        return write_texts(
            writers,
            self.model,
            paid,
            tokens=parameters.tokens,
            shape=parameters.shape,
            clip=plan.clip,
            among=parameters.wanted,
        )
