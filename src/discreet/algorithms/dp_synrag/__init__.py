"""DP-SynRAG: a synthetic corpus, paid for once, to be asked for ever.

"Differentially Private Synthetic Text Generation for Retrieval-Augmented Generation" (ACL 2026), Algorithm 1. Ours
differs where privacy-spec, part 8, completes it: keywords have a threshold, logits are whole numbers, and a unit may
have several documents.
"""

from functools import partial

from discreet.algorithms.aggregating import Writers
from discreet.algorithms.dp_synrag.clusters import names, near_the_centre, places, rarest_first
from discreet.algorithms.dp_synrag.parameters import DPSynRAG, Plan
from discreet.algorithms.dp_synrag.rewrite import write_texts
from discreet.algorithms.dp_synrag.select import mentions, of_use
from discreet.algorithms.synthetic import Journal, Progress, SyntheticText, TextPiece, UnitTexts
from discreet.generation.model import ScoringModel
from discreet.generation.prompts import rewriting
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.individual import PRESENCE, clusters
from discreet.privacy.mechanisms.noisy_sum import NoisySum
from discreet.privacy.mechanisms.threshold_choice import ThresholdChoice
from discreet.privacy.overlap import filters
from discreet.privacy.private import Private


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
    return of_use(parameters.task, model, found)


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
    laid_out = rewriting(model, parameters.text_tokens, parameters.tokens)
    writers = Writers(model, laid_out, members.map(lambda piece: piece.text), parameters.tokens)
    return write_texts(writers, model, paid, tokens=parameters.tokens, shape=parameters.shape, clip=plan.clip)
