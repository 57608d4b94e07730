"""Who is tried, and in which copy."""

from itertools import pairwise

import pytest

from discreet.errors import BadData
from discreet.retrieval.documents import Document
from discreet.vault import Vault
from discreet_lab.attacks.attack import Attack
from discreet_lab.attacks.membership import Suspect
from discreet_lab.attacks.simulation import documents_of
from discreet_lab.attacks.trial import choose_people

LONG = "one two three four five six seven eight nine"


def add(vault: Vault, people: int) -> None:
    documents = [Document(f"{n}-{m}", f"person {n}", f"{LONG} {n} {m}") for n in range(people) for m in range(2)]
    vault.add_documents([*documents, Document("short", "taciturn", "Too short.")])


def test_everybody_is_in_one_copy_and_out_of_the_other(vault: Vault) -> None:
    add(vault, 30)
    trial = choose_people(vault, Attack(targets=("rag",), members=20), documents_of(vault), [])
    tried = {suspect.id for suspect in trial.suspects}
    assert len(tried) == len(trial.suspects) == 20
    assert "taciturn" not in tried
    one, other = trial.without
    assert one | other == tried
    assert not one & other
    assert 0 < len(one) < 20
    for suspect, inside in zip(trial.suspects, trial.inside, strict=True):
        assert inside == [suspect.id in other, suspect.id in one]


def test_coins_fall_for_each_by_themselves(vault: Vault) -> None:
    """In exact halves somebody else would be in where one person is out."""
    add(vault, 8)
    documents = documents_of(vault)
    sizes, together = set(), 0
    for seed in range(200):
        trial = choose_people(vault, Attack(targets=("rag",), members=8, seed=seed), documents, [])
        sizes.add(len(trial.without[0]))
        together += sum(a == b for a, b in pairwise(trial.inside))
    assert sizes >= {1, 2, 3, 4, 5, 6, 7}
    assert together / (200 * 7) == pytest.approx(0.5, abs=0.06)


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
