"""Who is tried, and in which copy."""

import pytest

from discreet.errors import BadData
from discreet.store.documents import Document
from discreet.vault import Vault
from discreet_lab.attacks.attack import Attack, choose_people
from discreet_lab.attacks.membership import Suspect
from discreet_lab.attacks.simulation import documents_of

LONG = "one two three four five six seven eight nine"


def add(vault: Vault, people: int) -> None:
    documents = [Document(f"{n}-{m}", f"person {n}", f"{LONG} {n} {m}") for n in range(people) for m in range(2)]
    vault.add_documents([*documents, Document("short", "taciturn", "Too short.")])


def test_two_people_are_enough_and_one_is_not(vault: Vault) -> None:
    add(vault, 1)
    with pytest.raises(BadData, match="at least 2"):
        choose_people(vault, Attack(targets=("rag",)), documents_of(vault), [])
    add(vault, 2)
    assert len(choose_people(vault, Attack(targets=("rag",)), documents_of(vault), []).suspects) == 2
    with pytest.raises(BadData, match="1 people to try outside it, in the file"):
        choose_people(vault, Attack(targets=("rag",), suspects=(Suspect("z", False, LONG),)), documents_of(vault), [])


def test_what_a_trial_is_about_is_not_shown(vault: Vault) -> None:
    add(vault, 4)
    trial = choose_people(vault, Attack(targets=("rag",)), documents_of(vault), [])
    assert "person" not in repr(trial)
