"""Questions of each kind; a good one that looks like a bad one is a fact."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import CannotAnswer
from discreet.questions.languages import is_foreign
from discreet.query.question_kinds import NAMES, check_answerable, recognise
from discreet.query.subject import names_nothing

EXAMPLES = {
    "fact": [
        "What is the treatment for Snurflaxitis?",
        "Name one symptom of Zonkitis.",
        "I am experiencing severe itching, skin lesions. What is the disease?",
        "Is Snurflaxitis treated with Blerpox or with Flarglepox?",
        "Can you tell me what helps against numb thumbs?",
        "Hi doctor, I have this infection on my finger. What could it be?",
        "Which disease is treated with Flarglepox Discombobulation?",
        "What causes itchy ears?",
        "What helps against numb thumbs?",
        "How often should Zibber Drops be taken?",
        "How many times a day is Blerpox taken?",
        "How many weeks does the treatment of Zonkitis last?",
        "What is Crohn's disease?",
        "Who wrote the song rainy days and mondays?",
        "who gets the golden boot if its a tie?",
        "when did they stop making the nissan xterra?",
        "who spoke the words ich bin ein berliner?",
        "Where is it that the review takes place?",
        "And what is the treatment for Zonkitis?",
        "Zonkitis treatment",
        "A patient has severe itching and skin lesions. What should the doctor prescribe?",
        "What does Dr Keller prescribe against Zonkitis?",
        "A viewer loves Seven and Mrs. Doubtfire. Which other film do such viewers love?",
        "Which diagnosis does the Mumpelflex rash belong to?",
        "What series does the second book belong to?",
        "Can you help me with my numb thumb?",
        "What do patients take against Zonkitis?",
        "What are patients with Zonkitis given?",
        "Name one symptom that patients with Zonkitis have.",
        "What is the typical treatment of patients with Zonkitis?",
        "What do most patients with Zonkitis get?",
        "What do viewers of it see in most cases?",
        "How often should Blerpox be taken?",
        "Do we have a treatment for Zonkitis, and what is it?",
        "What helps with chest pain at rest?",
        "What is given at most twice?",
        "What is the heart rate of patients with Zonkitis?",
        "What is the drug that helps against Zonkitis?",
        "Which disease is it that causes itching?",
        "What is Zonkitis and its treatment?",
        "What are the opening hours?",
        "Count Dracula was played by which actor?",
        "Do not repeat the question.",
        "What are the treatments for Snurflaxitis?",
        "Why?",
        "What is it?",
        "What areas of Africa were involved in colonization?",
    ],
    "superlative": [
        "who has trained the most melbourne cup winners?",
        "What is the most common treatment of patients with Zonkitis?",
        "What is the main problem?",
        "Which is the worst symptom of Zonkitis?",
        "What treats Zonkitis best?",
        "What is the highest dose of Blerpox?",
        "Is Blerpox the best treatment for Zonkitis?",
        "What do patients with Zonkitis mostly get?",
        "Which treatment helps fastest against Zonkitis?",
    ],
    "two-things": [
        "What causes Zonkitis and how is it treated?",
        "What is the treatment for Zonkitis? What are its side effects?",
        "Is Blerpox used to treat Zonkitis, and what does it cost?",
    ],
    "yes-no": [
        "Is Flarglepox Discombobulation used to treat Snurflaxitis?",
        "Does Zonkitis cause severe itching?",
        "Isn't Zonkitis contagious in winter?",
        "Is there a cure for Zonkitis?",
        "I have severe itching. Should I be worried about Zonkitis?",
        "Please, can Zonkitis come back after the treatment?",
    ],
    "count": [
        "How many patients have Zonkitis?",
        "How many of my patients have Zonkitis?",
        "Can you tell me how many people got Blerpox?",
        "What share of the patients has a fever?",
        "What percentage of all notes mentions Zonkitis?",
        "How often is Zonkitis diagnosed?",
        "How common is Zonkitis?",
        "What is the average age of patients with Zonkitis?",
        "Count the patients with Zonkitis.",
    ],
    "comparison": [
        "Are there more patients with Zonkitis than we thought?",
        "Do more patients have Zonkitis than expected?",
        "Do we have fewer cases of Zonkitis than usual?",
    ],
    "list": [
        "List the symptoms of Zonkitis.",
        "Name all symptoms of Zonkitis.",
        "Name three symptoms of Zonkitis.",
        "Which symptoms are there?",
        "Which symptoms does Zonkitis have?",
        "What are the symptoms of Zonkitis?",
        "What are some treatments for Zonkitis?",
        "Name the symptoms of Zonkitis.",
        "Please give me a list of diseases.",
    ],
    "follow-up": [
        "And which symptoms does that disease have?",
        "What about Zonkitis?",
        "How is it treated?",
        "What is its treatment?",
        "Which drug helps against this disease?",
        "And in winter?",
        "Why not?",
        "Tell me more.",
    ],
    "summary": [
        "Summarise what the notes say about Flibberflamius Extremus.",
        "Give me an overview of Zonkitis.",
        "What do the notes say about Zonkitis?",
        "Tell me everything about Zonkitis.",
        "Do you have information about Hurricanes",
        "What are the main topics of the notes?",
    ],
    "other-language": [
        "Welche Behandlung gibt es bei Snurflaxitis?",
        "Wie viele Patienten haben Zonkitis?",
        "Quel est le traitement de la Snurflaxitis ?",
        "¿Cuál es el tratamiento de Zonkitis?",
        "Qual è la cura per Zonkitis?",
        "Wat is de behandeling van Zonkitis?",
        "Zonkitis hastalığının tedavisi nedir?",
        "Как лечат зонкит?",
        "ザンキ炎の治療法は何ですか",
    ],
    "nothing-named": ["Hello", "help", "What can I ask?", "What is in these documents?", "Who are you?"],
    "person": [
        "Which of my patients have been treated by Dr Keller?",
        "Which patient has Zonkitis?",
        "Does Mrs Adler have Zonkitis?",
        "What is Mrs Adler's diagnosis?",
        "List the patients with Zonkitis.",
        "Who among my patients has a fever?",
        "Who suffers from Zonkitis?",
        "Who has Zonkitis?",
        "What is the name of the patient with Zonkitis?",
        "Whats the name of a patient who has Zonkitis",
        "Tell me the names of patients who have Zonkitis.",
        "What does patient no. 4711 suffer from?",
        "How old is the oldest patient?",
        "What is the age of the youngest woman?",
    ],
}


@pytest.mark.parametrize(("name", "question"), [(name, one) for name, some in EXAMPLES.items() for one in some])
def test_the_kind_is_recognised(name: str, question: str) -> None:
    found = recognise(question)
    assert found.name == name
    assert bool(found.advice) == (name not in ("fact", "yes-no"))


def test_a_name_that_no_patient_has_is_a_fact() -> None:
    assert recognise("What is the name of the patient portal?").name == "fact"


@pytest.mark.parametrize("question", ["How many are there like this?", "How many have this?", "How many are there?"])
def test_number_of_nothing_named_is_refused(question: str) -> None:
    assert recognise(question).name == "count"


@pytest.mark.parametrize("question", ["How many are in the band?", "How many were there at the Alamo?"])
def test_a_number_that_a_document_states_is_a_fact(question: str) -> None:
    assert recognise(question).name == "fact"


SPELLED = {"another language": "other-language", "nothing named": "nothing-named", "one individual": "person"}
SPELLED |= {"two questions": "two-things", "average": "count"}


def test_each_example_of_the_page_is_of_its_kind() -> None:
    page = (Path(__file__).parents[2] / "docs" / "asking.md").read_text(encoding="utf-8").partition("`--anyway`")[0]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+[.?]) \| .+ \|$", page, re.MULTILINE)
    assert len(rows) == 10
    for kind, examples in rows:
        named = {SPELLED.get(name, name) for name in kind.split(", ")}
        assert {recognise(question.strip(), unit="patient").name for question in examples.split(";")} <= named


@pytest.mark.parametrize(
    "question",
    [
        "What is the average lifespan of a basset hound?",
        "What is the average satisfaction?",
        "What is the mean satisfaction?",
        "What is the share of late payments?",
        "How often is Blerpox taken?",
        "How frequently do attacks come?",
    ],
)
def test_number_that_no_voter_knows_is_a_count(question: str) -> None:
    assert recognise(question).name == "count"


def test_each_kind_has_examples() -> None:
    assert set(EXAMPLES) == set(NAMES)


def test_the_vaults_own_word_for_an_individual_counts() -> None:
    assert recognise("Which borrower defaulted?").name == "fact"
    assert recognise("Which borrower defaulted?", unit="borrower").name == "person"
    assert recognise("How many borrowers defaulted?", unit="borrower").name == "count"
    assert recognise("Which unit is used for pressure?", unit="unit").name == "fact"


def test_a_unit_is_no_pattern() -> None:
    assert recognise("What is the treatment?", unit="(.*").name == "fact"


def test_a_model_of_another_language_is_asked_in_that() -> None:
    german = "Welche Behandlung gibt es bei Snurflaxitis?"
    assert recognise(german, language="de").name != "other-language"
    assert recognise(german, language="").name != "other-language"
    assert recognise("What is the treatment for Zonkitis?", language="de").name == "other-language"
    assert recognise("Как лечат зонкит?", language="ru").name != "other-language"
    assert "English" in recognise(german).advice


@pytest.mark.parametrize(
    "text",
    [
        "",
        "?",
        "Zonkitis",
        "y",
        "La Jolla clinic",
        "San Juan",
        "α-thalassemia gene therapy",
        "PCR 4711",
        "What is déjà vu?",
    ],
)
def test_in_doubt_a_text_is_in_the_language(text: str) -> None:
    assert not is_foreign(text, "en")


def test_a_refusal_says_why_and_what_works() -> None:
    with pytest.raises(CannotAnswer, match=r"--vote-shares.*Nothing was charged.*--anyway") as refused:
        check_answerable("How many patients have Zonkitis?")
    assert refused.value.kind == "count"
    assert refused.value.exit_code == 2


@pytest.mark.parametrize("text", EXAMPLES["nothing-named"])
def test_question_that_names_nothing_is_refused(text: str) -> None:
    """An analyst types such words first, and each would be asked of forty voters at the price of an answer."""
    with pytest.raises(CannotAnswer, match="names nothing that documents could speak of"):
        check_answerable(text)
    check_answerable(text, choices=("itching", "fever"))


@pytest.mark.parametrize(
    "text",
    ["Zonkitis", "What helps?", "?", "Hello, what helps against Zonkitis?", "y", "4711", "Why?", "And in the records?"],
)
def test_word_with_a_meaning_is_asked(text: str) -> None:
    assert not names_nothing(text)


def test_public_choices_allow_a_count_but_not_a_person() -> None:
    check_answerable("Which symptoms are there?", choices=("itching", "fever"))
    with pytest.raises(CannotAnswer):
        check_answerable("Which patient has Zonkitis?", choices=("Ada", "Ivo"))


@given(st.text(), st.text(max_size=20), st.sampled_from(["en", "de", "ru", "", "xx"]))
def test_any_text_has_one_kind(question: str, unit: str, language: str) -> None:
    found = recognise(question, language, unit)
    assert found == recognise(question, language, unit)
    assert found.name in NAMES


@pytest.mark.parametrize("question", ["", " ", "?!", "\x00", "a" * 20_000, "which " * 5_000, "\ud800", "it " * 3_000])
def test_any_text_has_a_kind_at_once(question: str) -> None:
    assert recognise(question).name in NAMES
