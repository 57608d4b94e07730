from collections.abc import Sequence

import pytest

from discreet.generation.toy import ToyModel
from discreet.server.keeper.condensing import MOST_PROMPT, condense, parse_question
from discreet.server.wire import Turn

LAST = Turn("user", "say: What is it? .")


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
        ("...", ""),
        ("x" * 501, ""),
    ],
)
def test_question_is_the_first_line_without_a_label(written: str, question: str) -> None:
    assert parse_question(written, complete=True) == question


def test_question_without_an_end_is_none() -> None:
    assert parse_question("What helps against", complete=False) == ""
    assert parse_question("What helps?\nAnd then what", complete=False) == "What helps?"


class Reader(ToyModel):
    """A model that notes its prompts."""

    def __init__(self, context: int = 4096) -> None:
        super().__init__(size=5000)
        self.context_length, self.read = context, list[str]()

    def start(self, shared: Sequence[int], prompts: Sequence[object], max_tokens: int) -> object:  # type: ignore[override]
        self.read += [self.decode(prompt.tokens) for prompt in prompts]  # type: ignore[attr-defined]
        return super().start(shared, prompts, max_tokens)  # type: ignore[arg-type]


def test_oldest_messages_are_left_out_first() -> None:
    model = Reader()
    old, new = Turn("user", "old " * MOST_PROMPT), Turn("assistant", "A warm bath")
    assert condense(model, (old, new, LAST)) == "What is it?"
    assert model.read == [" Assistant: A warm bath Last question: say: What is it? ."]


def test_question_is_none_without_room_for_two_messages() -> None:
    assert condense(Reader(), (LAST,)) == ""
    assert condense(Reader(), ()) == ""
    assert condense(Reader(context=70), (Turn("user", "What is a thumb?"), LAST)) == ""
