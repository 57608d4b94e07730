"""Greedy completion of texts, and whole answers, by a model that works on tokens."""

from collections.abc import Sequence
from typing import Any

from discreet.generation.answers import Written, answer_by_steps
from discreet.generation.model import Prompt, VotingModel


def complete_greedily(model: VotingModel, prompts: Sequence[str], max_tokens: int) -> list[str]:
    """Complete each prompt in a batch of its own, so that a completion depends on its prompt alone.

    A prompt before the last one that cannot be completed yields an empty text: it is private, and so is its error.
    """
    return [
        *(_complete_private(model, prompt, max_tokens) for prompt in prompts[:-1]),
        *(_complete(model, prompt, max_tokens) for prompt in prompts[-1:]),
    ]


class GreedyCompletion:
    """The methods `complete` and `answers`, for classes that have the other methods of a `VotingModel`."""

    def complete(self: Any, prompts: Sequence[str], max_tokens: int) -> list[str]:
        """Complete each prompt greedily."""
        return complete_greedily(self, prompts, max_tokens)

    def answers(
        self: Any, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int, *, all_steps: bool = True
    ) -> list[Written]:
        """Continue each row by its own best tokens, step by step."""
        return answer_by_steps(self, shared, prompts, max_tokens, all_steps=all_steps)


def _complete_private(model: VotingModel, prompt: str, max_tokens: int) -> str:
    try:
        return _complete(model, prompt, max_tokens)
    except Exception:
        # The error would depend on the document in the prompt.
        return ""


def _complete(model: VotingModel, prompt: str, max_tokens: int) -> str:
    tokens = model.encode(prompt) or [model.pad_token]
    decoding = model.start((), [Prompt(tuple(tokens), 0)], max_tokens)
    written: list[int] = []
    for step in range(max_tokens):
        token = int(decoding.best()[0])
        if token in model.end_tokens:
            break
        written.append(token)
        if step < max_tokens - 1:
            decoding.append(token)
    return model.decode(written)
