"""The language model of DP few-shot generation: its own interface `LM`, with a local model in place of a withdrawn one.

The peer asks for a completion of one token and its 100 log-probabilities, with a bias for chosen tokens. A withdrawn
service answered; here the model of the job does. States of earlier prompts are kept: a prompt is read from the first
token that differs from the kept one with the same beginning. Prompts of one token are read together and padded, which
moves scores by rounding; the service read each alone.
"""

import asyncio
import importlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

BEGINNING = 48
"""Tokens of a prompt that name its kept states: they reach into the private record."""
FEW_NEW = 24
"""The most new tokens of a prompt that is read with others that have few."""
KEPT = 1200
"""Prompts whose states are kept: those of a thousand records take about five GiB."""


@dataclass(frozen=True)
class Choice:
    """A token and its log-probability, as the peer reads them."""

    token_id: int
    logprob: float


class Encoding:
    """A tokenizer by the names of `tiktoken`, which the peer calls."""

    def __init__(self, tokenizer: Any, n_vocab: int) -> None:
        self.tokenizer, self.n_vocab = tokenizer, n_vocab

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text."""
        return list(self.tokenizer.encode(text, add_special_tokens=False))

    def encode_single_token(self, text: str) -> int:
        """Return the one token of a text.

        Raises:
            KeyError: if it has several.
        """
        found = self.encode(text)
        if len(found) != 1:
            raise KeyError(text)
        return found[0]

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of tokens."""
        return str(self.tokenizer.decode(tokens))


def shared(one: Sequence[int], other: Sequence[int]) -> int:
    """Return how many first tokens two prompts have in common."""
    for place, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return place
    return min(len(one), len(other))


@dataclass
class Asked:
    """A prompt whose next token is asked for, and its scores when they are there."""

    prompt: list[int]
    scores: Any = None

    @property
    def name(self) -> tuple[int, ...]:
        """Return the beginning, by which states are kept."""
        return tuple(self.prompt[:BEGINNING])


class LocalModel:
    """A causal language model behind the peer's interface. Prompts that are asked for at once are read together."""

    def __init__(self, folder: str, dtype: str) -> None:
        import torch
        import transformers

        loader: Any = transformers.AutoModelForCausalLM
        self.model = loader.from_pretrained(folder, torch_dtype=getattr(torch, dtype)).eval()
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.encoding = Encoding(self.tokenizer, self.model.config.vocab_size)
        self.kept: OrderedDict[tuple[int, ...], tuple[list[int], Any]] = OrderedDict()
        self.waiting: list[Asked] = []

    async def completions(self, prompt: Sequence[int], settings: Any) -> Any:
        """Return one completion of one token, with its most likely tokens.

        Raises:
            NotImplementedError: for a completion of another length, which the peer's generation does not ask for.
        """
        if settings.max_tokens != 1 or settings.echo:
            raise NotImplementedError(f"{settings}: only one next token is answered")
        asked = Asked(list(prompt))
        self.waiting.append(asked)
        await asyncio.sleep(0)
        if asked.scores is None:
            together, self.waiting = self.waiting, []
            for group in self.groups(together):
                self.read(group)
        for token, bias in (settings.logit_bias or {}).items():
            asked.scores[token] += bias
        best = asked.scores.log_softmax(dim=0).topk(settings.logprobs)
        pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        choices = tuple(Choice(token, value) for token, value in pairs)
        return [[importlib.import_module("lmapi.lm").SampledToken(choices[0], choices)]]

    def groups(self, together: Sequence[Asked]) -> list[list[Asked]]:
        """Return prompts with few new tokens, and those with many, so that the former are not padded to the latter."""
        few, many = list[Asked](), list[Asked]()
        for one in together:
            read, _ = self.kept.get(one.name, ([], None))
            (few if len(one.prompt) - shared(read, one.prompt) <= FEW_NEW else many).append(one)
        return [group for group in (few, many) if group]

    def read(self, together: Sequence[Asked]) -> None:
        """Give each prompt its logits, in double precision.

        Kept states and new tokens are aligned at their ends, so that the last position is the last token of each.
        """
        import torch

        config = self.model.config
        width = config.hidden_size // config.num_attention_heads
        empty = torch.zeros(config.num_hidden_layers, 2, config.num_key_value_heads, 0, width, dtype=self.model.dtype)
        kept = [self.kept.pop(one.name, ([], empty)) for one in together]
        old = [
            min(shared(read, one.prompt), len(one.prompt) - 1) for one, (read, _) in zip(together, kept, strict=True)
        ]
        most, rows = max(old), range(len(together))
        new = max(len(one.prompt) - common for one, common in zip(together, old, strict=True))
        tokens = torch.zeros(len(rows), new, dtype=torch.long)
        places, seen = torch.zeros_like(tokens), torch.zeros(len(rows), most + new, dtype=torch.long)
        states = torch.zeros(*empty.shape[:2], len(rows), empty.shape[2], most, width, dtype=self.model.dtype)
        for row, (one, common) in enumerate(zip(together, old, strict=True)):
            fresh = len(one.prompt) - common
            states[:, :, row, :, most - common :] = kept[row][1][:, :, :, :common]
            tokens[row, new - fresh :] = torch.tensor(one.prompt[common:])
            places[row, new - fresh :] = torch.arange(common, common + fresh)
            seen[row, most - common : most] = seen[row, most + new - fresh :] = 1
        found = self._forward(tokens, places, seen, states)
        for row, (one, common) in enumerate(zip(together, old, strict=True)):
            one.scores = found.logits[row, -1].double()
            fresh = len(one.prompt) - common
            cache = found.past_key_values
            layers = zip(cache.key_cache, cache.value_cache, strict=True)
            late = torch.stack([torch.stack([part[row, :, -fresh:] for part in layer]) for layer in layers])
            self.kept[one.name] = (one.prompt, torch.cat((kept[row][1][:, :, :, :common], late), dim=3))
        while len(self.kept) > KEPT:
            self.kept.popitem(last=False)

    def _forward(self, tokens: Any, places: Any, seen: Any, states: Any) -> Any:
        import torch
        from transformers import DynamicCache

        cache = DynamicCache()
        if states.shape[-2]:
            for layer, (keys, values) in enumerate(states):
                cache.update(keys, values, layer)
        with torch.inference_mode():
            return self.model(
                tokens,
                attention_mask=seen,
                position_ids=places,
                past_key_values=cache,
                use_cache=True,
                num_logits_to_keep=1,
            )

    def reply(self, messages: list[dict[str, str]], tokens: int) -> str:
        """Return the most likely answer in a chat."""
        import torch

        read: Any = self.tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_tensors="pt")
        with torch.inference_mode():
            found = self.model.generate(
                read, attention_mask=torch.ones_like(read), max_new_tokens=tokens, do_sample=False
            )
        return str(self.tokenizer.decode(found[0, read.shape[1] :], skip_special_tokens=True))
