"""DP-SynRAG: a synthetic corpus, paid for once, to be asked for ever.

"Differentially Private Synthetic Text Generation for Retrieval-Augmented Generation" (ACL 2026), Algorithm 1. Ours
differs where privacy-spec, part 8, completes it: keywords have a threshold, logits are whole numbers, and a unit may
have several documents.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from discreet.algorithms.common.logit_sum import Writers
from discreet.generation.model import ScoringModel
from discreet.generation.prompts import rewrite_layout
from discreet.generation.ray_backend.model import run_concurrently
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.mechanisms.noisy_sum import NoisySum
from discreet.privacy.mechanisms.threshold_choice import ThresholdChoice
from discreet.privacy.overlap import filters
from discreet.privacy.partition import ADD_REMOVE_ONE, partition_by_cluster
from discreet.privacy.private import Private
from discreet.synthesis.base import Checkpoint, Progress, Public, SyntheticText, TextPiece, UnitTexts
from discreet.synthesis.dp_synrag.clusters import merged, near_the_centre, numbered, ordered, places
from discreet.synthesis.dp_synrag.parameters import DPSynRAG, Plan
from discreet.synthesis.dp_synrag.rewrite import write_texts
from discreet.synthesis.dp_synrag.select import mentions, of_use

_ONE = np.ones(1, dtype=np.int64)


def synthesize(
    parameters: DPSynRAG,
    plan: Plan,
    units: Private[UnitTexts],
    public: Public,
    privacy: PrivacyFilter,
    journal: Checkpoint,
    progress: Progress = lambda *_: None,
) -> list[SyntheticText]:
    """Algorithm 1: all texts, kept or not.

    Args:
        parameters: what is wanted.
        plan: what it costs (`DPSynRAG.plan`).
        units: every unit that pays.
        public: the public model and embedder.
        privacy: pays.
        journal: of this corpus alone.
        progress: told how far it is.
    """
    paid = privacy.within(privacy.pay(plan.counts, ADD_REMOVE_ONE))
    counts = journal.once("keywords", lambda: paid.release(plan.counts, units.map(lambda unit: unit.keywords)))
    keywords = journal.once("order", lambda: _by_cluster(parameters, counts, public))
    if not keywords:
        return []
    members = partition_by_cluster(
        units,
        partial(places, numbers=numbered(keywords)),
        len(keywords),
        parameters.overlap,
        name=lambda unit: unit.name,
        remember=lambda found: journal.once("places", lambda: found),
    )
    works = [
        partial(_cluster, parameters, plan, own, texts, public.model, fund, journal)
        for own, texts, fund in zip(keywords, members, filters(privacy, plan.each, len(keywords)), strict=True)
    ]
    written = run_concurrently(public.model, works, lambda done: progress("clusters", done, len(keywords)))
    found = [
        SyntheticText(text, own[0], any(mentions(text, word) for word in own))
        for own, texts in zip(keywords, written, strict=True)
        for text in texts
    ]
    return of_use(parameters.task, public.model, found)


def _by_cluster(parameters: DPSynRAG, counts: Mapping[str, int], public: Public) -> list[list[str]]:
    """The released keywords, by cluster."""
    order = ordered(counts, parameters.clusters, parameters.first, public.model)
    return merged(order, public.embedder, parameters.alike) if parameters.alike < 1 else [[word] for word in order]


def _about(keywords: Sequence[str], unit: UnitTexts) -> TextPiece:
    return unit.about(keywords)


def _cluster(
    parameters: DPSynRAG,
    plan: Plan,
    keywords: Sequence[str],
    members: Private[UnitTexts],
    model: ScoringModel,
    paid: PrivacyFilter,
    journal: Checkpoint,
) -> list[str]:
    """The texts of one cluster, written now unless they were before."""
    about = members.map(partial(_about, keywords))
    write = partial(_write, parameters, plan, keywords[0], about, model, paid, journal)
    return journal.once(f"text {keywords[0]}", write)


def _write(
    parameters: DPSynRAG,
    plan: Plan,
    keyword: str,
    members: Private[TextPiece],
    model: ScoringModel,
    paid: PrivacyFilter,
    journal: Checkpoint,
) -> list[str]:
    """The texts of one cluster; none if there are too few to be heard, by a noisy count."""

    # Each draw is kept by itself: drawn again after a failure that depends on what it let pass, it would tell of it.
    def once(what: str, draw: Callable[[], Any]) -> Any:
        return journal.once(f"{what} {keyword}", draw)

    (counted,) = once("size", lambda: paid.release(plan.size, members.map(lambda _: _ONE)).tolist())
    if not plan.worth_writing(counted, model.vocabulary_size):
        return []
    if parameters.rerank:
        _, (centre, _), (threshold, _), _ = plan.each.drawn
        assert isinstance(centre, NoisySum)
        assert isinstance(threshold, ThresholdChoice)
        members = near_the_centre(members, paid, centre, threshold, once)
    laid_out = rewrite_layout(model, parameters.text_tokens, parameters.tokens)
    writers = Writers(model, laid_out, members.map(lambda piece: piece.text), parameters.tokens)
    return write_texts(
        writers,
        model,
        paid,
        tokens=parameters.tokens,
        shape=parameters.shape,
        clip=plan.clip,
        among=parameters.wanted,
    )
