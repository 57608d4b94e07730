"""Several short questions about one person: plain RAG is seen through, by both ways, and sound votes are not."""

import pytest

from discreet.models.completer import FunctionModel, adapt_completer
from discreet.store.documents import Document
from discreet.vault import Vault
from discreet_lab.attacks.attack import Attack
from discreet_lab.attacks.membership import RIGHT, read_by_rule
from discreet_lab.attacks.questions import WAYS
from discreet_lab.attacks.report import headings, membership_rows
from discreet_lab.attacks.suite import run_attack
from discreet_lab.attacks.targets import DEFAULT

PEOPLE, COLOURS = 24, "amber beige coral denim ebony flax".split()


def note(number: int) -> str:
    """The words of one half stand in no other note; all notes share the other words."""
    own = [f"{colour}{number}" for colour in COLOURS]
    return f"{own[0]} with {own[1]} was {own[2]} where patient{number} had {own[3]} and {own[4]} after {own[5]}"


@pytest.mark.parametrize("way", WAYS)
def test_plain_rag_is_seen_through_and_votes_are_not(vault: Vault, way: str) -> None:
    vault = Vault.open(vault.path, model=adapt_completer(FunctionModel(read_by_rule, row_independent=True)))
    vault.add_documents(Document(f"n{number}", f"person {number}", note(number)) for number in range(PEOPLE))
    options = {"voters": 4, "max_tokens": 8}
    attack = Attack(
        targets=("rag", "consensus", DEFAULT), members=8, questions=3, planted=1, prompts=(), options=options, way=way
    )
    findings = run_attack(vault, attack)
    plain, votes, default = findings.results
    assert plain.many[RIGHT[0]].auc.value > 0.9
    for private in (votes, default):
        assert 0.3 <= private.many[RIGHT[0]].auc.value <= 0.7
    assert headings(findings)[1] == f"one: {RIGHT[0]}"
    assert len(membership_rows(findings)[0]) == len(headings(findings))
    budget = vault.ledger.budget
    assert default.target.price(1) == default.target.price(3) == (budget.epsilon, budget.delta)
