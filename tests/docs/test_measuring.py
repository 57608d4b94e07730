"""What measures a vault runs as printed: evaluations, attacks, audits, answers at even times, claims."""

import json
import time
from pathlib import Path

import pytest

from tests.docs.test_docs import ALL, DISEASES, desk, made, parse, run, steps, toy

__all__ = ["desk", "toy"]  # fixtures

PAGE = "docs/operate.md"
FEWER = {"eval": ["--limit", "1"], "attack": ["--members", "2", "--questions", "1", "--planted", "1"]}
"""Options that make a command short; the page shows it without them."""


@pytest.fixture
def hospital(desk: Path, toy: None) -> Path:
    """A folder with a vault and files of questions."""
    run(["init", "hospital", "--epsilon", "20", "--delta", "1e-7", "--unit-field", "patient", "--embedder", "hashing"])
    run(["add", "hospital", "notes.jsonl"])
    lines = [
        {"id": name, "question": f"What is the treatment for {name}?", "answers": [treatment], "support": 60}
        for name, treatment in DISEASES.items()
    ]
    for name in ("questions.jsonl", "public-questions.jsonl"):
        Path(name).write_text("\n".join(map(json.dumps, lines)))
    return desk


def on_the_vault(*names: str) -> list[list[str]]:
    """The command lines of the page that begin with one of these names and concern the vault "hospital"."""
    return [words for words in steps(PAGE, *names) if words[1] == "hospital" and "--ledger" not in words]


def test_page_measures_a_vault(hospital: Path, small_model: Path) -> None:
    for words in on_the_vault("tune", "eval"):
        here = [str(small_model) if word.startswith("/models/") else word for word in words]
        assert run(here, *FEWER.get(words[0], []))


def test_page_attacks_a_vault(hospital: Path) -> None:
    for words in on_the_vault("attack"):
        run(words, *FEWER["attack"])
    assert (hospital / "report.html").exists()


def test_page_answers_at_even_times(hospital: Path) -> None:
    begun = time.monotonic()
    run(["ask", "hospital", "What helps against numb thumbs?", "--latency-step", "0.5"])
    assert time.monotonic() - begun >= 0.5


def test_page_tries_claims(desk: Path, toy: None) -> None:
    for words in steps("docs/algorithms.md", "claim"):
        run(words)
    for words in steps("docs/algorithms.md", "init", "add", "ask"):
        if words[1] == "lab" and "knn-lm" not in words:  # needs hidden states, which the toy model has not
            run(made(words))


def test_page_audits_parse() -> None:
    audits = [words for page in ALL for words in page.commands() if words[0] == "audit"]
    for words in audits:
        parse(words)  # they take minutes: tests/guarantee/audit runs them
    assert len(audits) > 3
