import re
from pathlib import Path

import pytest

from discreet_server.front.errors import ERRORS, KIND_ADVICE, FrontError

RETRIED = (408, 409, 429)
"""The statuses below 500 that the openai SDK sends again."""


@pytest.mark.parametrize("code", sorted(ERRORS))
def test_error_that_was_paid_is_never_retried(code: str) -> None:
    paid = FrontError(code, paid=True)
    assert paid.headers()["x-should-retry"] == "false"
    assert "retry-after" not in paid.headers()
    assert paid.status not in (*RETRIED[1:], 502, 503, 504)
    assert "Nothing was paid" not in paid.body().error.message


@pytest.mark.parametrize("code", sorted(ERRORS))
def test_error_that_may_be_retried_was_not_paid(code: str) -> None:
    error = FrontError(code)
    may_retry = error.headers()["x-should-retry"] == "true"
    assert may_retry == ("retry-after" in error.headers()) == (error.status in (429, 503))
    if may_retry:
        assert not error.may_have_paid


def test_error_advice_covers_every_kind_of_question() -> None:
    from discreet.questions.router import NAMES

    of_statistics = {"left-out", "population", "misspelled", "bound"}  # of joins, spelling and keys
    assert set(KIND_ADVICE) == set(NAMES) - {"fact", "yes-no"} | of_statistics


def test_error_table_of_the_page_is_that_of_the_code() -> None:
    page = (Path(__file__).parents[3] / "docs" / "serve.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| `(\w+)` \| (\d+) \| (yes|no) \|", page, re.MULTILINE)
    assert sorted(found) == sorted(
        (code, str(entry.status), "yes" if entry.retry else "no") for code, entry in ERRORS.items()
    )
