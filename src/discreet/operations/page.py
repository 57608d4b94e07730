"""The report as one page of HTML, to read, print and sign: for a supervisor, or as a document that a law asks for."""

from collections import Counter
from enum import StrEnum

from discreet.config import DEFAULT_STORE
from discreet.operations.report import Report, outcome, percent
from discreet.system.database_url import is_postgres
from discreet.system.markup import fill

MOST_ROWS = 1000
"""The number of newest questions in the list. The counts include all questions."""


class Kind(StrEnum):
    """Whom a page is for.

    `DPIA` has the parts of a data-protection impact assessment that Article 35(7) of the GDPR asks for. `ANONYMITY`
    has the three tests of Opinion 05/2014 of the Article 29 Working Party on anonymisation techniques.
    `EXPERT_DETERMINATION` has what 45 CFR 164.514(b)(1) (HIPAA) asks for, with the principles of the guidance of the
    US Department of Health and Human Services of 2012. What a vault cannot know is left to fill in.
    """

    SUPERVISOR = "supervisor"
    DPIA = "dpia"
    ANONYMITY = "anonymity"
    EXPERT_DETERMINATION = "expert-determination"


def as_page(report: Report, kind: Kind = Kind.SUPERVISOR) -> str:
    """Return the report as HTML."""
    store = report.settings.store
    other = "in the vault" if store == DEFAULT_STORE else f"in the store '{store.partition(':')[0]}' of a plug-in"
    return fill(
        "report.html",
        report=report,
        kind=kind.value,
        most_rows=MOST_ROWS,
        outcome=outcome,
        outcomes=sorted(Counter((one.algorithm, outcome(one)) for one in report.questions).items()),
        odds_percent=percent,
        place="in a PostgreSQL database" if is_postgres(store) else other,
    )
