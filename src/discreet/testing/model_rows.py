"""Public rows for the suite of language models, and what a model computes for them, in bytes."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from discreet.generation.answers import AnsweringModel
from discreet.generation.capabilities import Capability, capabilities
from discreet.generation.model import ContextModel, Decoding, Prompt, VotingModel

R = TypeVar("R")
Begin = Callable[[Sequence[Prompt]], Decoding]
PROMPTS = (
    "Ada Lind has numb thumbs. The doctors of the town say: warm sand and rest for three days",
    "The price of copper rose in the spring, and then it",
    "One, two, three, four,",
    "Question: Which colour has snow? Answer:",
)
"""Texts to complete."""
TEXTS = ("red house", "numb thumbs say: warm sand and rest", "three winters", "open the hand of rain")
"""Texts of rows, of different lengths."""
OTHERS = ("", "a", "one two three four five six seven", "No")
"""Neighbours of rows: as many as `PROMPTS` and `TEXTS`."""
STEPS = 4
_LENGTH = 12


def get_shared(model: VotingModel | AnsweringModel) -> list[int]:
    """Return the tokens before each row."""
    return model.encode("Text:") or [model.pad_token]


def get_appended(model: VotingModel) -> list[int]:
    """Return three tokens to continue rows by."""
    return [model.encode(word)[0] for word in ("sand", "and", "winter")]


def lay_out(model: VotingModel | AnsweringModel, texts: Sequence[str]) -> list[Prompt]:
    """Return prompts of one length."""
    rows = [tuple(model.encode(text)[:_LENGTH]) for text in texts]
    paddings = [_LENGTH - len(row) for row in rows]
    return [Prompt((model.pad_token,) * pad + row, pad) for row, pad in zip(rows, paddings, strict=True)]


def find_starts(model: VotingModel) -> list[Begin]:
    """Return the ways in which a model begins a batch: with a shared part, without one, and with states."""
    starts: list[Begin] = [
        lambda prompts: model.start(get_shared(model), prompts, STEPS),
        lambda prompts: model.start((), prompts, STEPS),
    ]
    if Capability.STATES in capabilities(model):
        assert isinstance(model, ContextModel)
        starts.append(partial(model.start_with_states, max_tokens=STEPS))
    return starts


def read_rows(decoding: Decoding) -> list[bytes]:
    """Return all outputs of each row."""
    outputs: list[Any] = [decoding.best()]
    outputs += [getattr(decoding, output)() for output in ("logits", "states") if hasattr(decoding, output)]
    return [b"".join(output[row].tobytes() for output in outputs) for row in range(len(outputs[0]))]


def follow(decoding: Decoding, tokens: Sequence[int]) -> list[list[bytes]]:
    """Continue all rows by tokens; return the outputs after each token."""
    outputs = []
    for token in tokens:
        decoding.append(token)
        outputs.append(read_rows(decoding))
    return outputs


def is_independent(read: Callable[[Sequence[str]], Sequence[R]], texts: Sequence[str]) -> bool:
    """Return whether the outputs of texts stay the same in another order, and beside other texts.

    The number of rows is public, so it stays the same.
    """
    expected = list(read(texts))
    if list(read(texts[::-1]))[::-1] != expected:
        return False
    for row, text in enumerate(texts):
        batch = list(OTHERS[: len(texts)])
        batch[row] = text
        if read(batch)[row] != expected[row]:
            return False
    return True
