"""Greedy decoding of one prompt, or of many unrelated prompts, for baselines without votes."""

from collections.abc import Sequence
from itertools import takewhile

from discreet.algorithms.common.algorithm import GeneratedAnswer, Stopped
from discreet.generation.answers import write_answers
from discreet.generation.model import Prompt, VotingModel
from discreet.generation.torch_backend.length_buckets import length_buckets

_AT_ONCE = 32
"""The number of prompts in a batch."""


def write(model: VotingModel, shared: Sequence[int], prompt: Prompt, prefix: str, max_tokens: int) -> GeneratedAnswer:
    """Continue `shared` and `prompt` greedily, and return the answer."""
    (written,) = write_answers(model, shared, [prompt], max_tokens, all_steps=False)
    stopped: Stopped = "end" if written.ended else "length"
    return GeneratedAnswer(prefix + written.text, stopped, len(written.tokens))


def write_all(
    model: VotingModel, prompts: Sequence[tuple[Sequence[int], Prompt]], max_tokens: int
) -> list[tuple[list[int], bool]]:
    """Continue each pair of a shared part and a prompt greedily.

    Prompts of about the same length share a batch. One prompt affects another one only through rounding of sums.

    Returns:
        for each pair, its tokens, and whether the model ended it.
    """
    whole = [[*shared, *prompt.tokens[prompt.padding :]] for shared, prompt in prompts]
    # The common part ends before the last token of the shortest prompt: each row needs tokens of its own.
    alike = takewhile(lambda tokens: len(set(tokens)) == 1, zip(*(tokens[:-1] for tokens in whole), strict=False))
    common = [tokens[0] for tokens in alike]
    own = [tokens[len(common) :] for tokens in whole]
    written: dict[int, tuple[list[int], bool]] = {}
    for room, rows in length_buckets([len(tokens) for tokens in own], max(map(len, own), default=0), _AT_ONCE):
        batch = [own[row] for row in rows]
        padded = [Prompt((model.pad_token,) * (room - len(t)) + tuple(t), room - len(t)) for t in batch]
        found = write_answers(model, common, padded, max_tokens, all_steps=False)
        written |= {row: (list(one.tokens), one.ended) for row, one in zip(rows, found, strict=True)}
    return [written[row] for row in range(len(own))]
