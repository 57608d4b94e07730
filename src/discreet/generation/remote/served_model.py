"""A model that several askers share, and its replies to them: whole batches of token ids, so that answers are exact.

The calls and their replies are plain data. A socket carries them as JSON (`server.model_worker`), and a Ray cluster
unchanged (`generation.ray_backend.shared_model`). `worker_model.WorkerModel` is the other side of both.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from discreet.generation.capabilities import find_assumptions
from discreet.generation.model import Decoding, Prompt, VotingModel
from discreet.generation.probing import probe
from discreet.generation.wrapping import TokenizingInTurns

MOST_TOKENS = 4096
"""The longest answer."""
MOST_ROWS = 1024
"""The most rows of a question."""
DESCRIBE, ENCODE, DECODE, CHAT, ANSWERS = "/model", "/encode", "/decode", "/chat", "/answers"
"""The calls."""
ABOUT = frozenset(
    {
        *("name", "vocabulary_size", "context_length", "end_tokens"),
        *("pad_token", "row_independent", "assumptions", "digest"),
    }
)
"""The keys of a description."""


class Refusal(Exception):  # noqa: N818
    """A call that cannot be answered; the message has nothing of it."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class ServedModel(TokenizingInTurns):
    """A model that several askers share; one thread at a time uses its tokenizer.

    Attributes:
        digest: the digest of what it computes for public rows.
    """

    def __init__(self, model: VotingModel) -> None:
        """Compute public rows for the digest."""
        super().__init__(model)
        self.digest = probe(model)

    def start(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> Decoding:
        """Delegate to the model."""
        return self._model.start(shared, prompts, max_tokens)

    def reply(self, call: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the reply to a call.

        Args:
            call: one of the calls above. Only `ANSWERS` computes the model, so the caller lets it wait for its turn.
            given: what is asked.

        Raises:
            Refusal: if the model cannot read the rows, or if there is no such call.
        """
        calls: dict[str, Callable[[], dict[str, Any]]] = {
            DESCRIBE: self.describe,
            ENCODE: lambda: {"tokens": [self._encoded_or_none(text) for text in given["texts"]]},
            DECODE: lambda: {"text": self.decode(given["tokens"])},
            CHAT: lambda: dict(zip(("before", "after"), self.chat(given["system"], given["examples"]), strict=True)),
            ANSWERS: lambda: self._answered(**given),
        }
        if call not in calls:
            raise Refusal("There is no such call.", 404)
        return calls[call]()

    def describe(self) -> dict[str, Any]:
        """Return what an asker must know of the model."""
        return {
            "name": self.name,
            "vocabulary_size": self.vocabulary_size,
            "context_length": self.context_length,
            "end_tokens": sorted(self.end_tokens),
            "pad_token": self.pad_token,
            "row_independent": self.row_independent,
            "assumptions": find_assumptions(self._model),
            "digest": self.digest,
        }

    def check_rows(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> None:
        """Refuse rows that the model cannot read.

        Raises:
            Refusal: if there is no row, if rows have different lengths, or if they are too long.
        """
        lengths = {len(prompt.tokens) for prompt in prompts}
        if not all(0 <= prompt.padding <= len(prompt.tokens) for prompt in prompts) or len(prompts) > MOST_ROWS:
            raise Refusal(f"The padding of a row is in the row, and there are at most {MOST_ROWS} rows.")
        if len(lengths) != 1 or not 1 <= max_tokens <= MOST_TOKENS:
            raise Refusal(f"Rows have one length, and at most {MOST_TOKENS} tokens are written.")
        if len(shared) + max(lengths) + max_tokens > self.context_length:
            raise Refusal(f"The rows do not fit into the model's context of {self.context_length} tokens.")
        tokens = {*shared, *(token for prompt in prompts for token in prompt.tokens)}
        if not all(0 <= token < self.vocabulary_size for token in tokens):
            raise Refusal("A token is not in the model's vocabulary.")

    def _answered(
        self, shared: Sequence[int], prompts: Sequence[tuple[int, Sequence[int]]], max_tokens: int, all_steps: bool
    ) -> dict[str, Any]:
        rows = [Prompt(tuple(tokens), padding) for padding, tokens in prompts]
        self.check_rows(shared, rows, max_tokens)
        written = self.answers(shared, rows, max_tokens, all_steps=all_steps)
        answers = [{"text": one.text, "tokens": list(one.tokens), "ended": one.ended} for one in written]
        return {"answers": answers, "digest": self.digest}

    def _encoded_or_none(self, text: str) -> list[int] | None:
        """Return the tokens of a text; None if the tokenizer fails with it, as the asker's own would."""
        try:
            return self.encode(text)
        except Exception:
            return None
