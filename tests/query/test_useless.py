"""Released answers that say nothing."""

import pytest

from discreet.query.recall import useless


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Is Flarglepox used to treat Snurflaxitis?", "No, no."),
        ("Welche Behandlung gibt es bei Snurflaxitis?", "The answer is not snurflaxitis."),
        (
            "Summarise what the notes say about Flibberflamius Extremus.",
            "The notes summarize what the notes say about Flibberflamius Extremus.",
        ),
        ("What is the treatment for Thunder Heart?", "The treatment for Thunder Heart."),
        ("What is the treatment for Thunder Heart?", "The treatment is not mentioned."),
        ("What is the treatment for Thunder Heart?", ""),
        ("In which year was Zonkitis discovered?", "Zonkitis and the treatment should be gloopernackspray"),
        ("Doctor, I have leg cramps or spasms. What could it be?", "No, no."),
    ],
)
def test_what_says_nothing(question: str, answer: str) -> None:
    assert useless(question, answer)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the treatment for Thunder Heart?", "The treatment for Thunder Heart is copper bracelets."),
        ("Is it treated with copper?", "Yes."),
        ("Is it treated with copper?", "No, it is not treated with copper."),
        ("Which is better, copper or tea?", "Tea."),
        ("In which year was Zonkitis discovered?", "1923"),
        ("In which year of school do they learn it?", "The second."),
        ("Which blood group is it, A or B?", "A"),
        ("I could give copper or tea. Which helps?", "Both."),
        ("How many patients have it?", "83"),
        ("Where is it?", "In Orly."),
        ("Was ist es?", "Eine Hand."),
    ],
)
def test_what_says_something(question: str, answer: str) -> None:
    assert not useless(question, answer)
