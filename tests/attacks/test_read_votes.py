"""Attacks on votes by what was read: copies are read as the vault was, and a broken release is seen through."""

from dataclasses import replace

import pytest

from discreet.errors import UsageError
from discreet.models.toy import ToyModel
from discreet.privacy.noise import InsecureSeededNoise
from discreet.registry import MuRAGAda
from discreet.store.documents import Document
from discreet.vault import Vault
from discreet_lab.attacks import report
from discreet_lab.attacks.attack import Attack
from discreet_lab.attacks.simulation import Canary
from discreet_lab.attacks.suite import run_attack
from discreet_lab.attacks.targets import AS_ASKED
from discreet_lab.attacks.verdict import exceeded
from discreet_lab.evaluation.experiment import as_asked
from discreet_lab.experiments.attacks import EveryVote, every_vote

PEOPLE = 12


def note(number: int) -> Document:
    known = " ".join(f"k{number}{letter}" for letter in "abcdef")
    return Document(f"n{number}", f"person {number}", f"{known} say: treatment is sand{number} .")


def planted(number: int, *, really: bool) -> Canary:
    secret = chr(ord("A") + number) * 6 + "77"
    document = Document(f"c{number}", f"holder{number}", f"holder{number} say: treatment is {secret} .")
    return Canary(document, (secret,), (f"What is the treatment of holder{number}?",), really)


ATTACK = Attack(
    targets=("murag-ada",),
    members=8,
    questions=1,
    form="What is the treatment? {}",
    canaries=tuple(planted(number, really=number % 2 == 0) for number in range(6)),
    prompts=(),
    options={"readings": True},
    twins={"broken": every_vote(readings=True)},
)


@pytest.fixture
def notes(vault: Vault) -> Vault:
    # All words are known from the start: a model that learns new ones would be another model at the next reading.
    texts = [*(note(number).text for number in (*range(PEOPLE), 99)), *(one.document.text for one in ATTACK.canaries)]
    words = sorted({word for text in texts for word in text.split()})
    vault = Vault.open(vault.path, model=ToyModel(words, default="is", size=len(words) + 1))
    vault.add_documents(note(number) for number in range(PEOPLE))
    return vault


def test_unread_vault_is_refused(notes: Vault) -> None:
    with pytest.raises(UsageError, match="discreet code --statements"):
        run_attack(notes, replace(ATTACK, twins={}))


def test_broken_release_is_seen_and_the_sound_one_is_not(notes: Vault) -> None:
    notes.read()
    steps: list[str] = []
    findings = run_attack(notes, ATTACK, lambda step, *_: steps.append(step))
    sound, broken = findings.results
    assert "reading" in steps
    assert sound.target.label == "murag-ada, epsilon 10 (by what was read)"
    assert broken.target.label == "broken, epsilon 10 (by what was read)"
    assert broken.one["bleu"].auc.value == 1
    assert broken.canaries.whole.count == broken.canaries.whole.of == 3
    assert sound.canaries.whole.count == broken.canaries.control.count == 0
    assert sound.one["bleu"].auc.value < 0.8
    assert broken.target.price(1) == sound.target.price(1)
    assert exceeded(findings.compared) == []  # epsilon 10 allows nearly all of it
    cheap = replace(broken, target=replace(broken.target, epsilon=0.1))
    assert exceeded(replace(findings, results=[cheap]).compared) == ["broken, epsilon 0.1 (by what was read)"]
    assert report.shown(findings).targets[0].private_answers == sound.private


def test_broken_release_says_how_many_gave_the_first_vote() -> None:
    """A curve releases no count, so a twin of it that only named the votes would not show one person among many."""
    found = EveryVote(None).draw([("a",), "b", ("a",), None, "a"], InsecureSeededNoise(0))
    assert found is not None
    assert (found.answer, found.count) == ("a; b", 3)
    assert EveryVote(None).draw([None, ()], InsecureSeededNoise(0)) is None


def test_question_decides_by_what_it_is_answered(notes: Vault) -> None:
    """As `discreet ask` does: a question that names no attribute is answered by the model."""
    notes.read()
    asked_for = replace(ATTACK, options={}, as_asked=True, twins={}, canaries=ATTACK.canaries[:2], form="{}")
    (found,) = run_attack(notes, asked_for).results
    assert found.target.label == f"murag-ada, epsilon 10 ({AS_ASKED})"
    by_readings = run_attack(notes, replace(asked_for, options={"readings": True})).results[0]
    assert found.target.price(1) == by_readings.target.price(1)
    choose = as_asked(notes)
    assert choose(MuRAGAda(), "What is the treatment of A?").spec.needs_readings
    assert not choose(MuRAGAda(), "k1a k1b k1c").spec.needs_readings


@pytest.mark.parametrize("form", ["What?", "{} {}", "{} {0}", "}{}"])
def test_bad_form_is_refused(form: str) -> None:
    with pytest.raises(UsageError, match="form"):
        replace(ATTACK, form=form)
