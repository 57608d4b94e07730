"""The test whether a target reveals more about members than its epsilon allows, by two statistics of the same scores.

The area under the curve uses all scores together. The other statistic is that of an audit (`bounds`): one half of the
people chooses a threshold, and true and false positives are counted on the other half. It detects a leak at few false
positives, where the area hardly changes; but only if epsilon is small (`most_shown`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from discreet_lab.attacks.membership import Membership
from discreet_lab.attacks.questions import Result
from discreet_lab.attacks.rates import CONFIDENCE, epsilon_by_threshold, lower_bound, most_auc


@dataclass(frozen=True)
class Comparison:
    """One measure of one target, and the (epsilon, delta) that its questions cost."""

    label: str
    found: Membership
    price: tuple[float, float]

    def exceeded(self, doubt: float) -> bool:
        """Return whether the claim is violated; `doubt` bounds the probability of a false alarm.

        Each statistic has half of the doubt. If rates cannot show so large an epsilon, the area has all of it.
        """
        most = most_auc(*self.price)
        if self.price[0] >= self.showable(doubt / 2):
            return self.found.auc.more_than(most, doubt)
        return self.found.auc.more_than(most, doubt / 2) or self.shown(doubt / 2) > self.price[0]

    def shown(self, doubt: float) -> float:
        """Return the lower bound of epsilon from true and false positives."""
        return epsilon_by_threshold(self.found.ins, self.found.outs, self.price[1], doubt).epsilon

    def showable(self, doubt: float) -> float:
        """Return the epsilon that rates of so many people would show if all were distinguished."""
        half = len(self.found.ins) // 2
        return lower_bound(half, 0, half, self.price[1], 1 - doubt / 2)  # scores are read in either direction


def exceeded(results: Sequence[Result]) -> list[str]:
    """Return the targets that reveal more about members than their epsilon allows. Each would be a bug.

    The confidence is 0.95 for all comparisons together.
    """
    compared = list(_comparisons(results))
    doubt = _doubt(len(compared))
    return list(dict.fromkeys(each.label for each in compared if each.exceeded(doubt)))


def most_shown(results: Sequence[Result]) -> float | None:
    """Return the epsilon that rates of so few people would show if all were distinguished; None without comparisons."""
    compared = list(_comparisons(results))
    return max((each.showable(_doubt(len(compared)) / 2) for each in compared), default=None)


def ceiling(result: Result, questions: int) -> float | None:
    """Return the largest area that the price of `questions` questions allows; None without a guarantee."""
    price = result.target.price(questions)
    return None if price is None else most_auc(*price)


def _comparisons(results: Sequence[Result]) -> Iterator[Comparison]:
    for result in results:
        several = [(result.many, result.asked[0])] if result.asked[0] > 1 else []
        for measured, questions in ((result.one, 1), *several):
            price = result.target.price(questions)
            if price is not None:
                yield from (Comparison(result.target.label, measure, price) for measure in measured.values())


def _doubt(comparisons: int) -> float:
    return (1 - CONFIDENCE) / max(1, comparisons)
