"""How many wordings are understood: kinds, and whole requests.

`wordings.jsonl` has a wording a line, with its kind, the requests that are right, and its source. Wordings of `train` made
the weights of the classifier and the grammar; those of `tune` its thresholds; those of `judge` were written by another
hand, and nothing was made from them. The figures are printed by `python -m discreet_lab.experiments accuracy kinds`.
"""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from discreet.errors import CannotAnswer, UsageError
from discreet.questions.choices import with_choices
from discreet.questions.request import FACT, Request
from discreet.registry import Consensus
from discreet_lab.evaluation.wordings import FIELDS, group_of, is_right, kind_of
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


def decided(one: dict[str, Any]) -> Request | str:
    """Return the request that is made of a wording, or the kind of its refusal."""
    try:
        return ROUTER.decide(one["text"], lambda question, choices: with_choices(Consensus(), question)).request
    except CannotAnswer as refused:
        return refused.kind
    except UsageError:
        return "refused"


def statistics(source: str, *, foreign: bool = False) -> Iterator[tuple[dict[str, Any], Request | str]]:
    for one in wordings(source, foreign=foreign):
        if one.get("request"):
            yield one, decided(one)


def test_kinds_of_wordings_from_another_hand() -> None:
    judged = wordings("judge")
    right = [one for one in judged if kind_of(one["text"]) == group_of(one["kind"])]
    assert len(right) >= 0.8 * len(judged)


def test_requests_of_wordings_from_another_hand() -> None:
    judged = list(statistics("judge"))
    right = [one["text"] for one, found in judged if isinstance(found, Request) and is_right(found, one["request"])]
    assert len(right) >= 0.7 * len(judged)


def test_no_statistic_is_asked_of_voters() -> None:
    asked = [one["text"] for one, found in statistics("judge") if isinstance(found, Request) and found.kind == FACT]
    assert not asked


def test_questions_about_one_individual_are_refused() -> None:
    """At most 2 of 60 are asked; at most a tenth of those that look like them are refused as such."""
    persons = [one for one in wordings("judge") if one["kind"] == "person"]
    assert len([one for one in persons if isinstance(decided(one), Request)]) <= len(persons) // 30
    others = [one for one in wordings("judge") if one["kind"] not in REFUSED]
    assert len([one for one in others if decided(one) == "person"]) <= len(others) // 10


def test_plain_requests_in_other_languages() -> None:
    judged = list(statistics("judge", foreign=True))
    right = [one["text"] for one, found in judged if isinstance(found, Request) and is_right(found, one["request"])]
    assert len(right) >= 0.5 * len(judged)
