"""Yes/no questions become choices."""

from pathlib import Path

from discreet.generation.toy import ToyModel
from discreet.query.yes_no import CHOICES, with_choices
from discreet.registry import Consensus, DPSparseVoteRAG, MuRAGAda
from discreet.retrieval.documents import Document
from discreet.vault import Vault

ASKED = "Is copper used to treat numb thumbs?"


def test_what_can_choose_gets_the_three_choices() -> None:
    ada = with_choices(MuRAGAda(), ASKED)
    assert isinstance(ada, MuRAGAda)
    assert isinstance(ada.inner, Consensus)
    assert (ada.inner.choices, ada.inner.unsaid) == (CHOICES, "not said")
    assert ada.inner.grounded
    assert ada.inner.asked(ASKED) == "What is the treatment for numb thumbs?"
    for other in (Consensus(choices=("a", "b")), Consensus(prefix="So"), DPSparseVoteRAG()):
        assert with_choices(other, ASKED) is other
    assert with_choices(Consensus(), "What is used to treat numb thumbs?") == Consensus()


def test_answer_without_documents_is_not_said(tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=50, delta=1e-6, embedder="hashing")
    vault.add_documents([])
    vault = Vault.open(vault.path, model=ToyModel(default="yes"))
    vault.add_documents(Document(f"o{n}", f"o{n}", "The weather is fine.") for n in range(60))
    asked = MuRAGAda(inner=Consensus(voters=40, max_tokens=4), epsilon=20)
    assert vault.ask(ASKED, asked).answer == "not said"
    vault.add_documents(Document(f"d{n}", f"p{n}", "treat numb thumbs, used: say: tea .") for n in range(60))
    assert vault.ask(ASKED, asked, anew=True, reuse=False).answer == "no"
    assert vault.ask("Is tea used to treat numb thumbs?", asked, anew=True, reuse=False).answer == "yes"


def test_a_model_that_says_yes_to_all_does_not_decide(tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=50, delta=1e-6, embedder="hashing")
    vault = Vault.open(vault.path, model=ToyModel(default="yes"))
    vault.add_documents(Document(f"d{n}", f"p{n}", "Numb thumbs are treated with tea.") for n in range(60))
    asked = MuRAGAda(inner=Consensus(voters=40, max_tokens=4), epsilon=20)
    for question in (ASKED, "Do numb thumbs cause fever?", "Are numb thumbs dangerous?"):
        assert vault.ask(question, asked).answer == "not said"
