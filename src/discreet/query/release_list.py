"""What a vault has released, as a list: about which units, what, when, and at which price. All of it is public."""

from dataclasses import dataclass

from discreet.algorithms.common.algorithm import Figure
from discreet.query.answer_cache import AnswerCache, Released
from discreet.questions.request import KINDS

FACT = "fact"
"""The kind of an answer of voters."""


@dataclass(frozen=True)
class ReleaseEntry:
    """A release.

    Attributes:
        time: its moment, UTC; empty if it is not known.
        question: the question.
        kind: the kind of the statistic; "fact" for an answer of voters.
        algorithm: the name of the algorithm.
        population: the units that it is about, in words; empty for all. Tests of declared fields are in it.
        condition: what holds of those that are counted, or what is listed or measured.
        groups: the groups that are compared.
        answer: the released text; None for "no answer".
        table: the numbers, with their intervals.
        epsilon: what it cost any one unit at most; None if it is not known.
    """

    time: str
    question: str
    kind: str
    algorithm: str
    population: str
    condition: str
    groups: tuple[str, ...]
    answer: str | None
    table: tuple[Figure, ...]
    epsilon: float | None


def list_releases(history: AnswerCache, kind: str = "") -> list[ReleaseEntry]:
    """Return the releases of a vault in their order of time; of one kind, if it is given."""
    found = map(_entry, history.all())
    return [one for one in found if kind in ("", one.kind)]


def _entry(released: Released) -> ReleaseEntry:
    parts = released.parts or {}
    where = [str(test) for test in _several(parts.get("where"))]
    population = ", ".join([one for one in (str(parts.get("population", "")),) if one] + where)
    said = str(parts.get("condition") or parts.get("attribute") or "")
    more = [f"{name} {parts[name]}" for name in ("since", "until") if parts.get(name)]
    return ReleaseEntry(
        released.time,
        released.question,
        released.algorithm if released.algorithm in KINDS else FACT,
        released.algorithm,
        population,
        ", ".join(one for one in (said, *more) if one),
        tuple(str(group) for group in _several(parts.get("groups"))),
        released.answer if released.is_answer else None,
        released.table,
        released.epsilon,
    )


def _several(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []
