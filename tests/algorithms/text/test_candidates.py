"""Public candidates: their forms, and the one that an answer names."""

from discreet.algorithms.text.normalize import candidates_of, canonical, named_candidate

QUESTION = "What is the treatment for a dry cough?"


def forms(*proposed: str, most: int = 20) -> tuple[str, ...]:
    return candidates_of(proposed, lambda text: canonical(text, QUESTION), QUESTION, most)


def test_words_of_the_question_are_no_candidate() -> None:
    assert forms("dry cough", "warm oil for a dry cough") == ("warm oil for a dry cough",)


def test_answer_counts_for_the_candidate_that_it_names() -> None:
    known = ("warm oil", "syrup")
    assert named_candidate("syrup", "Syrup.", known, QUESTION) == "syrup"
    assert named_candidate("warm oil twice", "Warm oil twice.", known, QUESTION) == "warm oil"
    assert named_candidate("rest", "Rest.", known, QUESTION) == "rest"
    assert named_candidate("warm oil twice", "Warm oil twice.", (), QUESTION) == "warm oil twice"
    assert named_candidate("", "", known, QUESTION) == ""


def test_answer_that_nearly_spells_a_candidate_counts_for_it() -> None:
    known = ("zlorgs wobbly toe syndrome", "zlorgs fever")
    assert named_candidate("zlorgs wobble toe syndrome", "Zlorgs Wobble Toe Syndrome", known, QUESTION) == known[0]
    assert named_candidate("zlorgs treatment", "Zlorgs treatment", known, QUESTION) == "zlorgs treatment"
