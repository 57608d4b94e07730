"""The window of a record that fits a question: it depends on the question and on this one record."""

from collections.abc import Callable, Sequence
from itertools import product

import pytest

from discreet.algorithms.consensus import PassageConfig
from discreet.algorithms.text.normalize import keywords
from discreet.algorithms.text.writing import fitting_window
from discreet.errors import UsageError
from discreet.models.toy import ToyModel
from discreet.privacy.partition import REPLACE_ONE
from discreet.privacy.private import Private, unseal
from discreet.registry import Consensus
from discreet.store.documents import Passage

QUESTION = "What helps against numb thumbs?"
Windows = Callable[[Sequence[str]], list[str]]


def window(text: str, question: str = QUESTION, tokens: int = 4) -> str:
    model = ToyModel(size=100_000)
    return model.decode(fitting_window(model.encode, question, text, tokens)).strip()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("cold tea", "cold tea"),  # all of a short record
        ("a b numb thumbs c d e f g", "numb thumbs c d"),  # what follows the words of the question
        ("numb thumbs x y z numb thumb cold tea w v", "numb thumb cold tea"),  # the last of several
        ("numb thumbs a b c d e numb f g h", "numb thumbs a b"),  # both words, and not one
        ("a b c d e f g h", "e f g h"),  # the end, if nothing fits
        ("a b c d e f numb thumbs", "e f numb thumbs"),
        (" \n ", ""),
        ("", ""),
    ],
)
def test_window_begins_at_words_of_the_question(text: str, found: str) -> None:
    assert window(text) == found


def own_windows(texts: Sequence[str]) -> list[str]:
    return [window(text) for text in texts]


def windows_by_rarity(texts: Sequence[str]) -> list[str]:
    """The broken twin: only the rarest word of the question among the records that were found counts."""
    asked = keywords(QUESTION)
    number = {word: sum(word in keywords(text) for text in texts) for word in sorted(asked)}
    rarest = min((word for word in number if number[word]), key=lambda word: number[word], default="")
    return [window(text, rarest) for text in texts]


def others_moved(windows: Windows) -> bool:
    """Whether the exchange of one of three records moves the window of another one."""
    kinds = ("numb a b c d e thumbs f g h", "thumbs a b c d e", "numb a b c d e", "helps a numb thumbs b c d e")
    for texts in product(kinds, repeat=3):
        before = windows(texts)
        for place, other in product(range(3), kinds):
            after = windows([other if row == place else text for row, text in enumerate(texts)])
            if any(after[row] != before[row] for row in range(3) if row != place):
                return True
    return False


def test_no_record_moves_the_window_of_another_and_the_twin_is_caught() -> None:
    assert not others_moved(own_windows)
    assert others_moved(windows_by_rarity)


def answers(texts: Sequence[str], consensus: PassageConfig) -> list[str]:
    rows: Private[tuple[Passage, ...]] = Private(
        [(Passage(f"u{row}", text),) for row, text in enumerate(texts)], REPLACE_ONE
    )
    return unseal(consensus.start_voters(QUESTION, rows, ToyModel(size=100_000)).answers()[0], list)


def test_voters_read_the_window_and_each_answer_depends_on_its_own_record() -> None:
    long, other = f"{'word ' * 200} numb thumbs say: tea .", f"{'thumbs ' * 300} say: ice ."
    assert answers([long, "say: salt ."], Consensus()) == [" nothing known", " salt"]
    windowed = Consensus(passage_tokens=8)
    assert answers([long, "say: salt ."], windowed) == [" tea", " salt"]
    assert answers([long, other], windowed)[0] == " tea"


@pytest.mark.parametrize(("given_tokens", "document_tokens"), [(-1, 0), (64, 64)])
def test_lengths_that_contradict_each_other_are_refused(given_tokens: int, document_tokens: int) -> None:
    with pytest.raises(UsageError, match="passage_tokens"):
        Consensus(passage_tokens=given_tokens, document_tokens=document_tokens)
