import pytest

from discreet.algorithms.text.normalize import shared_words

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


def test_run_does_not_join_two_records() -> None:
    records = ("It was copper.", "Bracelets helped.")
    assert shared_words("copper bracelets", records, "What is worn?") == "copper"
    assert shared_words("copper bracelets", (), "What is worn?") == ""
