"""How many wordings are understood: kinds, and whole requests.

`wordings.jsonl` has a wording a line, with its kind, the requests that are right, and its source. Wordings of `train`
made the weights of the classifier and the grammar; those of `tune` its thresholds; those of `judge` were written by
another hand, and nothing was made from them. `python -m discreet_lab.experiments accuracy kinds` prints the figures.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

from discreet.errors import CannotAnswer, UsageError
from discreet.registry import Consensus
from discreet_lab.evaluation.wordings import FIELDS, group_of, judge, kind_of
from tests.questions.routers import router_of

ROUTER = router_of(FIELDS)
REFUSED = frozenset(("person", "two-questions", "nothing", "follow-up", "superlative", "other"))


@cache
def _all() -> tuple[dict[str, Any], ...]:
    text = Path(__file__).with_name("wordings.jsonl").read_text(encoding="utf-8")
    return tuple(json.loads(line) for line in text.splitlines())


def wordings(source: str, *, foreign: bool = False) -> list[dict[str, Any]]:
    """Return the wordings of a source."""
    return [one for one in _all() if one["source"] == source and bool(one.get("language")) == foreign]


def is_refused(one: dict[str, Any], kind: str = "") -> bool:
    """Return whether a wording is refused, as one of a kind if it is given."""
    try:
        ROUTER.decide(one["text"], lambda question, choices: Consensus())
    except CannotAnswer as refused:
        return refused.kind == kind or not kind
    except UsageError:
        return not kind
    return False


def verdicts(source: str, *, foreign: bool = False) -> list[str]:
    """Return what becomes of the statistics of a source."""
    return [judge(ROUTER, one) for one in wordings(source, foreign=foreign) if one.get("request")]


def test_kinds_of_wordings_from_another_hand() -> None:
    judged = wordings("judge")
    right = [one for one in judged if kind_of(one["text"]) == group_of(one["kind"])]
    assert len(right) >= 0.8 * len(judged)


def test_requests_of_wordings_from_another_hand() -> None:
    found = verdicts("judge")
    assert found.count("right") >= 0.7 * len(found)
    assert found.count("other") <= 0.15 * len(found)
    assert not found.count("fact")


def test_questions_about_one_individual_are_refused() -> None:
    """At most 2 of 60 are asked; at most a tenth of those that look like them are refused as such."""
    persons = [one for one in wordings("judge") if one["kind"] == "person"]
    assert len([one for one in persons if not is_refused(one)]) <= len(persons) // 30
    others = [one for one in wordings("judge") if one["kind"] not in REFUSED]
    assert len([one for one in others if is_refused(one, "person")]) <= len(others) // 10


def test_plain_requests_in_other_languages() -> None:
    found = verdicts("judge", foreign=True)
    assert found.count("right") >= 0.75 * len(found)
    assert found.count("other") <= 0.05 * len(found)
