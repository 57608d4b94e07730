"""Whole answers: each row of a batch is continued by its own best tokens, in a public number of steps.

`consensus`, `dp-ksa`, readings and facts need no more of a model. So an engine that makes whole answers only, such as a
server, needs the method `answers` and the tokenizer (`AnsweringModel`), and no steps. A model with steps has the loop
below as the body of its `answers`.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np

from discreet.errors import UsageError
from discreet.models.prompts import Layout
from discreet.models.protocol import (
    Decoding,
    Logits,
    Prompt,
    ScoredDecoding,
    ScoringModel,
    TokenizingModel,
    Tokens,
    VotingModel,
)


@dataclass(frozen=True)
class Written:
    """The answer of one row.

    Attributes:
        text: its text, without the end token.
        tokens: its tokens, without the end token.
        ended: whether the model ended it. A longer answer is cut at the public number of tokens.
    """

    text: str = field(repr=False)
    tokens: tuple[int, ...] = field(repr=False)
    ended: bool


@runtime_checkable
class AnsweringModel(TokenizingModel, Protocol):
    """A language model that writes whole answers.

    The row contract holds for `answers`: answer i is a function of prompt i alone.
    """

    def answers(
        self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int, *, all_steps: bool = True
    ) -> list[Written]:
        """Continue each prompt greedily by its own best tokens, up to its end token.

        Args:
            shared: public tokens before each prompt.
            prompts: prompts of one length.
            max_tokens: the most tokens of an answer: public.
            all_steps: whether `max_tokens` steps are computed also if all rows end earlier. The number of steps is
                public then. Without them, the time tells the longest answer of all rows.
        """


def write_answers(
    model: VotingModel, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int, *, all_steps: bool = True
) -> list[Written]:
    """Return the answer of each row: by the model's own `answers`, or step by step if it has none."""
    write: Callable[..., list[Written]] = getattr(model, "answers", None) or partial(answer_by_steps, model)
    return write(shared, prompts, max_tokens, all_steps=all_steps)


def answer_by_steps(
    model: VotingModel, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int, *, all_steps: bool = True
) -> list[Written]:
    """Return the answer of each row, computed token by token: the body of `answers` of a model with steps."""
    decoding = model.start(shared, prompts, max_tokens)
    rows = decode_rows(decoding, decoding.best(), max_tokens, model.end_tokens, all_steps=all_steps)
    return [Written(decode_or_empty(model, tokens), tuple(tokens), ended) for tokens, ended in rows]


def decode_or_empty(model: VotingModel, tokens: Sequence[int]) -> str:
    """Return the text of private tokens, or an empty text if the tokenizer fails: an error would show."""
    try:
        return model.decode(tokens)
    except Exception:
        return ""


class WholeAnswers:
    """The method `start` of a model that makes whole answers only: it replays them token by token.

    A subclass has the other methods of an `AnsweringModel`. With `start` it has the interface of a `VotingModel`, so
    algorithms that need whole answers only can use it as one. Its rows cannot vote on tokens.
    """

    end_tokens: frozenset[int]

    def answers(
        self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int, *, all_steps: bool = True
    ) -> list[Written]:
        """Return the answer of each row; a subclass computes them."""
        raise NotImplementedError

    def start(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> "ReplayDecoding":
        """Compute all answers in one call, and begin to replay them."""
        written = self.answers(shared, prompts, max_tokens)
        return ReplayDecoding([answer.tokens for answer in written], max_tokens, min(self.end_tokens))


class ReplayDecoding:
    """Rows that repeat their answers token by token."""

    def __init__(self, answers: Sequence[Sequence[int]], max_tokens: int, end: int) -> None:
        self._answers = [tuple(tokens[:max_tokens]) for tokens in answers]
        self._end, self._replayed = end, 0

    def best(self) -> Tokens:
        """Return the next token of each row."""
        at = self._replayed
        return np.array([own[at] if at < len(own) else self._end for own in self._answers], dtype=np.int64)

    def append(self, token: int) -> None:
        """Continue the only row with its own next token.

        Raises:
            UsageError: if there are several rows. Whether they agree is private, so the error does not depend on it.
        """
        if len(self._answers) > 1:
            raise UsageError(
                "This model completes whole texts; its rows cannot vote on single tokens. Use the algorithm "
                "'consensus', or a model of the transformers library."
            )
        self._replayed += 1

    def append_each(self, tokens: Sequence[int]) -> None:
        """Continue each row with its own next token."""
        self._replayed += 1

    def truncate(self, length: int) -> None:
        """Go back to the first `length` replayed tokens."""
        self._replayed = min(length, self._replayed)


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
    ((written, _),) = decode_rows(decoding, decoding.best(), max_tokens, model.end_tokens, all_steps=False)
    return model.decode(written)


def decode_rows(
    decoding: Decoding, best: Tokens, steps: int, end_tokens: frozenset[int], *, all_steps: bool
) -> list[tuple[list[int], bool]]:
    """Return the tokens of each row up to its end token, and whether it reached one.

    Args:
        decoding: the batch, which continues from its current step.
        best: the best next tokens.
        steps: the most tokens of a row.
        end_tokens: tokens that end a text.
        all_steps: whether to compute all steps after every row has ended, so that the time does not depend on the rows.
    """
    written: list[list[int]] = [[] for _ in best]
    ended = [False] * len(written)
    for step in range(steps):
        for row, token in enumerate(best.tolist()):
            ended[row] = ended[row] or token in end_tokens
            if not ended[row]:
                written[row].append(token)
        if step == steps - 1 or (all(ended) and not all_steps):
            break
        decoding.append_each(best.tolist())
        best = decoding.best()
    return list(zip(written, ended, strict=True))


# --- texts from the public model --------------------------------------------------------------------------------------

# The randomness is derived from the name of each text, so equal names give equal texts. It protects no data, and must
# not be used for draws from private values; `privacy.noise` is for these.


_BLOCK = 32


def sample_texts(
    model: ScoringModel,
    laid_out: Layout,
    prompts: Sequence[tuple[str, str]],
    *,
    tokens: int,
    temperature: float,
    on_progress: Callable[[int], None] = lambda _: None,
) -> list[str]:
    """Sample a text for each prompt.

    Args:
        model: the public model.
        laid_out: the layout of all prompts.
        prompts: the name of each text, and the text of its prompt.
        tokens: the most tokens of a text.
        temperature: above 0; a larger one gives more varied texts.
        on_progress: called with the number of finished texts.

    Returns:
        one-line texts in the order of the prompts; a text is empty if the model ended at once.
    """
    texts: list[str] = []
    for first in range(0, len(prompts), _BLOCK):
        block = prompts[first : first + _BLOCK]
        decoding = model.start(laid_out.shared, [laid_out.prompt(model.encode(said)) for _, said in block], tokens)
        written = _sample_rows(model, decoding, [name for name, _ in block], tokens, temperature)
        texts += [" ".join(model.decode(text).split()) for text in written]
        on_progress(len(texts))
    return texts


def _sample_rows(
    model: ScoringModel, decoding: ScoredDecoding, names: Sequence[str], tokens: int, temperature: float
) -> list[list[int]]:
    """Return the tokens of each row up to its end token."""
    written: list[list[int]] = [[] for _ in names]
    ended = [False] * len(names)
    for step in range(tokens):
        chosen = [
            _token(logits, temperature, _uniform(f"{name} {step}"))
            for logits, name in zip(decoding.logits(), names, strict=True)
        ]
        for row, token in enumerate(chosen):
            ended[row] = ended[row] or token in model.end_tokens
            if not ended[row]:
                written[row].append(token)
        if all(ended) or step == tokens - 1:
            break
        decoding.append_each(chosen)
    return written


def _token(logits: Logits, temperature: float, place: float) -> int:
    """Return the token at a quantile in [0, 1) of the model's distribution."""
    moved = (logits - logits.max()).astype(np.float64) / temperature
    reached = np.cumsum(np.exp(moved))
    return min(int(np.searchsorted(reached, place * reached[-1], side="right")), len(reached) - 1)


def _uniform(name: str) -> float:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest()) / 2**64
