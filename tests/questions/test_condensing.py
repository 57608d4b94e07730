from collections.abc import Sequence

import pytest

from discreet.models.protocol import Prompt
from discreet.models.toy import ToyDecoding, ToyModel
from discreet.questions.follow_ups import MOST_PROMPT, condense, keeps, parse_question

LAST = ("user", "say: And say what? .")


@pytest.mark.parametrize(
    ("written", "question"),
    [
        (" What helps against Brindle Ear?", "What helps against Brindle Ear?"),
        ("Last question: What  helps?\nUser: And then?", "What helps?"),
        ('Question: "What helps?"', "What helps?"),
        ("Name one symptom of Brindle Ear.", "Name one symptom of Brindle Ear."),
        ("", ""),
        (" \n ", ""),
        ("Question:", ""),
        ("The answer is:", ""),
        ("...", ""),
        ("x" * 501, ""),
    ],
)
def test_question_is_the_first_line_without_a_label(written: str, question: str) -> None:
    assert parse_question(written, complete=True) == question


def test_question_without_an_end_is_none() -> None:
    assert parse_question("What helps against", complete=False) == ""
    assert parse_question("What helps?\nAnd then what", complete=False) == "What helps?"


@pytest.mark.parametrize(
    ("question", "last", "kept"),
    [
        ("What helps children against asthma?", "And for children?", True),
        ("What helps against asthma?", "And for children?", False),
        ("When is the signing of the contract?", "When was it signed?", False),
        ("When was the contract signed?", "When was it signed?", True),
        ("Which remedy helps adults?", "And then?", False),  # a message before it, again
    ],
)
def test_rewritten_question_keeps_the_words_of_the_last(question: str, last: str, kept: bool) -> None:
    assert keeps(question, (("user", "Which remedy helps adults"), ("user", last))) == kept


class Reader(ToyModel):
    """A model that notes its prompts."""

    def __init__(self, context: int = 4096) -> None:
        super().__init__(size=5000)
        self.context_length, self.read = context, list[str]()

    def start(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> ToyDecoding:
        self.read += [self.decode(prompt.tokens) for prompt in prompts]
        return super().start(shared, prompts, max_tokens)


def test_oldest_messages_are_left_out_first() -> None:
    model = Reader()
    old, new = ("user", "old " * MOST_PROMPT), ("assistant", "A warm bath")
    assert condense(model, (old, new, LAST)) == "And say what?"
    assert model.read == [" Assistant: A warm bath Last question: say: And say what? ."]


def test_question_is_none_without_room_for_two_messages() -> None:
    assert condense(Reader(), (LAST,)) == ""
    assert condense(Reader(), ()) == ""
    assert condense(Reader(context=70), (("user", "What is a thumb?"), LAST)) == ""
