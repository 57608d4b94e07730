"""Whether a target tells more about members than its epsilon allows, by two looks at the same scores.

The area under the curve takes all scores together. The other look is that of an audit (`bounds`): a threshold is chosen
on half of the people, and true and false positives are counted on the rest. It sees what shows at few false positives,
where the area hardly moves; but only where epsilon is small (`most_shown`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from discreet.attacks.bounds import epsilon_by_threshold
from discreet.attacks.membership import Membership
from discreet.attacks.questions import Result
from discreet.attacks.rates import CONFIDENCE, lower_bound, most_auc
from discreet.attacks.suite import Findings


@dataclass(frozen=True)
class Comparison:
    """One measure of one target, and the (epsilon, delta) that its questions cost."""

    label: str
    found: Membership
    price: tuple[float, float]

    def exceeded(self, doubt: float) -> bool:
        """Whether more was told, but with this probability at most where it was not.

        Each look has half of the doubt; where rates cannot show so much, the area has all of it.
        """
        most = most_auc(*self.price)
        if self.price[0] >= self.showable(doubt / 2):
            return self.found.auc.more_than(most, doubt)
        return self.found.auc.more_than(most, doubt / 2) or self.shown(doubt / 2) > self.price[0]

    def shown(self, doubt: float) -> float:
        """The epsilon that true and false positives show at least."""
        return epsilon_by_threshold(self.found.ins, self.found.outs, self.price[1], doubt).epsilon

    def showable(self, doubt: float) -> float:
        """The epsilon that they would show of so many people if all were told apart."""
        half = len(self.found.ins) // 2
        return lower_bound(half, 0, half, self.price[1], 1 - doubt / 2)  # scores are read either way


def exceeded(findings: Findings) -> list[str]:
    """The targets that surely tell more about members than their epsilon allows: each would be a bug.

    Sure at confidence 0.95 for all comparisons together. Of members from a file nothing can be said: they may differ
    from the others by themselves.
    """
    compared = list(_comparisons(findings))
    doubt = _doubt(len(compared))
    return list(dict.fromkeys(each.label for each in compared if each.exceeded(doubt)))


def most_shown(findings: Findings) -> float | None:
    """The epsilon that rates would show of so few people if all were told apart; None if nothing is compared."""
    compared = list(_comparisons(findings))
    return max((each.showable(_doubt(len(compared)) / 2) for each in compared), default=None)


def ceiling(result: Result, questions: int) -> float | None:
    """The largest area that the price of so many questions allows; None without a guarantee."""
    price = result.target.price(questions)
    return None if price is None else most_auc(*price)


def _comparisons(findings: Findings) -> Iterator[Comparison]:
    if not findings.left_out:
        return
    for result in findings.results:
        several = [(result.many, result.asked[0])] if result.asked[0] > 1 else []
        for measured, questions in ((result.one, 1), *several):
            price = result.target.price(questions)
            if price is not None:
                yield from (Comparison(result.target.label, found, price) for found in measured.values())


def _doubt(comparisons: int) -> float:
    return (1 - CONFIDENCE) / max(1, comparisons)
