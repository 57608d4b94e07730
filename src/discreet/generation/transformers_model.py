"""Language models of the transformers library, with their tokenizers and chat templates."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from discreet.errors import UsageError
from discreet.generation.model import Logits, Prompt, States

if TYPE_CHECKING:
    from discreet.generation.contexts import StatefulDecoding
    from discreet.generation.decoding import LockstepDecoding

_MARK = "\u241e"  # splits a rendered chat template; a user's text that holds it is still encoded as it is


class TransformersModel:
    """A causal language model with its tokenizer, both of transformers."""

    def __init__(self, name: str, model: Any, tokenizer: Any) -> None:
        self.name = name
        self._model, self._tokenizer = model.eval(), tokenizer
        self.vocabulary_size = int(model.config.vocab_size)
        self.context = _context(model.config)
        self.context_size = int(model.config.get_text_config().hidden_size)
        self.end_tokens = _end_tokens(model, tokenizer)
        self._output_checked = False
        self.pad_token = int(tokenizer.pad_token_id if tokenizer.pad_token_id is not None else min(self.end_tokens))

    def encode(self, text: str) -> list[int]:
        """Token ids of plain text. What looks like a control token in it is spelled out, never obeyed."""
        ids = self._tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        return [int(token) for token in ids]

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of token ids, without control tokens."""
        return str(self._tokenizer.decode(list(tokens), skip_special_tokens=True))

    def chat(self, system: str, examples: Sequence[tuple[str, str]]) -> tuple[list[int], list[int]]:
        """The chat template around a user's text; plain text for a model that has none."""
        if not self._tokenizer.chat_template:
            shown = "".join(f"{asked}\nAnswer: {answered}\n\n" for asked, answered in examples)
            return self.encode(f"{system}\n\n{shown}"), self.encode("\nAnswer:")
        messages = [{"role": "system", "content": system}]
        for asked, answered in examples:
            messages += [{"role": "user", "content": asked}, {"role": "assistant", "content": answered}]
        messages.append({"role": "user", "content": _MARK})
        try:
            rendered = self._tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        except Exception:  # some templates know no system role
            rendered = self._tokenizer.apply_chat_template(messages[1:], tokenize=False, add_generation_prompt=True)
        before, after = str(rendered).split(_MARK)
        return self._template(before), self._template(after)

    def start(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> "LockstepDecoding":
        """Feed the shared part once, and then the prompts; all must have the same length."""
        length = len(prompts[0].tokens)
        if any(len(prompt.tokens) != length for prompt in prompts):
            raise UsageError("Prompts of one batch must have one public length; lay them out with `prompts.layout`.")
        from discreet.generation.decoding import LockstepDecoding  # torch is imported where a model is used

        return LockstepDecoding(self._model, shared, prompts, max_tokens)

    def surprise(self, shared: Sequence[int], prompts: Sequence[Prompt]) -> Logits:
        """Minus the log-probability of each token, by blocks of one number of rows."""
        from discreet.generation.surprise import surprise

        return surprise(self._model, shared, prompts)

    def start_contexts(self, prompts: Sequence[Prompt], max_tokens: int) -> "StatefulDecoding":
        """Prompts of one length, to be continued, with the model's states."""
        from discreet.generation.contexts import StatefulDecoding

        self._check_output()
        return StatefulDecoding(self._model, (), prompts, max_tokens)

    def contexts(self, prompts: Sequence[Prompt]) -> States:
        """The state after each token."""
        from discreet.generation.contexts import contexts

        self._check_output()
        return contexts(self._model, prompts)

    def predict(self, states: States) -> Logits:
        """What the output layer makes of states."""
        from discreet.generation.contexts import predict

        return predict(self._model, states)

    def _check_output(self) -> None:
        if not self._output_checked:
            from discreet.generation.contexts import check_output

            check_output(self._model)
            self._output_checked = True

    def _template(self, text: str) -> list[int]:
        # The template's own control tokens are control tokens.
        return [int(token) for token in self._tokenizer(text, add_special_tokens=False)["input_ids"]]


def _context(config: Any) -> int:
    """The longest sequence; of a model whose layers look back through a window, what the window holds."""
    limits = [getattr(config, "max_position_embeddings", None), getattr(config, "sliding_window", None)]
    return min((int(limit) for limit in limits if limit), default=2048)


def _end_tokens(model: Any, tokenizer: Any) -> frozenset[int]:
    named = (tokenizer.eos_token_id, getattr(model.generation_config, "eos_token_id", None))
    ends = {int(token) for ids in named if ids is not None for token in (ids if isinstance(ids, list) else [ids])}
    return frozenset(ends)
