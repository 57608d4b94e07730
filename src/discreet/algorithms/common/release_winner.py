"""The payment for the answer of a consensus, and its draw: the winner of the votes, with its count if it is counted."""

from typing import Any

from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.mechanisms.counted_answer import CountedAnswer
from discreet.privacy.mechanisms.thresholded_counts import ThresholdedCounts
from discreet.privacy.private import Private


def release_winner(
    selection: Any, votes: Private[str | None], privacy: PrivacyFilter
) -> tuple[str | None, CountedAnswer | None]:
    """Release the winner, and its noisy count if the selection counts. The largest noisy count is the first one."""
    released: Any
    if isinstance(selection, ThresholdedCounts):
        released = privacy.release(selection, votes.map(lambda vote: () if vote is None else (vote,)))
    else:
        released = privacy.release(selection, votes)
    if not isinstance(released, tuple):
        return released, None
    return (str(released[0].answer), released[0]) if released else (None, None)
