"""Language models of the transformers library, with their tokenizers and chat templates."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from discreet.errors import DiscreetError, UsageError
from discreet.models.answers import GreedyCompletion
from discreet.models.prompts import render_plain_chat
from discreet.models.protocol import Logits, Prompt, ScoredDecoding, States
from discreet.models.row_check import Shape, has_independent_rows
from discreet.numerics import find_context

if TYPE_CHECKING:
    from discreet.models.token_scores import StatefulDecoding


_MARK = (
    "\u241e"  # marks the place of a user's text in a rendered chat template; it is not searched for in a user's text
)


class ChatTokenizer:
    """The methods `encode`, `decode` and `chat` of a model, by a tokenizer of transformers."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def encode(self, text: str) -> list[int]:
        """Return the token ids of plain text. A control token in the text is encoded as plain characters."""
        ids = self._tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        return [int(token) for token in ids]

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of token ids, without control tokens."""
        return str(self._tokenizer.decode(list(tokens), skip_special_tokens=True))

    def chat(self, system: str, examples: Sequence[tuple[str, str]]) -> tuple[list[int], list[int]]:
        """Return the chat template around a user's text; plain text if the model has no template."""
        if not self._tokenizer.chat_template:
            before, after = render_plain_chat(system, examples)
            return self.encode(before), self.encode(after)
        messages = [{"role": "system", "content": system}]
        for question, answered in examples:
            messages += [{"role": "user", "content": question}, {"role": "assistant", "content": answered}]
        messages.append({"role": "user", "content": _MARK})
        try:
            rendered = self._tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        except Exception:  # some templates have no system role
            rendered = self._tokenizer.apply_chat_template(messages[1:], tokenize=False, add_generation_prompt=True)
        before, after = str(rendered).split(_MARK)
        return self._template(before), self._template(after)

    def find_end_tokens(self, config: Any) -> frozenset[int]:
        """Return the end tokens that the tokenizer and a configuration name."""
        named = (self._tokenizer.eos_token_id, getattr(config, "eos_token_id", None))
        ends = {int(token) for ids in named if ids is not None for token in (ids if isinstance(ids, list) else [ids])}
        return frozenset(ends)

    def find_pad_token(self, end_tokens: frozenset[int]) -> int:
        """Return the padding token; an end token if the tokenizer has none."""
        padding = self._tokenizer.pad_token_id
        return int(padding if padding is not None else min(end_tokens))

    def _template(self, text: str) -> list[int]:
        # The template's own control tokens are control tokens.
        return [int(token) for token in self._tokenizer(text, add_special_tokens=False)["input_ids"]]


class Decoder(Protocol):
    """A faster forward pass of one model. It computes the shapes for which it has room, and which pass its check."""

    def has_room(self, shape: Shape) -> bool:
        """Return whether it can compute a batch of this shape."""

    def is_checked(self, shape: Shape) -> bool:
        """Return whether public rows are independent in this shape (`row_check`); check it at its first use."""

    def start(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> ScoredDecoding:
        """Begin a batch of this shape."""


class TransformersModel(ChatTokenizer, GreedyCompletion):
    """A causal language model with its tokenizer, both of transformers.

    Args:
        name: the name of the model.
        model, tokenizer: objects of the transformers library.
        row_independent: whether the row contract is enforced (`discreet.numerics`), as `load_model` does.
        decoder: the faster forward pass of the model, if it has one.
        check_shapes: whether public rows are checked before the first batch of each shape, as on a GPU.
    """

    def __init__(
        self,
        name: str,
        model: Any,
        tokenizer: Any,
        *,
        row_independent: bool = False,
        decoder: Decoder | None = None,
        check_shapes: bool = False,
    ) -> None:
        self.name, self.row_independent, self._decoder = name, row_independent, decoder
        self._check_shapes = check_shapes or model.device.type != "cpu"
        super().__init__(tokenizer)
        self._model = model.eval()
        config = model.config.get_text_config()
        self.vocabulary_size, self.state_size = int(config.vocab_size), int(config.hidden_size)
        self.context_length = find_context(config)
        self.end_tokens = self.find_end_tokens(model.generation_config)
        self._output_checked = False
        self._checked: set[tuple[int, int]] = set()
        self.pad_token = self.find_pad_token(self.end_tokens)

    def start(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> ScoredDecoding:
        """Feed the shared part once, then the prompts, which must have one length."""
        length = len(prompts[0].tokens)
        if any(len(prompt.tokens) != length for prompt in prompts):
            raise UsageError("Prompts of one batch must have one public length; lay them out with `prompts.layout`.")
        shape = Shape(len(prompts), len(shared), length, max_tokens)
        if self._decoder is not None and self._decoder.has_room(shape) and self._decoder.is_checked(shape):
            return self._decoder.start(shared, prompts, max_tokens)
        if self._check_shapes:
            self._check_shape(shape)
        return self._start_plain(shared, prompts, max_tokens)

    def _start_plain(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> ScoredDecoding:
        from discreet.models.lockstep import LockstepDecoding  # imports torch: where a model is used

        return LockstepDecoding(self._model, shared, prompts, max_tokens)

    def _check_shape(self, shape: Shape) -> None:
        """Check public rows before the first batch of a shape: a GPU chooses kernels by it, a function its threads.

        Raises:
            DiscreetError: if a row depends on others.
        """
        kind = shape.rows, shape.length
        if kind in self._checked:
            return
        if not has_independent_rows(self._start_plain, self.vocabulary_size, shape):
            on_cpu = self._model.device.type == "cpu"
            instead = (
                "Take another model" if on_cpu else "Hide the GPU, so that the CPU computes: CUDA_VISIBLE_DEVICES="
            )
            raise DiscreetError(
                f"With this model on this {'CPU' if on_cpu else 'GPU'}, public rows depend on each other in a batch of "
                f"{shape.rows} rows of {shape.length} tokens. A document could change what is said of others, so "
                f"nothing is computed. {instead}{'.' if on_cpu else ' (empty).'}"
            )
        self._checked.add(kind)

    def token_nll(self, shared: Sequence[int], prompts: Sequence[Prompt]) -> Logits:
        """Return minus the log-probability of each token; computed in blocks of a constant number of rows."""
        from discreet.models.token_scores import token_nll

        return token_nll(self._model, shared, prompts)

    def start_with_states(self, prompts: Sequence[Prompt], max_tokens: int) -> "StatefulDecoding":
        """Begin to continue prompts of one length, with hidden states."""
        from discreet.models.token_scores import StatefulDecoding

        self._check_output()
        return StatefulDecoding(self._model, (), prompts, max_tokens)

    def hidden_states(self, prompts: Sequence[Prompt]) -> States:
        """Return the state after each token."""
        from discreet.models.token_scores import hidden_states

        self._check_output()
        return hidden_states(self._model, prompts)

    def predict(self, states: States) -> Logits:
        """Return the logits that the output layer computes from states."""
        from discreet.models.token_scores import predict

        return predict(self._model, states)

    def _check_output(self) -> None:
        if not self._output_checked:
            from discreet.models.token_scores import check_output

            check_output(self._model)
            self._output_checked = True
