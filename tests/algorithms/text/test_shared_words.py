import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.algorithms.text.normalize import shared_words, words_of

QUESTION = "Who sings the song raindrops keep falling on my head?"
RECORD = "Raindrops Keep Fallin' on My Head was recorded by B. J. Thomas in 1969."


@pytest.mark.parametrize(
    ("answer", "vote"),
    [
        ("The song is B. J. Thomas.", "b j thomas"),
        ("B. J. Thomas", "b j thomas"),
        ("b j thomas recorded it in 1969", "b j thomas"),
        ("In 1969. B. J. Thomas", "1969"),
        ("The song is Bette Midler.", ""),
        ("Raindrops keep falling on my head", ""),
        ("The song is by the", ""),
        ("", ""),
    ],
)
def test_vote_is_the_longest_run_in_the_record(answer: str, vote: str) -> None:
    assert shared_words(answer, (RECORD,), QUESTION) == vote


def test_first_of_equally_long_runs_counts() -> None:
    record = "Copper bracelets, then cold tea."
    assert shared_words("cold tea and copper bracelets", (record,), "What helps?") == "cold tea"


def test_run_does_not_join_two_records() -> None:
    records = ("It was copper.", "Bracelets helped.")
    assert shared_words("copper bracelets", records, "What is worn?") == "copper"
    assert shared_words("copper bracelets", (), "What is worn?") == ""


WORDS = st.lists(st.sampled_from("copper bracelets cold tea the of fever what".split()), max_size=12).map(" ".join)


@given(WORDS, st.lists(WORDS, max_size=3), WORDS)
def test_vote_is_a_longest_run_of_both(answer: str, texts: list[str], question: str) -> None:
    vote = shared_words(answer, texts, question).split()
    said, records = words_of(answer), [words_of(text) for text in texts]

    def holds(words: list[str], part: list[str]) -> bool:
        return any(words[start : start + len(part)] == part for start in range(len(words) - len(part) + 1))

    assert not vote or (holds(said, vote) and any(holds(record, vote) for record in records))
    inner = {word for word in said if word not in {*words_of(question), "the", "of", "what"}}
    # One word that both have, and that is no word of the question, is enough for a vote.
    assert bool(vote) == any(word in record for word in inner for record in records)
    assert not vote or {vote[0], vote[-1]} <= inner
    parts = (said[start:end] for start in range(len(said)) for end in range(start + 1, len(said) + 1))
    ends_well = (part for part in parts if {part[0], part[-1]} <= inner)
    assert len(vote) == max((len(part) for part in ends_well if any(holds(r, part) for r in records)), default=0)


@given(st.text(), st.lists(st.text(), max_size=2), st.text())
def test_any_text_has_a_vote_or_none(answer: str, texts: list[str], question: str) -> None:
    assert set(shared_words(answer, texts, question).split()) <= set(words_of(answer))


def test_record_that_repeats_a_word_takes_no_longer() -> None:
    """Else one record could slow an answer down, and the time would show it: by hours here, if places were compared."""
    record, answer = "word " * 1_000_000, "word " * 64
    assert shared_words(answer, (record,), "What?") == " ".join(["word"] * 64)
