"""Other words for a thing: a question in words asks for all of them, and a phrase in quotes for itself."""

from dataclasses import replace
from pathlib import Path

import pytest

from discreet.config import read_config
from discreet.errors import CannotAnswer, UsageError
from discreet.questions.request import parse_request
from discreet.questions.vocabulary import parse_synonyms, widen
from discreet.store.documents import Document
from discreet.vault import Vault
from discreet.vault.vault import change_settings
from tests.questions.routers import router_of

WORDS = """
# of the clinic
hypertension = HTN = high blood pressure = Bluthochdruck@de
fever = Fieber@de
"""
ALL = '"hypertension" or "HTN" or "high blood pressure" or "Bluthochdruck"@de'
OF_BLOOD = '"high blood pressure" or "hypertension" or "HTN" or "Bluthochdruck"@de'


@pytest.mark.parametrize(
    ("question", "request_"),
    [
        ("How many patients have hypertension?", f"count: {ALL}"),
        ("How many patients have HTN?", f'count: "HTN" or {ALL.replace(" or " + chr(34) + "HTN" + chr(34), "")}'),
        ("How many patients have hypertension but no fever?", f'count: ({ALL}) and not ("fever" or "Fieber"@de)'),
        ("What share of patients with hypertension have a rash?", f'share: "rash", among {ALL}'),
        ("How many patients have asthma or hypertension?", f'count: "asthma" or {ALL}'),
        ("How many more patients have fever than rash?", 'difference: "fever" or "Fieber"@de versus "rash"'),
        ("Wie viele Patienten haben Fieber?", 'count: "Fieber"@de or "fever"'),
        ("How many have either fever or high blood pressure?", f'count: "fever" or "Fieber"@de or {OF_BLOOD}'),
        ('How many patients have "HTN"?', 'count: "HTN"'),
        ("How many patients have severe hypertension?", 'count: "severe hypertension"'),
    ],
)
def test_question_in_words_asks_for_all_words_for_a_thing(question: str, request_: str) -> None:
    router = router_of({})
    router = replace(router, settings=replace(router.settings, synonyms=parse_synonyms(WORDS)))
    assert str(router.understand(question)) == request_


def test_words_of_a_kind_of_a_thing_are_asked_for() -> None:
    """A text that says "dry cough" is counted for "cough", so its other words are; "cough syrup" is no kind of it."""
    words = "cough = Husten@de\ndry cough = Reizhusten@de = tickle\ncough syrup = linctus\ndizzy = giddy"
    router = router_of({})
    router = replace(router, settings=replace(router.settings, synonyms=parse_synonyms(words)))
    asked = {said: str(router.understand(f"How many patients have {said}?")) for said in ("cough", "tickle")}
    assert asked["cough"] == 'count: "cough" or "Husten"@de or "Reizhusten"@de or "tickle"'
    assert asked["tickle"] == 'count: "tickle" or "dry cough" or "Reizhusten"@de'
    many = {"cough": ["Husten@de"]} | {f"cough{n} cough": [f"other{n}"] for n in range(60)}
    assert str(widen(parse_request('count: "cough"'), many)) == 'count: "cough" or "Husten"@de'


def test_misspelled_synonym_is_asked_back() -> None:
    router = router_of({})
    router = replace(router, settings=replace(router.settings, synonyms=parse_synonyms("winterhand = coldhand")))
    for typed in ("wintrhand", "winterhend"):
        with pytest.raises(CannotAnswer, match=f"'winterhand' in place of '{typed}'"):
            router.understand(f"How many patients have {typed}?")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("fever", "Line 1 has 1 words for a thing: 'fever'"),
        ("fever = pyrexia\npyrexia = high temperature", "stands in line 1 and in line 2"),
        ("fever = the", "no word with a meaning"),
        ("afebrile = no fever", "which denies"),
        ("a = " + " = ".join(f"thing{number}" for number in range(30)), "Line 1 has 31 words"),
    ],
)
def test_list_of_synonyms_with_an_error_is_refused_with_its_line(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parse_synonyms(text)


def test_vault_keeps_synonyms_and_counts_each_unit_once(tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "vault", epsilon=20, delta=1e-6, unit_field="patient", embedder="hashing")
    texts = ("Hypertension. HTN, stable.", "HTN known.", "Bluthochdruck.", "Kein Bluthochdruck.", "No HTN.", "A rash.")
    vault.add_documents(Document(f"{text} {place}", f"{text} {place}", text) for text in texts for place in range(100))
    change_settings(tmp_path / "vault", {}, synonyms=parse_synonyms(WORDS))
    assert read_config(tmp_path / "vault").synonyms["fever"] == ["Fieber@de"]
    answer = Vault.open(tmp_path / "vault").ask("How many patients have hypertension?")
    assert answer.table[0].value == pytest.approx(300, abs=40)


@pytest.mark.parametrize(
    ("synonyms", "request_", "quoted", "made"),
    [
        ({"hypertension": ["HTN"]}, 'count: "no hypertension"', (), 'count: "no hypertension"'),
        (
            {"hypertension": ["HTN"]},
            'share: "hypertension crisis", among "hypertension"',
            ("hypertension crisis",),
            'share: "hypertension crisis", among "hypertension" or "HTN"',
        ),
    ],
)
def test_denial_and_whole_quotes_are_not_widened(
    synonyms: dict[str, list[str]], request_: str, quoted: tuple[str, ...], made: str
) -> None:
    assert str(widen(parse_request(request_), synonyms, quoted)) == made


def test_too_many_synonyms_and_groups_that_are_one_are_refused() -> None:
    many = {thing: [f"{thing} word {number}" for number in range(18)] for thing in ("fever", "cough", "rash", "gout")}
    with pytest.raises(CannotAnswer, match="Put phrases in quotes"):
        widen(parse_request('count: "fever" or "cough" or "rash" or "gout"'), many)
    with pytest.raises(CannotAnswer, match="one thing"):
        widen(parse_request('difference: "hypertension" versus "HTN"'), {"hypertension": ["HTN"]})
