"""HTML for notebooks: whole, escaped, and with no value that the text form does not show."""

from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from discreet.algorithms.base import Answer, Figure, Support, UnitCost
from discreet.planning.plan import make_plan
from discreet.privacy.filter import Receipt, public_texts, released_before
from discreet.store.documents import Document
from discreet.vault import Vault

EVIL = '<script>alert("x")</script>&'
RECEIPT = Receipt(3.0, 1e-6, "add-remove", "patient_id", (), "renyi", "discrete", payment="unit", each=1)
COST = UnitCost(3.0, 20.0, 25)
ANSWER = Answer("ginger gloves", "end", 2, algorithm="murag-ada", receipt=RECEIPT, cost=COST, public_text="invented")


class Tags(HTMLParser):
    """The names of all elements, and the text between them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.open.append(tag)
        assert not [name for name, _ in attrs if name.startswith("on")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(shown: object) -> str:
    """Return the text of the HTML of an object: all elements are closed, and none can run or load anything."""
    html = shown._repr_html_()  # type: ignore[attr-defined]
    found = Tags(html)
    assert not found.open
    assert set(found.names) <= {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "progress"}
    return found.text


def test_answer_shows_text_and_cost() -> None:
    text = read(ANSWER)
    assert "ginger gloves" in text
    assert "cost each patient at most epsilon 3 of 20" in text
    assert "1 of 25 such questions" in text
    assert "invented" not in text  # the command line shows it with --show-public alone


def test_answer_without_release_says_why() -> None:
    text = read(replace(ANSWER, text="", stopped="public"))
    assert "too few of the patients' notes agree" in text
    assert "Nothing was released." in text
    assert "epsilon 3" in text
    assert "invented" not in text
    assert "only names the question" in read(replace(ANSWER, useless="it only names the question"))


def test_answer_without_cost_or_guarantee_says_so() -> None:
    assert "released before" in read(replace(ANSWER, receipt=released_before("patient"), cost=None))
    assert "from public texts" in read(replace(ANSWER, receipt=public_texts("patient"), cost=None))
    assert "NOT PRIVATE" in read(replace(ANSWER, receipt=None, cost=None))
    assert "NOT PRIVATE" in read(replace(RECEIPT, private=False))
    assert "left of the grant: epsilon 17" in read(replace(ANSWER, remaining=17.0))
    assert "charges again" in read(replace(ANSWER, kept=False))


def test_every_text_is_escaped() -> None:
    evil = replace(
        ANSWER,
        text=EVIL,
        released=(EVIL, EVIL),
        support=Support(3, 1, 5),
        receipt=replace(RECEIPT, unit=EVIL, caveat=EVIL, assumed=(EVIL,), public_corpus=EVIL, relation=EVIL),
    )
    parts = [evil, evil.receipt, replace(evil, useless=EVIL), replace(evil, stopped="public")]
    parts += [replace(evil, support=None, shares={EVIL: 3})]
    parts += [replace(evil, support=None, table=(Figure(EVIL, "count", 1, 0, 2),))]
    parts += [replace(evil, receipt=replace(RECEIPT, private=False, caveat=EVIL))]
    for part in parts:
        assert "script" in read(part)


def test_budget_shows_what_is_left(tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=20, delta=1e-6, unit_field=EVIL, embedder="hashing")
    vault.add_documents(Document(f"d{number}", f"p{number}", "Numb thumbs.") for number in range(30))
    report = vault.budget()
    assert "at least epsilon 20 of 20 is left" in read(report)
    vault.ask("How many units have numb thumbs?")
    report = vault.budget()
    assert report.odometer
    text = read(report)
    assert f"epsilon {20 - report.odometer:.4g} of 20 is left" in text
    assert "The first questions weigh most in this number" in text
    assert "weigh most" not in read(replace(report, accountant="pure"))
    assert "private; for the custodian" in text
    assert "(private" not in read(replace(report, levels=()))
    assert "without a guarantee" not in text
    open_question = replace(report.questions[0], private=False)
    assert "the budget does not cover them" in read(replace(report, questions=(open_question,)))


@pytest.mark.long
def test_plan_shows_questions_and_beliefs() -> None:
    plan = make_plan(1200, 20, 1e-6, questions=50)
    text = read(plan)
    assert all(row.what in text for row in plan.rows)
    assert "after all, at most" in text
    assert "For 50 questions in all" in text
