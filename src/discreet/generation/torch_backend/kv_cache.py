"""Keys and values of rows with a shared beginning, and attention over them.

All rows of a batch have a shared beginning. Its keys and values are stored once, not once for each row. The keys and
values of a row's own part are written into memory of a constant, public size.

For a new token of every row, one matrix product for all rows computes the scores over the shared part. One product for
each row computes the scores over its own part. One softmax runs over both.

The prompts themselves are read by torch's fused attention. On a CPU it computes each head of each row by itself, and
keeps no scores in memory; which kernel it takes on CUDA was not tried.

Measured with SmolLM2-135M and 41 rows (docs/results/lab-notes.md): a step takes half the time of the library's
attention over a growing cache.

All shapes are public, and no row enters the computation of another row.
"""

import inspect
from typing import Any

import torch

ATTENTION = "discreet-lockstep"
Pair = tuple[torch.Tensor, torch.Tensor]
"""Keys and values."""


class LockstepCache:
    """The cache of a transformers model for one batch.

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
