"""DP-SynRAG: a synthetic corpus, paid for once, to be asked for ever.

"Differentially Private Synthetic Text Generation for Retrieval-Augmented Generation" (ACL 2026), Algorithm 1. Ours
differs where privacy-spec, part 8, completes it: keywords have a threshold, logits are whole numbers, and a unit may
have several documents.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeVar

from discreet.algorithms.aggregating import Writers
from discreet.algorithms.dp_synrag.clusters import TextPiece, UnitTexts, names, near_the_centre, places, rarest_first
from discreet.algorithms.dp_synrag.parameters import DPSynRAG, Plan
from discreet.algorithms.dp_synrag.rewrite import write_texts
from discreet.algorithms.dp_synrag.select import mentions, useful
from discreet.generation.model import ScoringModel
from discreet.generation.prompts import rewriting
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.individual import PRESENCE, clusters
from discreet.privacy.mechanisms.noisy_sum import NoisySum
from discreet.privacy.mechanisms.threshold_choice import ThresholdChoice
from discreet.privacy.overlap import filters
from discreet.privacy.private import Private

R = TypeVar("R")
Progress = Callable[[str, int, int], None]
"""Told (the step, how many clusters are done, of how many)."""


class Journal(Protocol):
    """Keeps what was drawn, so that work that was interrupted goes on without drawing anything twice."""

    def once(self, name: str, draw: Callable[[], R]) -> R:
        """What was drawn under this name; drawn now, and kept durably, if nothing was."""


@dataclass(frozen=True)
class SyntheticText:
    """A text for anybody to read.

    Attributes:
        text: the text.
        keyword: the released keyword of the cluster that wrote it.
        kept: whether it mentions its keyword, and is of use for the task.
    """

    text: str
    keyword: str
    kept: bool = True


def synthesize(
    parameters: DPSynRAG,
    plan: Plan,
    units: Private[UnitTexts],
    model: ScoringModel,
    privacy: PrivacyFilter,
    journal: Journal,
    progress: Progress = lambda *_: None,
) -> list[SyntheticText]:
    """Algorithm 1: all texts, kept or not.

    Args:
        parameters: what is wanted.
        plan: what it costs (`DPSynRAG.plan`).
        units: every unit that pays.
        model: the public model.
        privacy: pays.
        journal: of this corpus alone.
        progress: told how far it is.
    """
    paid = privacy.within(privacy.pay(plan.counts, PRESENCE))
    counts = journal.once("keywords", lambda: paid.release(plan.counts, units.map(lambda unit: unit.keywords)))
    order = rarest_first(counts, parameters.clusters)
    if not order:
        return []
    members = clusters(
        units,
        partial(places, order=names(order), first=parameters.first),
        len(order),
        parameters.overlap,
        name=lambda unit: unit.name,
        remember=lambda found: journal.once("places", lambda: found),
    )
    found: list[SyntheticText] = []
    for number, (keyword, own, fund) in enumerate(
        zip(order, members, filters(privacy, plan.each, len(order)), strict=True)
    ):
        progress("clusters", number, len(order))
        about = own.map(partial(_about, keyword))
        texts = journal.once(f"text {keyword}", partial(_write, parameters, plan, keyword, about, model, fund, journal))
        found += [SyntheticText(text, keyword, mentions(text, keyword)) for text in texts]
    progress("clusters", len(order), len(order))
    return _of_use(parameters.task, model, found)


def _about(keyword: str, unit: UnitTexts) -> TextPiece:
    return unit.about(keyword)


def _write(
    parameters: DPSynRAG,
    plan: Plan,
    keyword: str,
    members: Private[TextPiece],
    model: ScoringModel,
    paid: PrivacyFilter,
    journal: Journal,
) -> list[str]:
    """The texts of one cluster."""
    if parameters.rerank:
        (centre, _), (threshold, _) = plan.each.drawn[:2]
        assert isinstance(centre, NoisySum)
        assert isinstance(threshold, ThresholdChoice)
        # Each kept by itself: drawn again after a failure that depends on how many pass, a threshold would tell of it.
        members = near_the_centre(
            members, paid, centre, threshold, lambda what, draw: journal.once(f"{what} {keyword}", draw)
        )
    laid_out = rewriting(model, keyword, parameters.text_tokens, parameters.tokens)
    writers = Writers(model, laid_out, members.map(lambda piece: piece.text), parameters.tokens)
    return write_texts(writers, model, paid, tokens=parameters.tokens, shape=parameters.shape, clip=plan.clip)


def _of_use(task: str, model: ScoringModel, texts: list[SyntheticText]) -> list[SyntheticText]:
    if not task:
        return texts
    judged = useful(model, task, [text.text for text in texts])
    return [replace(text, kept=text.kept and use) for text, use in zip(texts, judged, strict=True)]
