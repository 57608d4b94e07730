"""Releases of former versions of the library: they are found, and nothing is paid twice."""

from hashlib import blake2b
from pathlib import Path

import pytest

from discreet.algorithms.statistics.statistic import Statistic
from discreet.query.answer_cache import AnswerCache, Released
from discreet.query.recall import find_released, fingerprint
from discreet.registry import Count, ListValues
from discreet.retrieval.embedding import HashingEmbedder

QUESTION = "Which symptoms do patients with Winter Hand have?"
LIST = ListValues(population="Winter Hand", attribute="symptoms")


def way_of(written: str) -> str:
    return blake2b(written.encode(), digest_size=8).hexdigest()


def writings(statistic: Statistic) -> list[str]:
    """The text that was hashed before statistics had a language, and with an empty one."""
    whole = repr(statistic)
    assert whole.count("language='', ") == 1
    return [whole.replace("language='', ", ""), whole]


@pytest.fixture
def history(tmp_path: Path) -> AnswerCache:
    return AnswerCache(tmp_path / "history.jsonl", HashingEmbedder())


@pytest.mark.parametrize("version", [0, 1])
def test_no_answer_of_a_former_version_is_found(history: AnswerCache, version: int) -> None:
    way = way_of(writings(LIST)[version])
    history.add(Released(QUESTION, "", "public", "list", 0, choices=LIST.set_apart, way=way))
    found = find_released(history, QUESTION, LIST)
    assert found is not None
    assert not found.is_answer
    assert find_released(history, QUESTION, ListValues(population="Winter Hand", attribute="diagnosis")) is None


def test_language_sets_a_no_answer_apart(history: AnswerCache) -> None:
    history.add(Released(QUESTION, "", "public", "list", 0, choices=LIST.set_apart, way=fingerprint(LIST)))
    assert find_released(history, QUESTION, LIST) is not None
    german = ListValues(population="Winter Hand", attribute="symptoms", language="de")
    assert find_released(history, QUESTION, german) is None


def test_fingerprint_without_a_language_is_the_former_one() -> None:
    assert fingerprint(Count(condition="fever")) == way_of(
        "Count(population='', where=(), epsilon=None, uses=None, condition='fever', negated=False)"
    )
