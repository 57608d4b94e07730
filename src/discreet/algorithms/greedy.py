"""Greedy decoding of a single prompt, for the baselines without votes."""

from collections.abc import Sequence

from discreet.algorithms.answer import Draft, Stopped
from discreet.generation.model import LanguageModel, Prompt


def write(model: LanguageModel, shared: Sequence[int], prompt: Prompt, prefix: str, max_tokens: int) -> Draft:
    """Continue `shared` and `prompt` with their best tokens."""
    decoding = model.start(shared, [prompt], max_tokens)
    answer: list[int] = []
    stopped: Stopped = "length"
    for _ in range(max_tokens):
        token = int(decoding.best()[0])
        if token in model.end_tokens:
            stopped = "end"
            break
        answer.append(token)
        decoding.append(token)
    return Draft(prefix + model.decode(answer), stopped, len(answer))
