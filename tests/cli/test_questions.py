"""Questions on the command line: what cannot be answered is said at once, and several are asked one by one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.algorithms.base import Answer
from discreet.cli.answers import answered
from discreet.cli.output import explained
from discreet.errors import Interrupted
from discreet.privacy.accounting import Spending
from discreet.privacy.costs import Pure
from discreet.query.answer_cache import Released
from discreet.store.documents import Document
from discreet.vault import Vault
from tests.cli.running import run

SUMMARY = "Summarise what the notes say about Zonkitis."
KNOWN = {"What helps against Zonkitis?": "blerpox", "What helps against Snurflaxitis?": "flarglepox"}


@pytest.fixture
def known(tmp_path: Path) -> Path:
    """A vault that knows two answers, and would have to load a model for any other."""
    vault = Vault.create(tmp_path / "v", epsilon=20, delta=1e-6, unit_field="patient", embedder="hashing", model="none")
    vault.add_documents([Document("1", "ada", "Zonkitis: blerpox")])
    for question, answer in KNOWN.items():
        vault.history.add(Released(question, answer, "end", "murag-ada", 1))
    return vault.path


@pytest.fixture
def english(tmp_path: Path) -> Path:
    """A vault of the packaged model, which reads English."""
    return Vault.create(tmp_path / "e", epsilon=20, delta=1e-6, unit_field="patient", embedder="hashing").path


def test_anyway_is_heard(known: Path) -> None:
    Vault.open(known).history.add(Released(SUMMARY, "many", "end", "murag-ada", 1))
    assert run("ask", known, SUMMARY).exit_code == 2
    assert "many" in run("ask", known, SUMMARY, "--anyway").output


def test_several_questions_are_asked_one_by_one(known: Path) -> None:
    result = run("ask", known, *KNOWN, SUMMARY, "--json")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [line["question"] for line in lines] == [*KNOWN, SUMMARY]
    assert [line.get("answer", line.get("error")) for line in lines] == [*KNOWN.values(), "CannotAnswer"]
    assert result.exit_code == 2
    shown = run("ask", known, *KNOWN).output
    assert all(f"> {question}" in shown and answer in shown for question, answer in KNOWN.items())


def test_questions_come_from_standard_input(known: Path) -> None:
    typed = "\n".join(KNOWN) + "\n\n"
    found = [json.loads(line)["answer"] for line in run("ask", known, "-", "--json", typed=typed).stdout.splitlines()]
    assert found == [*KNOWN.values()]
    assert run("ask", known, "-", typed="\n \n").exit_code == 2
    assert "UTF-8" in run("ask", known, "-", typed=b"caf\xe9?\n").output


@pytest.mark.usefixtures("signals_heard")
def test_ctrl_c_works_during_object_finalization() -> None:
    code = """
import signal, sys, time
from discreet.cli import app
class Cleared:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)
def called():
    Cleared()
    time.sleep(60)
app.app = called
app.main()
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=50)
    assert "KeyboardInterrupt" in ended.stderr.splitlines()[-1]


def test_one_question_has_an_object_without_itself(known: Path) -> None:
    assert "question" not in json.loads(run("ask", known, next(iter(KNOWN)), "--json").stdout)


def test_ctrl_c_before_loading_a_model_charges_nothing(known: Path) -> None:
    def interrupted(_: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="Nothing was charged") as ended:
        answered(Vault.open(known), "What is the treatment for Zonkitis?", interrupted)  # type: ignore[arg-type]
    assert ended.value.exit_code == 130
    assert "epsilon 0.25" in str(Interrupted(0.25))


def test_ctrl_c_after_a_statistic_was_charged_tells_its_price(known: Path) -> None:
    """A statistic needs no model. Ctrl-C comes between its charge and its end."""
    vault = Vault.open(known)

    def interrupted(_: str) -> Answer:
        vault.components.asked.append("q")
        vault.ledger.begin("q", "count", None)
        vault.ledger.reserve_all("q", 0, Spending.of(Pure(0.25)))
        raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="The charge stays") as ended:
        answered(vault, "how many?", interrupted)
    assert ended.value.epsilon == pytest.approx(0.25, rel=0.01)


def test_ctrl_c_ends_any_command_with_130(capsys: pytest.CaptureFixture[str]) -> None:
    @explained
    def command(*, as_json: bool) -> int:
        raise KeyboardInterrupt

    with pytest.raises(BaseException) as ended:  # noqa: PT011 - typer's own, whose name differs between its versions
        command(as_json=True)
    assert getattr(ended.value, "exit_code", None) == 130
    assert json.loads(capsys.readouterr().out)["exit_code"] == 130


def test_follow_up_is_asked_after_the_question_before(known: Path) -> None:
    first, second = KNOWN
    found = run("ask", known, "And against Snurflaxitis?", "--after", first)
    assert second in found.output
    assert KNOWN[second] in found.stdout
    told = json.loads(run("ask", known, "And against Snurflaxitis?", "--after", first, "--json").stdout)
    assert (told["question"], told["answer"]) == (second, KNOWN[second])
    assert KNOWN[second] in run("ask", known, second, "--after", first).stdout


def test_follow_up_that_is_not_clear_is_refused(english: Path) -> None:
    asked = ("ask", english, "And of Glass Knee?")
    assert "--after" in run(*asked).output
    two = run(*asked, "And of Red Echo?", "--after", "What helps against Zonkitis?")
    assert two.exit_code == 2
    assert "one question" in two.output
    assert not Vault.open(english).ledger.questions()
