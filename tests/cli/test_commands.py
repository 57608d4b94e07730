"""The commands as a newcomer and a program use them, with the real model, store and ledger."""

import fcntl
import io
import json
import os
import signal
import stat
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import IO

import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.cli.output import print_json
from discreet.demo.corpus import DISEASES, documents
from discreet.vault import Vault
from tests.cli.running import json_of, run

SHORT = ("--param", "document_tokens=72")
"""No note has more tokens."""


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hospital")
    notes = folder / "notes.jsonl"
    asked_about = (*DISEASES[:3], DISEASES[-1])
    with notes.open("w") as file:
        for document in documents(480):
            if not any(disease.name in document.text for disease in asked_about):
                continue  # an embedding takes a hundredth of a second
            file.write(json.dumps({"id": document.id, "patient": document.unit, "text": document.text}) + "\n")
    path = folder / "vault"
    options = ["--epsilon", 400, "--force", "--delta", 1e-6, "--unit-field", "patient", "--log-questions"]
    json_of("init", path, *options)
    assert json_of("add", path, notes)["added"] == 160
    return path


def test_shell_completes_names_of_commands_options_tables_and_algorithms() -> None:
    shown = {}
    lines = (
        "discreet er",
        "discreet add --unit",
        "discreet bench vote-t",
        "discreet ask V Q --algorithm murag",
        "discreet schema key-s",
    )
    for line in lines:
        environment = {"_DISCREET_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
        result = CliRunner().invoke(app, [], prog_name="discreet", env=environment)
        shown[line] = result.stdout.split()
    assert shown == {
        "discreet er": ["erasure-report"],
        "discreet add --unit": ["--unit-field", "--units", "--unit-from", "--unit-may-be"],
        "discreet bench vote-t": ["vote-threshold"],
        "discreet ask V Q --algorithm murag": ["murag", "murag-ada"],
        "discreet schema key-s": ["key-show"],
    }


VOTERS = ("--voters", 30, "--max-tokens", 12)


def test_private_question_from_end_to_end(hospital: Path) -> None:
    asked = "What is the treatment for Thunder Heart?"
    options = ("--inner", "dp-sparse-vote-rag", "--epsilon", 80, "--no-reuse", *VOTERS, *SHORT)
    # The noise is real: in one of ten runs the noisy counts halt before there are enough units for a majority.
    for _ in range(4):
        answer = json_of("ask", hospital, asked, *options)
        assert set(answer) >= {"answer", "stopped", "algorithm", "receipt", "remaining"}
        receipt = answer["receipt"]
        assert isinstance(receipt, dict)
        assert set(receipt) >= {"epsilon", "delta", "relation", "unit", "charges"}
        assert answer["algorithm"] == "murag-ada"
        assert 0 < receipt["epsilon"] <= 80
        assert (receipt["unit"], receipt["relation"], receipt["noise"]) == ("patient", "add-remove", "SystemNoise")
        if "copper bracelets" in str(answer["answer"]):
            break
    else:
        pytest.fail("Four answers, and none of them right.")
    report = json_of("budget", hospital)
    questions = report["questions"]
    assert isinstance(questions, list)
    assert questions[-1]["question"] == asked
    assert questions[-1]["charges"] == sum(one["times"] for one in receipt["charges"])
    assert answer["remaining"] is None
    assert 0 < float(str(report["odometer"])) <= 400
    assert float(str(report["granted"])) == float(str(report["spent"])) + float(str(report["left"]))


@pytest.mark.long
def test_person_can_read_it(hospital: Path) -> None:
    result = run("ask", hospital, "What is it?", "--epsilon", 4, "--voters", 20, "--max-tokens", 2, *SHORT)
    assert "cost each patient at most epsilon" in result.output
    assert "left to every unit" not in result.output
    shown = run("budget", hospital)
    assert "Grant: epsilon 400" in shown.output
    assert "murag" in shown.output  # the rest may not fit a narrow terminal


@pytest.mark.long
def test_plain_rag_is_marked(hospital: Path) -> None:
    asked = ("ask", hospital, "What is the treatment for Thunder Heart?", "--algorithm", "rag", "--not-private")
    assert "NOT PRIVATE" in run(*asked, "--max-tokens", 12).output
    answer = json_of(*asked, "--max-tokens", 12)
    assert answer["private"] is False
    assert any(disease.treatment in str(answer["answer"]) for disease in DISEASES)
    assert "without a guarantee" in run("budget", hospital).output


def test_evaluation_leaves_the_budget_alone(hospital: Path, tmp_path: Path) -> None:
    questions = tmp_path / "questions.jsonl"
    with questions.open("w") as file:
        for disease in DISEASES[:3]:
            asked = f"What is the treatment for {disease.name}?"
            file.write(json.dumps({"id": disease.name, "question": asked, "answers": [disease.treatment]}) + "\n")
    before = Vault.open(hospital).budget().describe()
    out = tmp_path / "answers.jsonl"
    options = ["--epsilon", 5, "--epsilon", 100, "--seeds", 2, "--voters", 10, "--max-tokens", 10, "--out", out]
    algorithms = [word for name in ("rag", "vote-rag", "dp-sparse-vote-rag") for word in ("--algorithm", name)]
    report = json_of("eval", hospital, questions, *algorithms, *options)
    rows = report["rows"]
    assert isinstance(rows, list)
    assert [row["algorithm"] for row in rows] == ["rag", "vote-rag", "dp-sparse-vote-rag", "dp-sparse-vote-rag"]
    assert all(row["answers"] == 6 for row in rows)
    assert rows[1]["accuracy"] >= 2 / 3
    assert rows[2]["epsilon_spent"] <= 5
    assert "custodian" in str(report["notice"])
    assert len(out.read_text().splitlines()) == 24
    assert Vault.open(hospital).budget().describe() == before


def test_json_is_json_where_the_terminal_knows_no_utf8(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii", errors="backslashreplace"))
    print_json({"answer": "fièvre \N{GRINNING FACE}"})
    assert json.loads(raw.getvalue()) == {"answer": "fièvre \N{GRINNING FACE}"}


def test_question_file_that_is_none_is_named(hospital: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "q.jsonl"
    wrong.write_text('{"question": "Why?", "answers": ["so"]}\n{"question": "Why?"}\n')
    result = run("eval", hospital, wrong)
    assert result.exit_code == 4
    assert "line 2" in result.output
    assert run("eval", hospital, tmp_path / "none.jsonl").exit_code == 2


@pytest.mark.long
def test_ctrl_c_in_the_middle_of_an_answer_keeps_what_was_paid(tmp_path: Path, small_model: Path) -> None:
    path = tmp_path / "vault"
    made = Vault.create(
        path, epsilon=60, delta=1e-6, unit_field="patient", embedder="hashing", payment="corpus", model=str(small_model)
    )
    made.add_documents(documents(120))
    before = made.budget()
    command = [sys.executable, "-m", "discreet", "ask", str(path), "What is the disease with white hands?"]
    tokens = ("--max-tokens", "1200", "--private-tokens", "1200")
    process = subprocess.Popen(
        # Tokens at random, so that the answer does not end by itself.
        [*command, "--algorithm", "dp-vote-rag", "--epsilon", "3", "--voters", "10", *tokens],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
        # A shell that runs the tests in the background has them ignore Ctrl-C, which children inherit.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    deadline = time.time() + 300
    while Vault.open(path).budget().spent == before.spent and time.time() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=300)[1]
    assert process.returncode == 130
    assert "charge stays" in " ".join(said.split())
    after = Vault.open(path).budget()
    assert after.spent > before.spent
    assert after.questions[-1].stopped is None


def unread(pipe: IO[bytes]) -> int:
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.long)])
def test_kept_standard_input_is_removed_at_sigterm(number: signal.Signals, vault: Vault, tmp_path: Path) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    command = [sys.executable, "-m", "discreet", "add", str(vault.path), "-", "--format", "csv"]
    started = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(place)},
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    assert started.stdin
    started.stdin.write(b"patient,text\n" + b"P1,secret\n" * 300_000)
    started.stdin.flush()
    deadline = time.time() + 60
    # It waits for more then: a signal that came while it reads would be seen after the next piece.
    kept: list[Path] = []
    while time.time() < deadline and (unread(started.stdin) or not kept):
        kept = list(place.glob("discreet-*/input.csv"))
        time.sleep(0.2)
    assert stat.S_IMODE(kept[0].parent.stat().st_mode) == 0o700
    started.send_signal(number)
    assert started.wait(30) == 128 + number
    assert not list(place.iterdir())


def test_program_runs_as_a_module_and_as_a_command() -> None:
    for command in ([sys.executable, "-m", "discreet"], [str(Path(sys.executable).with_name("discreet"))]):
        result = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True)
        assert "ask" in result.stdout
