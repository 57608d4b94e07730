"""Language models of the transformers library, decoded in lock-step: one batch, one KV cache, CPU and CUDA.

`generate()` is not used, and none of its defaults (temperature, top-k, penalties) touches a logit. What keeps one
row from depending on another:

- every prompt has the same public length, so shapes follow the question and the settings alone;
- the attention mask is built here, in four dimensions, and always given: the library would otherwise leave it out
  when no row has padding, which one document could bring about;
- the number of rows is constant, and kernels are deterministic.

Measured on 2 cores with SmolLM2-135M, 41 rows of 200 tokens: bfloat16 is 2 to 3 times faster than float32, both in
prefill and a step; a preallocated cache gains nothing over a growing one (`benchmarks/decoding.py`).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import UsageError
from discreet.generation.model import Logits, Prompt, Tokens

if TYPE_CHECKING:
    import torch

_MARK = "\u241e"  # splits a rendered chat template; a user's text that holds it is still encoded as it is


class TransformersModel:
    """A causal language model with its tokenizer, both of transformers."""

    def __init__(self, name: str, model: Any, tokenizer: Any) -> None:
        self.name = name
        self._model, self._tokenizer = model.eval(), tokenizer
        self.vocabulary_size = int(model.config.vocab_size)
        self.context = int(getattr(model.config, "max_position_embeddings", 2048))
        self.end_tokens = _end_tokens(model, tokenizer)
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

    def start(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> "TransformersDecoding":
        """Feed the shared part once, and then the prompts; all must have the same length."""
        length = len(prompts[0].tokens)
        if any(len(prompt.tokens) != length for prompt in prompts):
            raise UsageError("Prompts of one batch must have one public length; lay them out with `prompts.layout`.")
        return TransformersDecoding(self._model, shared, prompts)

    def _template(self, text: str) -> list[int]:
        # The template's own control tokens are control tokens.
        return [int(token) for token in self._tokenizer(text, add_special_tokens=False)["input_ids"]]


class TransformersDecoding:
    """A batch of prompts of one length, continued in lock-step."""

    def __init__(self, model: Any, shared: Sequence[int], prompts: Sequence[Prompt]) -> None:
        import torch
        import transformers

        self._torch, self._model = torch, model
        rows, length = len(prompts), len(prompts[0].tokens)
        self._cache: Any = transformers.DynamicCache(config=model.config)
        everything = torch.ones((rows, len(shared)), dtype=torch.bool, device=model.device)
        if shared:
            places = torch.arange(len(shared), device=model.device)
            ids = torch.tensor([list(shared)], device=model.device)
            self._forward(ids, (places[:, None] >= places[None, :])[None], places[None, :])
            self._cache.batch_repeat_interleave(rows)  # exact copies: one row's worth of work for all
        padding = torch.tensor([prompt.padding for prompt in prompts], device=model.device)  # (rows,)
        places = torch.arange(length, device=model.device)
        real = places[None, :] >= padding[:, None]  # (rows, length)
        # A padding token sees itself and what is shared, so that no row of the mask is empty; nothing sees it.
        own = (real[:, None, :] & (places[:, None] >= places[None, :])) | torch.eye(
            length, dtype=torch.bool, device=model.device
        )
        before = everything[:, None, :].expand(rows, length, len(shared))
        self._seen = torch.cat([everything, real], dim=1)  # (rows, shared + length)
        self._appended, self._fed = 0, len(shared) + length
        self._next_position = self._fed - padding  # (rows,)
        self._forward(
            torch.tensor([prompt.tokens for prompt in prompts], device=model.device),
            torch.cat([before, own], dim=2),  # (rows, length, shared + length)
            len(shared) + (places[None, :] - padding[:, None]).clamp(min=0),
        )

    def best(self) -> Tokens:
        """The most likely next token of each row; of equal ones, the lowest id."""
        return self._best

    def logits(self) -> Logits:
        """The logits of the next token, shape (rows, vocabulary)."""
        array: Logits = self._logits.float().cpu().numpy()
        return array

    def append(self, token: int) -> None:
        """Continue every row with `token`."""
        self.append_each([token] * len(self._seen))

    def append_each(self, tokens: Sequence[int]) -> None:
        """Continue every row with a token of its own."""
        torch = self._torch
        ids = torch.tensor(tokens, device=self._seen.device)[:, None]  # (rows, 1)
        added = torch.ones((len(tokens), self._appended + 1), dtype=torch.bool, device=ids.device)
        seen = torch.cat([self._seen, added], dim=1)[:, None, :]  # (rows, 1, keys)
        self._forward(ids, seen, (self._next_position + self._appended)[:, None])
        self._appended += 1

    def truncate(self, length: int) -> None:
        """Forget all but the first `length` appended tokens."""
        if length < self._appended:
            self._cache.crop(length - self._appended)  # negative: so many are taken away
            self._appended = length

    def _forward(self, ids: "torch.Tensor", seen: "torch.Tensor", positions: "torch.Tensor") -> None:
        torch = self._torch
        dtype = self._model.dtype
        mask = torch.zeros(seen.shape, dtype=dtype, device=ids.device).masked_fill_(~seen, torch.finfo(dtype).min)
        with torch.inference_mode():
            output = self._model(
                input_ids=ids,
                attention_mask=mask[:, None],  # (rows, 1, queries, keys)
                position_ids=positions,
                past_key_values=self._cache,
                use_cache=True,
                logits_to_keep=1,
            )
        self._logits = output.logits[:, -1]  # (rows, vocabulary)
        # argmax over NumPy: the first of equal maxima, on every device.
        self._best: Tokens = np.argmax(self._logits.float().cpu().numpy(), axis=1).astype(np.int64)


def _end_tokens(model: Any, tokenizer: Any) -> frozenset[int]:
    named = (tokenizer.eos_token_id, getattr(model.generation_config, "eos_token_id", None))
    ends = {int(token) for ids in named if ids is not None for token in (ids if isinstance(ids, list) else [ids])}
    return frozenset(ends)
