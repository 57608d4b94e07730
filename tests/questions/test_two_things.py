"""Things that the words of a question join: a condition, or a refusal before a payment."""

import pytest

from discreet.errors import CannotAnswer
from discreet.questions.request import Request
from tests.questions.routers import router_of

ROUTER = router_of()


def understood(question: str) -> Request:
    request = ROUTER.understand(question)
    assert request is not None
    return request


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("How many patients have fever but not chills?", 'count: "fever" and not "chills"'),
        ("How many patients have fever but no chills?", 'count: "fever" and not "chills"'),
        ("How many patients have fever and no chills?", 'count: "fever" and not "chills"'),
        ("How many patients have fever and without chills?", 'count: "fever" and not "chills"'),
        ("How many patients with fever have no chills?", 'count: not "chills", among "fever"'),
        ("What share of patients have fever but not chills?", 'share: "fever" and not "chills"'),
        ("How many patients have neither fever nor chills?", 'count: not ("fever" or "chills")'),
        ("How many patients have no fever or chills?", 'count: not ("fever" or "chills")'),
        ("How many patients have no fever and no chills?", 'count: not "fever" and not "chills"'),
        ("How many patients have fever or no chills?", 'count: "fever" or not "chills"'),
        ("How many patients have fever and cough but not chills?", 'count: "fever" and "cough" and not "chills"'),
        ("How many patients without asthma or eczema have fever?", 'count: "fever", among not ("asthma" or "eczema")'),
        ("How many patients have numb thumbs or a fever?", 'count: "numb thumbs" or "fever"'),
        ("How many patients have fever or Winter Hand?", 'count: "fever" or "Winter Hand"'),
        ("How many patients have asthma, diabetes or gout?", 'count: "asthma" or "diabetes" or "gout"'),
        ("How many patients have Winter Hand or Glass Knee?", 'count: "Winter Hand" or "Glass Knee"'),
        ("How many patients have both fever and chills?", 'count: "fever" and "chills"'),
        ("How many patients have either fever or chills?", 'count: "fever" or "chills"'),
        ("How many patients have numb thumbs and a weak grip?", 'count: "numb thumbs" and "weak grip"'),
        ("How many patients have fever & chills?", 'count: "fever" and "chills"'),
        ("How many patients have HIV+?", 'count: "HIV+"'),
        ("How many patients have hepatitis A?", 'count: "hepatitis A"'),
        ("How many patients are on dialysis?", 'count: "on dialysis"'),
        ("Roughly how many patients on dialysis have fever?", 'count: "fever", among "on dialysis"'),
        ("How many patients had fever after surgery?", 'count: "fever after surgery"'),
        ("How many patients have heart disease?", 'count: "heart disease"'),
        ("What share of patients with fever or chills have a rash?", 'share: "rash", among "fever" or "chills"'),
        ("Wie viele Patienten haben weder Fieber noch Husten?", 'count: not "Fieber"@de and not "Husten"@de'),
        ("Wie viele Patienten haben Fieber, aber keinen Husten?", 'count: "Fieber"@de and not "Husten"@de'),
        ("Wie viele Patienten haben Fieber oder Husten?", 'count: "Fieber"@de or "Husten"@de'),
        ("Wie viele Patienten haben Fieber ohne Husten?", 'count: "Fieber"@de and not "Husten"@de'),
        ("Combien de patients ont de la fi\u00e8vre mais pas de toux ?", 'count: "fi\u00e8vre"@fr and not "toux"@fr'),
        ("Combien de patients ont de la fi\u00e8vre et de la toux ?", 'count: "fi\u00e8vre"@fr and "toux"@fr'),
        ("\u00bfCu\u00e1ntos pacientes no tienen ni fiebre ni tos?", 'count: not "fiebre"@es and not "tos"@es'),
        ("\u00bfCu\u00e1ntos pacientes tienen fiebre pero no tos?", 'count: "fiebre"@es and not "tos"@es'),
    ],
)
def test_things_that_words_join_are_a_condition(question: str, asked: str) -> None:
    assert str(understood(question)) == asked


@pytest.mark.parametrize(
    "question",
    [
        "How many patients have no fever but chills?",
        "How many patients have fever but not chills or cough?",
        "How many patients have left or right knee pain?",
        "How many patients have type 1 or type 2 diabetes?",
        "How many patients have fever/chills?",
        "How many patients deny fever or chills?",
        "How many patients have a loss of taste or smell?",
        "How many patients have any of fever, chills and rash?",
        "How many patients have nothing but fever?",
        "How many patients have breast or ovarian cancer?",
        "How many patients have no breast or no ovarian cancer?",
        "How many patients have no lung and no kidney cancer?",
        "How many patients have factor 5 or 8 deficiency?",
        "How many patients had dose 1 or 2 mg?",
        "How many patients have an arm or a leg injury?",
        "How many patients have knee pain or swelling?",
        "How many patients have hepatitis A or B?",
        "How many patients have hand, foot and mouth disease?",
        "How many patients were treated at Mother and Child Clinic?",
        "How many patients are from Trinidad and Tobago?",
        "How many patients had fever after or during dialysis?",
        "How many patients had fever and chills at the same time?",
        "Wie viele Patienten haben Kopf- oder Bauchschmerzen?",
        "Combien de patients n'ont pas de fi\u00e8vre ni de toux ?",
        "\u00bfCu\u00e1ntos pacientes no tienen fiebre ni tos?",
        "How many patients have fever, chills?",
    ],
)
def test_what_can_be_read_in_two_ways_is_refused(question: str) -> None:
    with pytest.raises(CannotAnswer, match=r"two things|two questions"):
        understood(question)


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("How many patients have migraine without aura?", 'count: "migraine without aura"'),
        ("How many patients with migraine without aura have nausea?", 'count: "nausea", among "migraine without aura"'),
        ("How many lack fever?", 'count: not "fever"'),
    ],
)
def test_one_thing_is_kept(question: str, asked: str) -> None:
    assert str(understood(question)) == asked


@pytest.mark.parametrize(
    ("question", "offered"),
    [
        (
            "How many patients have either migraine or back pain?",
            'count: "migraine" or "back pain", or count: "migraine pain" or "back pain"',
        ),
        (
            "How many patients have breast or ovarian cancer?",
            'count: "breast" or "ovarian cancer", or count: "breast cancer" or "ovarian cancer"',
        ),
        ("How many patients have hepatitis A or B?", 'count: "hepatitis A" or "hepatitis B"'),
        (
            "How many patients have a loss of taste or smell?",
            'count: "loss of taste" or "smell", or count: "loss of taste" or "loss of smell"',
        ),
        ("How many patients have no breast or ovarian cancer?", 'count: "thing A" and not ("thing B" or "thing C")'),
        ("How many patients have fever/chills?", 'count: "fever" or "chills"'),
        (
            "Wie viele Patienten haben Migräne oder starke Schmerzen?",
            'count: "Migräne"@de or "starke Schmerzen"@de, or count: "Migräne Schmerzen"@de or "starke Schmerzen"@de',
        ),
        ("How many patients have fever and cough or chills?", 'count: "thing A" and not ("thing B" or "thing C")'),
    ],
)
def test_refusal_offers_the_request_that_joins_what_was_said(question: str, offered: str) -> None:
    with pytest.raises(CannotAnswer) as refused:
        ROUTER.understand(question)
    assert f"such as {offered}. " in refused.value.advice


WARDS = router_of(
    {"ward": "category(north=north ward, south=south ward)", "sex": "category(w=women, m=men)", "visit": "date"}
)


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("How many patients are there in each ward?", "list: ward"),
        ("How many women by ward in March 2026?", "list: ward, among sex = w and visit = 2026-03"),
        ("How many women are in each ward?", "list: ward, among sex = w"),
        ("In March 2026, how many patients had a fever by ward?", 'compare: "fever", {groups}, among visit = 2026-03'),
        ("How many patients had a fever by ward since 2026?", 'compare: "fever", {groups}, among visit >= 2026'),
    ],
)
def test_groups_are_the_values_of_one_field(question: str, asked: str) -> None:
    request = WARDS.understand(question)
    assert str(request) == asked.format(groups="groups ward = north versus ward = south")


def test_second_field_of_groups_is_refused() -> None:
    with pytest.raises(CannotAnswer, match="Groups are of one field"):
        WARDS.understand("How many patients with asthma by ward and sex?")
