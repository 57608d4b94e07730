"""The payment for the answers of a consensus, and their draw: what enough voters said, and how many said so."""

from collections.abc import Sequence
from typing import Any

from discreet.algorithms.common.answer import Support
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.gaussian_tails import least_threshold
from discreet.privacy.mechanisms.counted_answer import CONFIDENCE, CountedAnswer
from discreet.privacy.mechanisms.counted_selection import CountedSelection
from discreet.privacy.mechanisms.histogram import GaussianHistogram
from discreet.privacy.mechanisms.order_selection import OrderSelection
from discreet.privacy.mechanisms.thresholded_counts import ThresholdedCounts
from discreet.privacy.private import Private

COUNT_SIGMA = 4.0
"""The noise of a count that is released after an answer."""
_NO_VALUE = -1


def counts_votes(selection: Any) -> bool:
    """Return whether a selection releases a noisy count with its answer."""
    return isinstance(selection, ThresholdedCounts | CountedSelection)


def count_after() -> GaussianHistogram:
    """Return the count that can follow a selection that does not count, for its price."""
    return GaussianHistogram(1, COUNT_SIGMA)


def release_answers(
    selection: Any, votes: Private[str | None], after: Sequence[GaussianHistogram], privacy: PrivacyFilter
) -> tuple[tuple[str, ...], Support | None]:
    """Release what the selection selects, and how many units said so.

    A selection that counts releases the answer with the largest noisy count. The others release all their answers, in
    an order that is public, and then the counts of `after`, which are drawn from the same votes. The price of a count
    does not depend on the number of answers: one unit has one vote, and moves one of the counts by one.

    Returns:
        the answers, and the support of the first one: the counted one first, or the fewest that must have said so.
    """
    lists = isinstance(selection, ThresholdedCounts)
    shares: Private[Any] = votes.map(lambda vote: () if vote is None else (vote,)) if lists else votes
    found: Any = privacy.release(selection, shares)
    released = found if isinstance(found, tuple) else () if found is None else (found,)
    if released and isinstance(first := released[0], CountedAnswer):
        return (str(first.answer),), Support(first.count, first.low, first.high)
    if not released:
        return (), None
    if not after:
        return released, _at_least(selection, released)
    places = {answer: place for place, answer in enumerate(released)}
    histogram = GaussianHistogram(len(released), after[0].sigma)
    counts = privacy.release(
        histogram, votes.map(lambda vote: _NO_VALUE if vote is None else places.get(vote, _NO_VALUE))
    )
    ranked = sorted(zip(counts, released, strict=True), key=lambda pair: -pair[0])
    most, margin = ranked[0][0], least_threshold(histogram.sigma, (1 - CONFIDENCE) / 2 / len(released)) - 1
    return tuple(answer for _, answer in ranked), Support(most, max(0, most - margin), max(0, most + margin))


def _at_least(selection: Any, released: tuple[str, ...]) -> Support | None:
    """Return the fewest units that gave each released answer; None if that is not known, or is none."""
    if not isinstance(selection, OrderSelection):
        return None
    least = min(selection.supporters(answer) for answer in released)
    return Support(None, least, None) if least else None
