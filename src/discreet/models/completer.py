"""Models that make whole completions, behind the interface of a `VotingModel`; and a base for models that wrap one.

The adapter of a `Completer` fetches the completions of a batch in one call (`answers`). Its tokens are blocks of bytes.
A Python function is such a model, and so is the model of an algorithm that asks none: it completes nothing.
"""

import re
from collections.abc import Callable, Sequence
from threading import Lock

from discreet.errors import DiscreetError, UsageError
from discreet.models.answers import GreedyCompletion, WholeAnswers, Written
from discreet.models.prompts import render_plain_chat
from discreet.models.protocol import Completer, Prompt, VotingModel

# --- the adapter ------------------------------------------------------------------------------------------------------

# The adapter fetches the completions of a batch in one call (`answers`). Its tokens are blocks of at most seven bytes
# of UTF-8, so they carry no state and need no vocabulary: a block and its token id determine each other. A token is
# about as long as one of a usual tokenizer.


_END, _PAD = 0, 1
_BYTES = 7
_PIECE = re.compile(rb"\s?\S{1,%d}|\s" % (_BYTES - 1))
CONTEXT = 8192
"""The assumed context length, in tokens, of a completer that declares none."""


class TextTokens:
    """A tokenizer that needs no vocabulary: blocks of bytes."""

    vocabulary_size = 1 << (8 * _BYTES + 1)
    end_tokens = frozenset({_END})
    pad_token = _PAD

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text: pieces of words."""
        return [_token(piece) for piece in _PIECE.findall(text.encode(errors="replace"))]

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of tokens; a character that is cut in two is left out."""
        return b"".join(_piece(token) for token in tokens).decode(errors="ignore")

    def chat(self, system: str, examples: Sequence[tuple[str, str]]) -> tuple[list[int], list[int]]:
        """Return instructions and examples as plain text."""
        before, after = render_plain_chat(system, examples)
        return self.encode(before), self.encode(after)

    def written(self, completion: str, max_tokens: int, *, ended: bool | None = None) -> Written:
        """Return a completion as an answer, cut to `max_tokens` tokens: to as many bytes as these hold.

        Args:
            completion: the text.
            max_tokens: the most tokens of the answer.
            ended: whether the model ended it; whether it is shorter than that if None.
        """
        blocks = _blocks(completion)
        kept = tuple(blocks[:max_tokens])
        return Written(self.decode(kept), kept, len(blocks) < max_tokens if ended is None else ended)


class CompleterAdapter(TextTokens, WholeAnswers):
    """A voting model over a completer. Rows can be continued by their own tokens only.

    Attributes:
        name, row_independent: those of the completer.
    """

    def __init__(self, completer: Completer) -> None:
        self._completer = completer
        self.name, self.row_independent = completer.name, completer.row_independent
        self.context_length = int(getattr(completer, "context_length", CONTEXT))

    def complete(self, prompts: Sequence[str], max_tokens: int) -> list[str]:
        """Complete each prompt by the completer."""
        return self._completer.complete(prompts, max_tokens)

    def answers(
        self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int, *, all_steps: bool = True
    ) -> list[Written]:
        """Complete all prompts in one call. How many steps the completer computes is its own affair.

        Raises:
            UsageError: if the completer returns another number of completions.
        """
        texts = [self.decode([*shared, *prompt.tokens[prompt.padding :]]) for prompt in prompts]
        completions = self._completer.complete(texts, max_tokens)
        if len(completions) != len(texts):
            raise UsageError(
                f"The model '{self.name}' returned {len(completions)} completions for {len(texts)} prompts. "
                "Its `complete` must return one for each prompt."
            )
        return [self.written(text, max_tokens) for text in completions]


def adapt_completer(model: Completer) -> VotingModel:
    """Return the model, or an adapter if it is a plain completer."""
    return model if isinstance(model, VotingModel) else CompleterAdapter(model)


def _token(piece: bytes) -> int:
    return int.from_bytes(b"\x01" + piece)  # the first byte keeps zeros at the beginning of the piece


def _piece(token: int) -> bytes:
    return int(token).to_bytes(_BYTES + 1).lstrip(b"\x00")[1:] if token > _PAD else b""


def _blocks(text: str) -> list[int]:
    """Return the tokens of a completion: as few as possible, so that `max_tokens` tokens hold all of it."""
    encoded = text.encode(errors="replace")
    return [_token(encoded[first : first + _BYTES]) for first in range(0, len(encoded), _BYTES)]


# --- a Python function ------------------------------------------------------------------------------------------------


class FunctionModel:
    """A `Completer` whose completions come from a Python function, such as a client of an inference server.

    The function sees the text of documents, so the server must be the custodian's own. How long the function takes may
    depend on the text.

    Args:
        function: takes a prompt and the most tokens of a completion; returns the completion.
        name: the name of the model.
        row_independent: whether a completion depends on its prompt alone, bit for bit. A server that batches requests
            usually does not promise this.
        context_length: the longest prompt with its completion, in tokens.
    """

    def __init__(
        self,
        function: Callable[[str, int], str],
        *,
        name: str = "function",
        row_independent: bool = False,
        context_length: int = CONTEXT,
    ) -> None:
        self._function = function
        self.name, self.row_independent, self.context_length = name, row_independent, context_length

    def complete(self, prompts: Sequence[str], max_tokens: int) -> list[str]:
        """Complete each prompt by one call; a private prompt that fails yields an empty text.

        Raises:
            DiscreetError: if the function fails for the last prompt, which is public.
        """
        return [
            *(self._complete_private(prompt, max_tokens) for prompt in prompts[:-1]),
            *(self._complete_public(prompt, max_tokens) for prompt in prompts[-1:]),
        ]

    def _complete_private(self, prompt: str, max_tokens: int) -> str:
        try:
            return str(self._function(prompt, max_tokens))
        except Exception:
            # An error would tell something about the document in the prompt.
            return ""

    def _complete_public(self, prompt: str, max_tokens: int) -> str:
        try:
            return str(self._function(prompt, max_tokens))
        except Exception as error:
            reason = type(error).__name__
        # Raised outside of the handler: the function's own error may hold other prompts.
        raise DiscreetError(f"The model '{self.name}' failed on the public prompt ({reason}). Check its server.")


# --- no model ---------------------------------------------------------------------------------------------------------


class NoModel:
    """A `Completer` that refuses to complete."""

    name, row_independent, context_length = "none", True, CONTEXT

    def complete(self, prompts: Sequence[str], max_tokens: int) -> list[str]:
        """Refuse.

        Raises:
            DiscreetError: always.
        """
        raise DiscreetError("An algorithm that declares `needs_model = False` asked a model. Correct its declaration.")


NO_MODEL = adapt_completer(NoModel())
"""The only instance that is needed."""


# --- models that wrap another one -------------------------------------------------------------------------------------


class WrappedModel(GreedyCompletion):
    """A `VotingModel` without `start`, which a subclass adds; the rest is delegated to the wrapped model."""

    def __init__(self, model: VotingModel) -> None:
        self._model = model
        self.name, self.context_length, self.vocabulary_size = model.name, model.context_length, model.vocabulary_size
        self.row_independent = model.row_independent
        self.end_tokens, self.pad_token = model.end_tokens, model.pad_token

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text, by the wrapped model."""
        return self._model.encode(text)

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of token ids, by the wrapped model."""
        return self._model.decode(tokens)

    def chat(self, system: str, examples: Sequence[tuple[str, str]]) -> tuple[list[int], list[int]]:
        """Return the chat template, by the wrapped model."""
        return self._model.chat(system, examples)


class TokenizingInTurns(WrappedModel):
    """A wrapped model whose tokenizer one thread at a time uses.

    A call of a tokenizer sets switches of the tokenizer. With calls of several threads at once, a control token in a
    document could take effect, or a document could be dropped, by chance.
    """

    def __init__(self, model: VotingModel) -> None:
        super().__init__(model)
        self._tokenizing = Lock()

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text, one thread at a time."""
        with self._tokenizing:
            return super().encode(text)

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of token ids, one thread at a time."""
        with self._tokenizing:
            return super().decode(tokens)

    def chat(self, system: str, examples: Sequence[tuple[str, str]]) -> tuple[list[int], list[int]]:
        """Return the chat template, one thread at a time."""
        with self._tokenizing:
            return super().chat(system, examples)
