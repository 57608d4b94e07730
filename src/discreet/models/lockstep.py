"""Decoding in lock-step with a model of the transformers library: one batch, one KV cache, CPU and CUDA.

`generate()` is not used, and none of its defaults (temperature, top-k, penalties) changes a logit. Rows do not depend
on each other, because:

- every prompt has the same public length, so shapes follow the question and the settings alone;
- the attention mask is built here, in four dimensions, and always given. The library would otherwise omit it if no
  row has padding, and one document can change that;
- the number of rows is constant, rows are fed in blocks of a constant number, and kernels are deterministic.

Measured on 2 cores with bfloat16 instructions, SmolLM2-135M, 41 rows of 200 tokens: bfloat16 is 2 to 3 times faster
than float32, both in prefill and a step (docs/results/performance.md).
Elsewhere models compute in float32 (`discreet.numerics`).
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import transformers

from discreet.errors import UsageError
from discreet.models.protocol import Logits, Prompt, Tokens
from discreet.models.row_check import STEPS, Shape, agree, public_rows, read_logits
from discreet.numerics import WINDOWED, find_window


class LockstepBatch(ABC):
    """A batch of rows that are continued in lock-step, by at most `max_tokens` tokens each.

    Attributes:
        _logits, _best: those of the next token; a subclass sets them when it feeds tokens.
    """

    _logits: torch.Tensor
    _best: Tokens

    def __init__(self, rows: int, max_tokens: int) -> None:
        self._rows, self._max_tokens, self._appended = rows, max_tokens, 0

    def best(self) -> Tokens:
        """Return the most likely next token of each row; of equally likely tokens, the lowest id."""
        return self._best

    def logits(self) -> Logits:
        """Return the logits of the next token, shape (rows, vocabulary)."""
        array: Logits = self._logits.float().cpu().numpy()
        return array

    def append(self, token: int) -> None:
        """Continue every row with `token`."""
        self.append_each([token] * self._rows)

    def append_each(self, tokens: Sequence[int]) -> None:
        """Continue each row with its own token.

        Raises:
            UsageError: if the batch has no room for a token, or if there is not one for each row.
        """
        if self._appended == self._max_tokens:
            raise UsageError(f"This batch was begun for {self._max_tokens} tokens. Begin it with a larger max_tokens.")
        if len(tokens) != self._rows:
            raise UsageError(f"There are {len(tokens)} tokens for {self._rows} rows. Give each row one.")
        self._feed_each(tokens)
        self._appended += 1

    def truncate(self, length: int) -> None:
        """Forget all but the first `length` appended tokens."""
        self._appended = min(length, self._appended)

    @abstractmethod
    def _feed_each(self, tokens: Sequence[int]) -> None:
        """Feed the next token of each row, after `_appended` ones."""


_BLOCK = {"cpu": 1_400, "cuda": 16_384}
"""The most tokens of a block. On a CPU, blocks of twice the size were faster in one process and slower in another."""


class LockstepDecoding(LockstepBatch):
    """A batch of prompts of one length that are continued in lock-step."""

    def __init__(self, model: Any, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> None:
        super().__init__(len(prompts), max_tokens)
        self._model = model
        self._length, self._shared_length = len(prompts[0].tokens), len(shared)
        self._cache = LockstepCache(self._rows, self._length + max_tokens, split=install_lockstep_attention(model))
        self._given = self._cache.given_to(model)
        self._padding = torch.tensor([prompt.padding for prompt in prompts], device=model.device)  # (rows,)
        if shared:  # fed once for all rows
            places = torch.arange(len(shared), device=model.device)
            ids = torch.tensor([list(shared)], device=model.device)
            self._forward(ids, (places[:, None] >= places[None, :])[None], places[None, :], places[None, :])
        self._see(self._feed(prompts))

    def _feed_each(self, tokens: Sequence[int]) -> None:
        place = self._length + self._appended
        self._cache.feed_token(place)
        places = torch.arange(self._length + self._max_tokens, device=self._padding.device)
        own = (places[None, :] >= self._padding[:, None]) & (places[None, :] <= place)  # (rows, room)
        self._see(
            self._forward(
                torch.tensor(tokens, device=own.device)[:, None],  # (rows, 1)
                self._with_shared(own[:, None, :]),
                (self._shared_length + place - self._padding)[:, None],
                self._places_of(places[None, :] - self._padding[:, None]),
            )
        )

    def _feed(self, prompts: Sequence[Prompt]) -> torch.Tensor:
        """Feed the prompts in blocks of one size; the last block is filled with copies of the last prompt."""
        device = self._padding.device
        most = max(1, _BLOCK.get(device.type, _BLOCK["cpu"]) // self._length)
        block = -(-self._rows // -(-self._rows // most))  # as even as possible: few copies fill the last block
        filled = [*prompts, *[prompts[-1]] * (-self._rows % block)]
        places = torch.arange(self._length, device=device)
        parts = []
        for first in range(0, self._rows, block):
            fed = filled[first : first + block]
            padding = torch.tensor([prompt.padding for prompt in fed], device=device)[:, None]  # (block, 1)
            real = places[None, :] >= padding
            # A padding token attends to itself and the shared part, as no row of the mask may be empty.
            own = (real[:, None, :] & (places[:, None] >= places[None, :])) | torch.eye(
                self._length, dtype=torch.bool, device=device
            )
            self._cache.feed_rows(first)
            ids = torch.tensor([prompt.tokens for prompt in fed], device=device)
            keys = self._places_of(places[None, :] - padding)
            parts.append(self._forward(ids, self._with_shared(own), keys[:, self._shared_length :], keys))
        logits: torch.Tensor = torch.cat(parts)
        return logits[: self._rows]

    def _with_shared(self, own: torch.Tensor) -> torch.Tensor:
        """Return the mask of the own part, shape (rows, queries, keys), with the whole shared part before it."""
        padded: torch.Tensor = torch.nn.functional.pad(own, (self._shared_length, 0), value=True)
        return padded

    def _places_of(self, own: torch.Tensor) -> torch.Tensor:
        """Return the position of each key, of the shared part and of the own one, shape (rows, keys)."""
        shared = torch.arange(self._shared_length, device=own.device)
        return torch.cat([shared.expand(len(own), -1), self._shared_length + own.clamp(min=0)], dim=1)

    def _forward(
        self, ids: torch.Tensor, seen: torch.Tensor, positions: torch.Tensor, keys: torch.Tensor
    ) -> torch.Tensor:
        """Return the logits after the last of `ids`, shape (rows, vocabulary)."""
        with torch.inference_mode():
            output = self._model(**self._inputs(ids, seen, positions, keys), logits_to_keep=1)
        logits: torch.Tensor = output.logits[:, -1]
        return logits

    def _inputs(
        self, ids: torch.Tensor, seen: torch.Tensor, positions: torch.Tensor, keys: torch.Tensor
    ) -> dict[str, Any]:
        """Return the arguments of a call of the model."""
        mask = make_mask(self._model, seen, positions, keys)
        return {"input_ids": ids, "attention_mask": mask, "position_ids": positions, **self._given}

    def _see(self, logits: torch.Tensor) -> None:
        self._logits = logits
        if logits.device.type == "cpu":  # NumPy takes the first of equal maxima; torch promises none
            self._best = np.argmax(logits.float().numpy(), axis=1).astype(np.int64)
        else:
            self._best = first_maxima(logits).cpu().numpy()


def make_mask(
    model: Any, seen: torch.Tensor, positions: torch.Tensor, keys: torch.Tensor
) -> torch.Tensor | dict[str, torch.Tensor]:
    """Return what is added to the scores of attention, shape (rows, 1, queries, keys).

    It is a mask for each kind of layer if a model mixes layers with and without a window.

    Args:
        model: the model.
        seen: whether a query sees a key, windows apart, shape (rows, queries, keys).
        positions: the position of each query, shape (rows, queries).
        keys: the position of each key, shape (rows, keys).
    """
    config = model.config.get_text_config()

    def added(visible: torch.Tensor) -> torch.Tensor:
        mask = torch.zeros(visible.shape, dtype=model.dtype, device=visible.device)
        return mask.masked_fill_(~visible, torch.finfo(model.dtype).min)[:, None]

    window = find_window(config) if config.model_type in WINDOWED else None
    if window is None:
        return added(seen)
    near = added(seen & (positions[:, :, None] - keys[:, None, :] < window))
    return {"full_attention": added(seen), "sliding_attention": near} if WINDOWED[config.model_type] else near


def first_maxima(logits: torch.Tensor) -> torch.Tensor:
    """Return the place of the first of the largest numbers of each row, computed where the numbers are.

    A GPU would otherwise send all logits of a step to the processor.
    """
    places = torch.arange(logits.shape[1], device=logits.device)
    last = places[-1]  # of a row that is not a number
    return torch.where(logits == logits.amax(dim=1, keepdim=True), places, last).amin(dim=1)


def check_lockstep(name: str, model: Any) -> None:
    """Check on public rows that lock-step decoding computes what the library's plain forward pass computes.

    Raises:
        UsageError: if it does not, or fails.
    """
    shared, prompts = public_rows(int(model.config.get_text_config().vocab_size), Shape(3, 6, 11, STEPS))
    texts = [[*shared, *prompt.tokens[prompt.padding :]] for prompt in prompts]
    try:
        steps = []
        for added in ([], [3], [3, 4]):  # the tokens that `read_logits` appends
            with torch.inference_mode():
                ids = [torch.tensor([[*text, *added]], device=model.device) for text in texts]
                steps.append(np.stack([model(input_ids=one).logits[0, -1].float().cpu().numpy() for one in ids]))
        sound = agree(read_logits(LockstepDecoding(model, shared, prompts, STEPS)), np.stack(steps))
    except (RuntimeError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise UsageError(f"The model '{name}' cannot be used: lock-step decoding fails with it ({error}).") from error
    if not sound:
        raise UsageError(
            f"The model '{name}' cannot be used: on public rows, lock-step decoding computes other logits than the "
            "library. Take a model of a tested type: discreet doctor --model NAME names them."
        )


def install_lockstep_attention(model: Any) -> bool:
    """Install the lock-step attention in a model with plain attention; return whether it is installed."""
    plain = has_plain_attention(model)
    if plain and model.config._attn_implementation != ATTENTION:
        transformers.AttentionInterface.register(ATTENTION, attend)
        model.set_attn_implementation(ATTENTION)
    return plain


def has_plain_attention(model: Any) -> bool:
    """Return whether a model takes another attention: soft caps, sinks and other positions need the model's own."""
    return bool(getattr(model, "_supports_sdpa", False) and getattr(model, "_supports_attention_backend", False))


ATTENTION = "discreet-lockstep"
Pair = tuple[torch.Tensor, torch.Tensor]
"""Keys and values."""


class LockstepCache:
    """The cache of a transformers model for one batch.

    All rows have a shared beginning. Its keys and values are stored once, not once for each row. The keys and values of
    a row's own part are written into memory of a constant, public size. All shapes are public, and no row enters the
    computation of another row.

    For a new token of every row, one matrix product for all rows computes the scores over the shared part. One product
    for each row computes the scores over its own part. One softmax runs over both. With SmolLM2-135M and 41 rows, a
    step takes half the time of the library's attention over a growing cache (docs/results/performance.md).

    The prompts themselves are read by torch's fused attention. On a CPU it computes each head of each row by itself,
    and keeps no scores in memory; which kernel it takes on CUDA was not tried.

    It is filled in three phases: the shared part, fed as one row; the rows' own parts, fed in blocks of rows; then
    one token for every row at a time. `update` is called by each layer, with its new keys and values.

    Attributes:
        rows: the number of rows.
        room: the most tokens of a row's own part.
        split: whether `attend` reads the shared part from this cache in the last phase. Otherwise the shared part is
            concatenated with each row's own part, for models with another attention.
    """

    def __init__(self, rows: int, room: int, *, split: bool) -> None:
        self.rows, self.room, self.split = rows, room, split
        self._phase = "shared"
        self._place = 0  # the first row of the block being fed; the token being fed
        self._shared: dict[int, Pair] = {}  # by layer: (1, heads, shared tokens, size)
        self._own: dict[int, Pair] = {}  # by layer: (rows, heads, room, size)

    def given_to(self, model: Any) -> dict[str, Any]:
        """Return the arguments of a call of a model that fills this cache.

        transformers 5.24 gives the argument another name, and 5.40 drops the former one.
        """
        name = "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"
        return {name: self, "use_cache": True, **({"lockstep": self} if self.split else {})}

    def feed_rows(self, first: int) -> None:
        """Expect a block of rows that begins at `first`. Rows of the block after the last row are dropped."""
        self._phase, self._place = "rows", first

    def feed_token(self, place: int) -> None:
        """Expect one token for each row, at index `place` of its own part."""
        self._phase, self._place = "token", place

    def splits(self) -> bool:
        """Return whether attention must combine the result of `update` with `shared`."""
        return self.split and self._phase == "token"

    def shared(self, layer: int) -> Pair:
        """Return keys and values of the shared part, shape (1, heads, shared tokens, size)."""
        return self._shared[layer]

    def update(self, keys: torch.Tensor, values: torch.Tensor, layer_idx: int, *_: Any, **__: Any) -> Pair:
        """Store new keys and values of a layer, shape (rows, heads, tokens, size); return those to attend to."""
        if self._phase == "shared":
            self._shared[layer_idx] = (keys, values)
            return keys, values
        shared = self._shared.setdefault(layer_idx, (keys[:1, :, :0], values[:1, :, :0]))
        own = self._keep(layer_idx, (keys, values))
        if self.splits():
            return own
        recent = (keys, values) if self._phase == "rows" else own
        return _beside(shared[0], recent[0]), _beside(shared[1], recent[1])

    def get_seq_length(self, *_: Any, **__: Any) -> int:
        """Return 0. Some models call this; positions and mask are always given, so the value has no effect."""
        return 0

    def _keep(self, layer: int, new: Pair) -> Pair:
        if layer not in self._own:
            # Zeros, since a masked place still enters a product, and 0 * nan is nan.
            self._own[layer] = tuple(
                part.new_zeros((self.rows, part.shape[1], self.room, part.shape[3])) for part in new
            )  # type: ignore[assignment]
        own = self._own[layer]
        for held, part in zip(own, new, strict=True):
            if self._phase == "token":
                held[:, :, self._place] = part[:, :, 0]
            else:
                block = held[self._place : self._place + len(part), :, : part.shape[2]]
                block.copy_(part[: len(block)])
        return own


def attend(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor,
    *,
    lockstep: LockstepCache,
    scaling: float | None = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Compute attention, with the interface of the transformers library; `lockstep` is an argument of the model call.

    Args:
        module: the layer's attention module.
        query: shape (rows, query heads, queries, size).
        key: shape (rows, heads, keys, size); each head serves several query heads.
        value: shape (rows, heads, keys, size of a value).
        attention_mask: added to the scores, shape (rows, 1, queries, keys).
        lockstep: the cache.
        scaling: factor of the scores; 1 / sqrt(size) if None.

    Returns:
        shape (rows, queries, query heads, size of a value); and None, for the weights.
    """
    rows, heads, queries, size = query.shape
    groups = key.shape[1]
    scale = size**-0.5 if scaling is None else scaling
    if not lockstep.splits():
        mixed = torch.nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask=attention_mask, scale=scale, enable_gqa=heads != groups
        )
        return mixed.transpose(1, 2), None
    # The query heads of one key head are stacked: (rows, groups, heads / groups * queries, size).
    packed = query.reshape(rows, groups, -1, size)
    mixed = _attend_split(packed * scale, (key, value), lockstep.shared(int(module.layer_idx)), attention_mask)
    return mixed.reshape(rows, heads, queries, value.shape[3]).transpose(1, 2), None


def _attend_split(packed: torch.Tensor, own: Pair, alike: Pair, mask: torch.Tensor) -> torch.Tensor:
    """Attend to the own keys and values of each row, and to the shared ones."""
    key, value = own
    shared_key, shared_value = alike
    rows, groups, below, size = packed.shape
    shared, length = shared_key.shape[2], key.shape[2]
    together = packed.transpose(0, 1).reshape(groups, rows * below, size)
    scores = torch.cat(
        [
            torch.bmm(together, shared_key[0].transpose(1, 2)).view(groups, rows, below, shared).transpose(0, 1),
            torch.bmm(
                packed.reshape(rows * groups, below, size), key.view(rows * groups, length, size).transpose(1, 2)
            ).view(rows, groups, below, length),
        ],
        dim=3,
    )
    weights = scores.add_(mask).softmax(-1)
    of_shared = torch.bmm(weights[..., :shared].transpose(0, 1).reshape(groups, rows * below, shared), shared_value[0])
    of_own = torch.bmm(
        weights[..., shared:].reshape(rows * groups, below, length), value.view(rows * groups, length, -1)
    )
    return of_shared.view(groups, rows, below, -1).transpose(0, 1) + of_own.view(rows, groups, below, -1)


def _beside(shared: torch.Tensor, own: torch.Tensor) -> torch.Tensor:
    return torch.cat([shared.expand(len(own), -1, -1, -1), own], dim=2)
