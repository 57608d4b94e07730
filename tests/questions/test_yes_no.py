"""Yes/no questions become choices."""

from pathlib import Path

import pytest

from discreet.models.toy import ToyModel
from discreet.questions.sentences import CHOICES, searched, with_choices
from discreet.registry import Consensus, DPSparseVoteRAG, MuRAGAda
from discreet.store.documents import Document
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


def answers(vault: Vault, question: str) -> set[str | None]:
    """The answers to one question, asked six times: the right one is missing with probability 1e-6 at most.

    "Not said" has 0.99 where no unit votes (`ChoiceRelease`). An answer that all 60 units give had 0.9 in 600 draws:
    in the other cases too few units were counted.
    """
    asked = MuRAGAda(inner=Consensus(voters=40, max_tokens=4), epsilon=20)
    return {vault.ask(question, asked, anew=True, reuse=False).answer for _ in range(6)}


def test_answer_without_documents_is_not_said(tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=500, delta=1e-6, embedder="hashing")
    vault.add_documents([])
    vault = Vault.open(vault.path, model=ToyModel(default="yes"))
    vault.add_documents(Document(f"o{n}", f"o{n}", "The weather is fine.") for n in range(60))
    assert "not said" in answers(vault, ASKED)
    vault.add_documents(Document(f"d{n}", f"p{n}", "treat numb thumbs, used: say: tea .") for n in range(60))
    assert "no" in answers(vault, ASKED)
    assert "yes" in answers(vault, "Is tea used to treat numb thumbs?")


@pytest.mark.parametrize(
    ("question", "choices", "compared"),
    [
        (ASKED, CHOICES, "What is the treatment for numb thumbs?"),
        (ASKED, (), ASKED),
        ("Do numb thumbs cause fever?", CHOICES, "Do numb thumbs cause fever?"),
        ("What helps against numb thumbs?", (), "What helps against numb thumbs?"),
        (
            "Are numb thumbs treated with Tea or with warm oil?",
            ("tea", "warm oil"),
            "Are numb thumbs treated with or with ?",
        ),
        ("Is it tea or oil?", ("copper", "tin"), "Is it tea or oil?"),
        ("What helps?", ("tea",), "What helps?"),
        ("Tea or oil?", ("tea", "oil"), "Tea or oil?"),
    ],
)
def test_documents_about_the_subject_are_searched(question: str, choices: tuple[str, ...], compared: str) -> None:
    assert searched(question, choices) == compared


def test_documents_about_a_choice_alone_do_not_vote(tmp_path: Path) -> None:
    """Most documents are about copper and another disease. They are nearer to the question than those that decide."""
    vault = Vault.create(tmp_path / "v", epsilon=500, delta=1e-6, embedder="hashing")
    vault = Vault.open(vault.path, model=ToyModel(default="yes"))
    others = (Document(f"o{n}", f"o{n}", "Copper is used to treat red ears: copper, copper.") for n in range(200))
    about = (Document(f"d{n}", f"p{n}", "treatment for numb thumbs: say: tea .") for n in range(60))
    vault.add_documents([*others, *about])
    assert "no" in answers(vault, ASKED)
