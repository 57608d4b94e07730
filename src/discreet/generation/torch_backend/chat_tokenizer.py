"""The tokenizer and chat template of a model of the transformers library. No torch is imported."""

from collections.abc import Sequence
from typing import Any

from discreet.generation.prompts import render_plain_chat

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
        for asked, answered in examples:
            messages += [{"role": "user", "content": asked}, {"role": "assistant", "content": answered}]
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
