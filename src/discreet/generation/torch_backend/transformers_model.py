"""Language models of the transformers library, with their tokenizers and chat templates."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from discreet.errors import DiscreetError, UsageError
from discreet.generation.greedy_completion import GreedyCompletion
from discreet.generation.model import Logits, Prompt, ScoredDecoding, States
from discreet.generation.torch_backend.chat_tokenizer import ChatTokenizer
from discreet.generation.torch_backend.row_check import Shape, has_independent_rows

if TYPE_CHECKING:
    from discreet.generation.torch_backend.hidden_states import StatefulDecoding


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
        row_independent: whether the row contract is enforced (`numerics.row_determinism`), as `load_model` does.
        decoder: the faster forward pass of the model, if it has one.
    """

    def __init__(
        self,
        name: str,
        model: Any,
        tokenizer: Any,
        *,
        row_independent: bool = False,
        decoder: Decoder | None = None,
    ) -> None:
        self.name, self.row_independent, self._decoder = name, row_independent, decoder
        super().__init__(tokenizer)
        self._model = model.eval()
        self.vocabulary_size = int(model.config.vocab_size)
        self.context_length = _context(model.config)
        self.state_size = int(model.config.get_text_config().hidden_size)
        self.end_tokens = self.find_end_tokens(model.generation_config)
        self._output_checked = False
        self._checked: set[tuple[int, int]] = set()
        self.pad_token = self.find_pad_token(self.end_tokens)

    @property
    def has_decoder(self) -> bool:
        """Return whether the faster forward pass computes this model."""
        return self._decoder is not None

    def start(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> ScoredDecoding:
        """Feed the shared part once, then the prompts, which must have one length."""
        length = len(prompts[0].tokens)
        if any(len(prompt.tokens) != length for prompt in prompts):
            raise UsageError("Prompts of one batch must have one public length; lay them out with `prompts.layout`.")
        shape = Shape(len(prompts), len(shared), length, max_tokens)
        if self._decoder is not None and self._decoder.has_room(shape) and self._decoder.is_checked(shape):
            return self._decoder.start(shared, prompts, max_tokens)
        if self._model.device.type != "cpu":
            self._check_shape(shape)
        return self._start_plain(shared, prompts, max_tokens)

    def _start_plain(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> ScoredDecoding:
        from discreet.generation.torch_backend.decoding import LockstepDecoding  # imports torch: where a model is used

        return LockstepDecoding(self._model, shared, prompts, max_tokens)

    def _check_shape(self, shape: Shape) -> None:
        """Check public rows before the first batch of a shape, since a GPU chooses kernels by it.

        Raises:
            DiscreetError: if a row depends on others.
        """
        kind = shape.rows, shape.length
        if kind in self._checked:
            return
        if not has_independent_rows(self._start_plain, self.vocabulary_size, shape):
            raise DiscreetError(
                f"On this GPU, public rows depend on each other in a batch of {shape.rows} rows of {shape.length} "
                "tokens. A document could change what is said of others, so nothing is computed. "
                "Hide the GPU, so that the CPU computes: CUDA_VISIBLE_DEVICES= (empty)."
            )
        self._checked.add(kind)

    def token_nll(self, shared: Sequence[int], prompts: Sequence[Prompt]) -> Logits:
        """Return minus the log-probability of each token; computed in blocks of a constant number of rows."""
        from discreet.generation.torch_backend.token_nll import token_nll

        return token_nll(self._model, shared, prompts)

    def start_with_states(self, prompts: Sequence[Prompt], max_tokens: int) -> "StatefulDecoding":
        """Begin to continue prompts of one length, with hidden states."""
        from discreet.generation.torch_backend.hidden_states import StatefulDecoding

        self._check_output()
        return StatefulDecoding(self._model, (), prompts, max_tokens)

    def hidden_states(self, prompts: Sequence[Prompt]) -> States:
        """Return the state after each token."""
        from discreet.generation.torch_backend.hidden_states import hidden_states

        self._check_output()
        return hidden_states(self._model, prompts)

    def predict(self, states: States) -> Logits:
        """Return the logits that the output layer computes from states."""
        from discreet.generation.torch_backend.hidden_states import predict

        return predict(self._model, states)

    def _check_output(self) -> None:
        if not self._output_checked:
            from discreet.generation.torch_backend.hidden_states import check_output

            check_output(self._model)
            self._output_checked = True


def _context(config: Any) -> int:
    """Return the longest sequence; with sliding-window attention, the size of the window."""
    limits = [getattr(config, "max_position_embeddings", None), getattr(config, "sliding_window", None)]
    return min((int(limit) for limit in limits if limit), default=2048)
