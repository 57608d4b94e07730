"""What a question in words asks for: the kind of a statistic, and phrases in the question's own words."""

from dataclasses import dataclass
from typing import Literal, get_args

Kind = Literal["count", "share", "difference", "list", "compare", "trend", "typical", "summary"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Statistic = Literal["", "median", "mean", "quartiles", "range"]


@dataclass(frozen=True)
class Wording:
    """A question in words that asks for a statistic, in its parts.

    A phrase has the spelling of the question, without a leading article, quotation marks and final punctuation.

    Attributes:
        kind: the statistic that is asked for.
        population: the units that count: "Winter Hand" for "patients with Winter Hand"; "" for all units.
        condition: what holds of a unit, for a count, a share, a comparison or a trend: "swollen toes".
        attribute: what is listed, measured or compared: "symptoms", "age".
        groups: the phrases that a comparison or a difference compares, at least two.
        by: "month", "quarter", "year" or the name of a field, if the question asks for one value for each.
        since: the date, month or year after "since", in ISO form; "" if the question names none.
        most: the n of "top n"; 0 if the question names none.
        statistic: the statistic that is named for a typical value; "" for any.
        negated: whether the condition must not hold: "do not have", "without".
        language: the language of the phrases, if it is not English: "de", "fr" or "es".
    """

    kind: Kind
    population: str = ""
    condition: str = ""
    attribute: str = ""
    groups: tuple[str, ...] = ()
    by: str = ""
    since: str = ""
    most: int = 0
    statistic: Statistic = ""
    negated: bool = False
    language: str = ""
