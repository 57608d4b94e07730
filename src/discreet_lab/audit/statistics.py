"""The statistics of an audit, with parameters for its vaults: documents that say "fever cough say: x ."."""

from collections.abc import Iterator, Sequence
from typing import Any

from discreet.algorithms.statistics.cells import StatisticPrice, choose_counts
from discreet.algorithms.statistics.statistic import Statistic
from discreet.privacy.accounting import Budget
from discreet.registry import Compare, Count, Difference, ListValues, Share, Themes, Trend
from discreet.retrieval.codebook import Attribute, Codebook, CodedValue
from discreet.synthesis.asked_statements import Found
from discreet_lab.audit.pairs import DATE, YEAR

USES = 3
"""The number of statistics among which the grant of an audit is divided."""
CROWD = 40
"""The number of further units: a share of fewer is not told from a share of none."""
UNSEEN = frozenset({"typical", "summary"})
"""Statistics of numbers and of whole texts, which these vaults have not. The histogram of the first and the counts of
the second are audited as mechanisms."""


CODE = "said"
"""The code of the texts: what they say."""
BOOK = Codebook(
    attributes=(Attribute(name=CODE, type="any of", most=2, values=tuple(CodedValue(name=one) for one in "xyz")),)
)


LARGE = 15
"""A count that is larger is one of many units."""


def large_rows(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer with the names of the values that many units have, in place of its table."""
    rows = [row["name"] for row in answer["table"] if row["kind"] == "count" and row["value"] > LARGE]
    return answer | {"answer": "", "table": sorted(rows)}


class WordCoder:
    """A coder of tests and audits: a text states the values whose names are words of it."""

    def about(self, book: Codebook) -> tuple[Any, ...]:
        """Return all that the codes depend on beside the text."""
        return ("words", book.digest)

    def code(self, texts: Sequence[str], book: Codebook) -> Iterator[tuple[int, list[Found]]]:
        """Yield the position of each text, and its codes."""
        for place, text in enumerate(texts):
            words = text.split()
            named = [(own.name, one) for own in book.coded for one in own.names if one in words]
            yield place, [(name, value, False, None, "") for name, value in named]


def audited_statistics() -> dict[str, Statistic]:
    """Return each statistic that sees something in these vaults, by its name."""
    statistics: tuple[Statistic, ...] = (
        Count(condition="cough", uses=USES),
        Share(condition="cough", uses=USES),
        Compare(groups=("fever", "say"), condition="cough", uses=USES),
        Difference(groups=("fever", "cough"), uses=USES),
        Trend(by="year", date_field=DATE, since=f"{YEAR + 1}", until=f"{YEAR + 1}", uses=USES),
        Themes(attribute=CODE, uses=USES),
    )
    return {statistic.name: statistic for statistic in statistics}


def audited_list(budget: Budget) -> tuple[ListValues, int]:
    """Return the list of the treatments that were read, and a crowd with which its value is about at the threshold."""
    listed = ListValues(attribute="treatment", each=1, uses=USES)
    _, values = choose_counts(StatisticPrice(budget, uses=USES), listed.each)
    return listed, round(values.threshold) - 2
