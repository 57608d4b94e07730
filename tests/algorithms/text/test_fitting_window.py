"""The window of a record that fits a question: a function of both, and of nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.algorithms.text.fitting_window import fitting_window, last_fitting
from discreet.errors import UsageError
from discreet.generation.toy import ToyModel
from discreet.generation.voters import VoterBatch
from discreet.privacy.partition import REPLACE_ONE
from discreet.privacy.private import Private, unseal
from discreet.registry import Consensus

QUESTION = "What is the treatment for Winter Hand?"
FILLER = "Nothing else was found . "
RECORD = FILLER * 8 + "Winter Hand calls for a treatment : ginger gloves . " + FILLER * 8
MODEL = ToyModel([*RECORD.split(), *QUESTION.split()])


def window(text: str, tokens: int) -> str:
    return MODEL.decode(list(fitting_window(MODEL.encode, QUESTION, text, tokens)))


def test_window_holds_the_words_of_the_question_and_what_follows() -> None:
    assert "ginger gloves" in window(RECORD, 12)
    assert len(fitting_window(MODEL.encode, QUESTION, RECORD, 12)) == 12


def test_short_text_is_read_whole() -> None:
    assert list(fitting_window(MODEL.encode, QUESTION, "ginger gloves", 12)) == MODEL.encode("ginger gloves")


def test_end_is_read_where_no_word_fits() -> None:
    text = FILLER * 9 + "ginger gloves"
    assert window(text, 6).split()[-2:] == ["ginger", "gloves"]


@given(st.lists(st.frozensets(st.sampled_from("abc"), max_size=3), min_size=1, max_size=12), st.integers(1, 12))
def test_last_window_with_nearly_the_most_words(found: list[frozenset[str]], length: int) -> None:
    length = min(length, len(found))
    fits = [len(frozenset().union(*found[start : start + length])) for start in range(len(found) - length + 1)]
    start = last_fitting(found, length)
    assert 5 * fits[start] >= 4 * max(fits)
    assert all(5 * fit < 4 * max(fits) for fit in fits[start + 1 :])


@given(st.text(max_size=200), st.integers(1, 40))
def test_any_text_has_a_window_of_at_most_so_many_tokens(text: str, tokens: int) -> None:
    assert len(fitting_window(MODEL.encode, QUESTION, text, tokens)) <= tokens


def test_window_of_a_voter_does_not_depend_on_other_voters() -> None:
    """Sensitivity is as before: replacing one record changes the row of its own voter alone."""

    def rows(texts: list[str]) -> list[str]:
        algorithm = Consensus(passage_tokens=12, max_tokens=4)
        shares: Private[tuple[str, ...]] = Private([(text,) for text in texts], REPLACE_ONE)
        voters = VoterBatch(
            ToyModel(RECORD.split(), default="treatment"),
            QUESTION,
            shares,
            max_tokens=4,
            document_tokens=12,
            read=algorithm.reader(QUESTION, MODEL),
        )
        return unseal(voters.answers()[0], list)

    texts = [RECORD, FILLER + "say: gloves . " + FILLER * 9, FILLER * 3]
    before = rows(texts)
    for place in range(3):
        after = rows([RECORD * 2 if row == place else text for row, text in enumerate(texts)])
        assert [one for row, one in enumerate(after) if row != place] == [
            one for row, one in enumerate(before) if row != place
        ]


def weighted_by_all(texts: list[str], tokens: int) -> list[list[int]]:
    """A broken twin: the words of the question that fewest records have lead each window."""
    asked = {"winter", "treatment"}
    counts = {word: sum(word in text.lower() for text in texts) for word in asked}
    rare = min(sorted(asked), key=lambda word: counts[word] or len(texts))
    return [list(fitting_window(MODEL.encode, rare, text, tokens)) for text in texts]


def test_twin_with_weights_of_all_records_moves_windows_of_others() -> None:
    own = FILLER * 3 + "Winter " + FILLER * 5 + "treatment " + FILLER * 5
    others = [FILLER + "treatment", FILLER]
    joined = weighted_by_all([own, *others, "Winter", "Winter Hand"], 6)[0]
    assert joined != weighted_by_all([own, *others, FILLER, "Hand"], 6)[0]


def test_wrong_parameters_are_refused() -> None:
    with pytest.raises(UsageError, match="Try 64"):
        Consensus(passage_tokens=-1)
    with pytest.raises(UsageError, match="Leave out one"):
        Consensus(passage_tokens=64, document_tokens=100)
    assert Consensus(passage_tokens=64).text_tokens == 64
    assert Consensus(document_tokens=100).text_tokens == 100
    assert Consensus().text_tokens == 160
