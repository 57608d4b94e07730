"""The statistics of an audit, with parameters for its vaults: documents that say "fever cough say: x ."."""

from discreet.algorithms.statistics.statistic import Statistic
from discreet.registry import Compare, Count, Difference, Share

USES = 3
"""The number of statistics among which the grant of an audit is divided."""
CROWD = 40
"""The number of further units: a share of fewer is not told from a share of none."""
UNSEEN = frozenset({"trend", "typical", "list", "summary"})
"""Statistics of dates, numbers and statements, which these vaults have not. The histogram of the first two and the
counts of the others are audited as mechanisms."""


def audited_statistics() -> dict[str, Statistic]:
    """Return each statistic that sees something in these vaults, by its name."""
    found: tuple[Statistic, ...] = (
        Count(condition="cough", uses=USES),
        Share(condition="cough", uses=USES),
        Compare(groups=("fever", "say"), condition="cough", uses=USES),
        Difference(groups=("fever", "cough"), uses=USES),
    )
    return {statistic.name: statistic for statistic in found}
