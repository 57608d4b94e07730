"""Answers that a public corpus proposes: where they come from, and what they change."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.algorithms.retrieval import propose_answers
from discreet.cli import main  # noqa: F401 - registers the commands
from discreet.cli.app import app
from discreet.errors import UsageError
from discreet.models.toy import ToyModel
from discreet.models.transformers_model import TransformersModel
from discreet.privacy.noise import InsecureSeededNoise
from discreet.query.answer_cache import Released
from discreet.query.recall import fingerprint
from discreet.registry import Consensus, MuRAG, MuRAGAda
from discreet.store.documents import Document
from discreet.store.embedding import HashingEmbedder
from discreet.store.public import PublicTexts
from discreet.vault import Vault

QUESTION = "Which remedy is for fever?"
TEXTS = ["The harbour is closed.", "The remedy of fever is red leaf, hot sand. say: red leaf .", "Sand is yellow."]


def corpus_file(folder: Path, texts: list[str]) -> Path:
    path = folder / "corpus.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return path


def vault_of(folder: Path, model: ToyModel | TransformersModel, text: str, *, agreeing: int) -> Vault:
    made = Vault.create(folder / "vault", epsilon=20, delta=1e-5, embedder="hashing", payment="corpus")
    made.add_documents(Document(f"d{n}", f"p{n}", text) for n in range(agreeing))
    made.add_documents(Document(f"o{n}", f"q{n}", f"Fever of {n}: nothing is known.") for n in range(12 - agreeing))
    return Vault.open(made.path, model=model)


def test_proposed_answer_needs_fewer_votes(tmp_path: Path) -> None:
    """Five votes of twelve release an answer that the corpus proposes, and rarely one that it does not propose."""
    vault = vault_of(tmp_path, ToyModel(default=""), "Fever say: red leaf .", agreeing=5)
    texts = PublicTexts(TEXTS, HashingEmbedder())
    asked = Consensus(voters=12, epsilon=3.0, delta=1e-6, sentence=False)

    def released(proposing: PublicTexts | None) -> int:
        found = (
            vault.simulate(QUESTION, asked, noise=InsecureSeededNoise(seed), propose=proposing) for seed in range(20)
        )
        return sum(answer.released == ("red leaf",) for answer in found)

    assert (released(None) < 10, released(texts) > 15) == (True, True)


def test_proposals_change_no_price(tmp_path: Path) -> None:
    vault = vault_of(tmp_path, ToyModel(default=""), "Fever say: red leaf .", agreeing=12)
    asked = Consensus(voters=12, epsilon=3.0, delta=1e-6, sentence=False)
    alone = vault.simulate(QUESTION, asked).receipt
    answer = vault.ask(QUESTION, asked, propose=corpus_file(tmp_path, TEXTS))
    assert answer.released == ("red leaf",)
    assert alone is not None
    assert answer.receipt is not None
    assert answer.receipt.epsilon == pytest.approx(alone.epsilon)
    assert "public candidates at" in str(answer.receipt.describe())


def test_kept_no_answer_does_not_stand_in_for_a_question_with_a_corpus(tmp_path: Path) -> None:
    vault = vault_of(tmp_path, ToyModel(default="silence"), "Fever say: red leaf .", agreeing=12)
    corpus, asked = corpus_file(tmp_path, TEXTS), Consensus(voters=12, epsilon=3.0, delta=1e-6, sentence=False)
    vault.history.add(Released(QUESTION, "", "public", "consensus", 0, way=fingerprint(asked)))
    again = vault.ask(QUESTION, asked)
    paid = vault.ask(QUESTION, asked, propose=corpus)
    assert again.receipt is not None
    assert paid.receipt is not None
    assert (again.stopped, again.receipt.payment) == ("public", "nobody")
    assert (paid.released, paid.receipt.payment != "nobody") == (("red leaf",), True)


def test_algorithm_that_hears_none_is_refused(tmp_path: Path) -> None:
    vault = vault_of(tmp_path, ToyModel(), "Fever say: red leaf .", agreeing=12)
    spent = vault.budget().spent
    with pytest.raises(UsageError, match="hears no proposed answers"):
        vault.ask(QUESTION, Consensus(voters=41), propose=corpus_file(tmp_path, TEXTS))
    with pytest.raises(UsageError, match="There is no file"):
        vault.ask(QUESTION, Consensus(), propose=tmp_path / "none.jsonl")
    assert vault.budget().spent == spent
    dealt = MuRAG(all_vote=False, inner=Consensus(voters=41))
    with pytest.raises(UsageError, match="murag hears no proposed answers"):
        vault.ask(QUESTION, dealt, propose=corpus_file(tmp_path, TEXTS))


def test_default_algorithm_hears_a_corpus(tmp_path: Path) -> None:
    made = Vault.create(tmp_path / "vault", epsilon=8, delta=1e-6, embedder="hashing")
    made.add_documents(Document(f"d{n}", f"p{n}", "Fever say: red leaf .") for n in range(20))
    made.add_documents(Document(f"o{n}", f"q{n}", f"Fever say: herb{n} .") for n in range(20))
    vault, corpus = Vault.open(made.path, model=ToyModel(default="nobody knows")), corpus_file(tmp_path, TEXTS)
    alone, heard = MuRAGAda(uses=6, lowest=-1.0), MuRAGAda(uses=6, lowest=-1.0)
    found = [vault.ask(QUESTION, heard, anew=True, reuse=False, propose=corpus) for _ in range(2)]
    assert all("red leaf" in answer.released for answer in found)  # another proposal may be released by chance, too
    assert "public candidates from" in str(found[0].receipt and found[0].receipt.describe())
    assert found[0].support is not None
    assert vault.price(QUESTION, alone) == vault.price(QUESTION, propose_answers(heard, ("red leaf",)))
    vault.ask(QUESTION, propose=corpus)  # by the default algorithm


def test_command_line_names_a_corpus(tmp_path: Path) -> None:
    made = Vault.create(tmp_path / "vault", epsilon=20, delta=1e-5, embedder="hashing", payment="corpus")
    made.add_documents([Document("d", "p", "Fever.")])
    corpus = corpus_file(tmp_path, TEXTS)
    both = CliRunner().invoke(app, ["ask", str(made.path), QUESTION, "--propose", str(corpus), "--corpus", str(corpus)])
    assert both.exit_code != 0
    assert "--propose" in both.output
