"""What a question costs where something goes wrong: nothing, or it is said."""

import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from discreet.algorithms.base import Algorithm, GeneratedAnswer, Query
from discreet.errors import Interrupted, UsageError
from discreet.models.protocol import VotingModel
from discreet.models.toy import ToyModel
from discreet.privacy.account import Account, UnitAccount
from discreet.query.threshold_tuning import Tuning
from discreet.registry import RAG, Adaptive, Consensus, DPSparseVoteRAG, MuRAG, MuRAGAda, NaiveMultiRAG
from discreet.store.documents import Document
from discreet.store.sealed_corpus import SealedCorpus
from discreet.vault import Vault

FEW = Consensus(voters=25, max_tokens=4)


def hospital(path: Path, payment: str = "unit") -> Vault:
    vault = Vault.create(path, epsilon=20, delta=1e-6, embedder="hashing", payment=payment)
    vault.add_documents(Document(f"d{n}", f"p{n}", "numb thumbs say: winterhand .") for n in range(30))
    return Vault.open(path, model=ToyModel(["winterhand", "thumbs", "numb"]))


@pytest.mark.parametrize(
    ("payment", "algorithm"),
    [
        ("unit", MuRAGAda(inner=FEW)),
        ("unit", MuRAG(inner=FEW, similarity=-1)),
        ("unit", NaiveMultiRAG(inner=FEW, epsilon=2)),
        ("unit", MuRAGAda(inner=Consensus(choices=("yes", "no")))),
        ("corpus", FEW),
        ("corpus", DPSparseVoteRAG(voters=5, max_tokens=4)),
        ("corpus", Adaptive(inner=FEW)),
    ],
)
def test_a_question_that_does_not_fit_the_model_costs_nothing(
    tmp_path: Path, payment: str, algorithm: Algorithm
) -> None:
    vault = hospital(tmp_path / "v", payment)
    before = vault.ledger.unit_balances(), vault.ledger.spent()
    with pytest.raises(UsageError, match="too long"):
        vault.ask("numb thumbs disease " * 2000, algorithm)
    assert (vault.ledger.unit_balances(), vault.ledger.spent()) == before
    assert not vault.ledger.questions()


def test_a_paid_answer_is_given_though_it_could_not_be_kept(tmp_path: Path) -> None:
    vault = hospital(tmp_path / "v", "corpus")
    large = 4 << 20  # more than any other file of the vault has
    (vault.path / "history.jsonl").write_bytes(b"x" * large)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (large, before[1]))
    try:
        answer = vault.ask("numb thumbs?", Consensus(voters=5, max_tokens=4, epsilon=10, choices=("winterhand", "no")))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (answer.text, answer.kept) == ("winterhand", False)
    assert vault.ledger.questions()[0].stopped == "end"


class Broken(Tuning):
    """Ctrl-C after everything was drawn."""

    def release(self, questions: Sequence[str], corpus: SealedCorpus, privacy: UnitAccount) -> list[float]:
        super().release(questions, corpus, privacy)
        raise KeyboardInterrupt


def test_interrupted_tuning_settles_its_reservation(tmp_path: Path) -> None:
    vault = hospital(tmp_path / "v")
    with pytest.raises(Interrupted, match="The charge stays"):
        vault.tune(["numb thumbs?"], Broken())
    interrupted = vault.ledger.unit_balances()
    other = hospital(tmp_path / "w")
    other.tune(["numb thumbs?"])
    assert interrupted == other.ledger.unit_balances()  # what was drawn is paid, and nothing else


class Stopped(Consensus):
    """Ctrl-C after the answer was drawn."""

    name = "stopped"

    def run(self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account) -> GeneratedAnswer:
        super().run(query, corpus, model, account)
        raise KeyboardInterrupt


class StoppedRAG(RAG):
    """Ctrl-C after the answer of a baseline."""

    name = "stopped-rag"

    def run(self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account) -> GeneratedAnswer:
        super().run(query, corpus, model, account)
        raise KeyboardInterrupt


@pytest.mark.parametrize("algorithm", [Stopped(voters=25, max_tokens=4), StoppedRAG(max_tokens=4)])
def test_interrupted_simulation_says_that_nothing_was_charged(tmp_path: Path, algorithm: Algorithm) -> None:
    vault = hospital(tmp_path / "v", "corpus")
    with pytest.raises(Interrupted, match="Nothing was charged"):
        vault.simulate("numb thumbs?", algorithm)
    assert not vault.ledger.questions()


def test_interrupted_baseline_says_that_nothing_was_charged(tmp_path: Path) -> None:
    vault = hospital(tmp_path / "v", "corpus")
    before = vault.ledger.spent()
    with pytest.raises(Interrupted, match="Nothing was charged"):
        vault.ask("numb thumbs?", StoppedRAG(max_tokens=4), not_private=True)
    assert vault.ledger.spent() == before
    with pytest.raises(Interrupted, match="The charge stays: epsilon"):
        vault.ask("numb thumbs?", Stopped(voters=25, max_tokens=4))
    assert vault.ledger.spent() != before


def test_killed_addition_removes_extractions_of_replaced_texts(tmp_path: Path) -> None:
    vault = hospital(tmp_path / "v")
    words = vault.path / "synthesis" / "keywords.jsonl"
    words.parent.mkdir()
    words.write_text('{"read": "numb"}\n')
    code = (
        "import os, sys; from discreet import Document, Vault\n"
        "def killed():\n"
        "    yield Document('d1', 'p1', 'other words')\n"
        "    for n in range(600):  # more than one batch, so that the first is in\n"
        "        yield Document(f'e{n}', f'q{n}', f'more words {n}')\n"
        "    os.kill(os.getpid(), 9)\n"
        "Vault.open(sys.argv[1]).add_documents(killed())\n"
    )
    assert subprocess.run([sys.executable, "-c", code, vault.path], check=False).returncode == -9
    assert words.exists()
    again = Vault.open(vault.path)
    assert again.store.count_units() > 30
    assert not words.exists()
    assert not list(again.path.glob("adding.*"))


def test_a_mark_of_somebody_who_still_adds_is_left_alone(tmp_path: Path) -> None:
    """Nor does it matter what number a process has: in a container the next one has the same."""
    vault = hospital(tmp_path / "v")
    words = vault.path / "synthesis" / "keywords.jsonl"
    words.parent.mkdir()
    words.touch()

    def documents() -> Iterator[Document]:
        yield Document("new", "new", "new words")
        (mark,) = vault.path.glob("adding.*")
        assert Vault.open(vault.path).store.count_units() == 30
        assert mark.exists()

    assert vault.add_documents(documents()).added == 1
    assert words.exists()
    assert not [path for path in vault.path.iterdir() if "adding" in path.name]
