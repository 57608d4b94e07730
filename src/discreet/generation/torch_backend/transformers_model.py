"""Language models of the transformers library, with their tokenizers and chat templates."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from discreet.errors import UsageError
from discreet.generation.greedy_completion import GreedyCompletion
from discreet.generation.model import Logits, Prompt, States
from discreet.generation.prompts import render_plain_chat

if TYPE_CHECKING:
    from discreet.generation.torch_backend.decoding import LockstepDecoding
    from discreet.generation.torch_backend.hidden_states import StatefulDecoding

_MARK = (
    "\u241e"  # marks the place of a user's text in a rendered chat template; it is not searched for in a user's text
)


class TransformersModel(GreedyCompletion):
    """A causal language model with its tokenizer, both of transformers.

    Args:
        name: the name of the model.
        model, tokenizer: objects of the transformers library.
        row_independent: whether the row contract is enforced (`numerics.row_determinism`), as `load_model` does.
    """

    def __init__(self, name: str, model: Any, tokenizer: Any, *, row_independent: bool = False) -> None:
        self.name, self.row_independent = name, row_independent
        self._model, self._tokenizer = model.eval(), tokenizer
        self.vocabulary_size = int(model.config.vocab_size)
        self.context_length = _context(model.config)
        self.state_size = int(model.config.get_text_config().hidden_size)
        self.end_tokens = _end_tokens(model, tokenizer)
        self._output_checked = False
        self.pad_token = int(tokenizer.pad_token_id if tokenizer.pad_token_id is not None else min(self.end_tokens))

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
        for asked, answered in examples:
            messages += [{"role": "user", "content": asked}, {"role": "assistant", "content": answered}]
        messages.append({"role": "user", "content": _MARK})
        try:
            rendered = self._tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        except Exception:  # some templates have no system role
            rendered = self._tokenizer.apply_chat_template(messages[1:], tokenize=False, add_generation_prompt=True)
        before, after = str(rendered).split(_MARK)
        return self._template(before), self._template(after)

    def start(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> "LockstepDecoding":
        """Feed the shared part once, then the prompts, which must have one length."""
        length = len(prompts[0].tokens)
        if any(len(prompt.tokens) != length for prompt in prompts):
            raise UsageError("Prompts of one batch must have one public length; lay them out with `prompts.layout`.")
        from discreet.generation.torch_backend.decoding import (
            LockstepDecoding,  # torch is imported where a model is used
        )

        return LockstepDecoding(self._model, shared, prompts, max_tokens)

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

    def _template(self, text: str) -> list[int]:
        # The template's own control tokens are control tokens.
        return [int(token) for token in self._tokenizer(text, add_special_tokens=False)["input_ids"]]


def _context(config: Any) -> int:
    """Return the longest sequence; with sliding-window attention, the size of the window."""
    limits = [getattr(config, "max_position_embeddings", None), getattr(config, "sliding_window", None)]
    return min((int(limit) for limit in limits if limit), default=2048)


def _end_tokens(model: Any, tokenizer: Any) -> frozenset[int]:
    named = (tokenizer.eos_token_id, getattr(model.generation_config, "eos_token_id", None))
    ends = {int(token) for ids in named if ids is not None for token in (ids if isinstance(ids, list) else [ids])}
    return frozenset(ends)
