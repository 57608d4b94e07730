"""The forward pass of a Llama model on a GPU, over the weights of a model of the transformers library.

All tokens of a question are read in one pass, the shared part and the prompts beside each other. Each layer computes
its products for all of them, and attention lets a token see the shared part and what comes before it in its own row.

A layer has four products and five other kernels (kernels.py), six in a step; the library's layer has some fifty. The
pass is used only if it agrees with the library on public rows (loading.py).
"""

import weakref
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import triton
from torch.nn.functional import embedding, linear

from discreet.models.lockstep import LockstepBatch, first_maxima
from discreet.models.protocol import Prompt, ScoredDecoding
from discreet.models.row_check import STEPS, Shape, has_independent_rows
from discreet.system.progress import stage
from discreet_lab.gpu_decoder import kernels
from discreet_lab.gpu_decoder.memory import BatchMemory, Lane, round_tokens
from discreet_lab.gpu_decoder.recorded_step import RecordedStep, Result

_MOST = 65_536
"""The most tokens of one pass."""
_LEAST = 16
"""The least number of rows of a product in Triton."""
_KEYS, _QUERIES, _TOGETHER = 64, 64, 16
"""Keys, and queries of prompts, in a block; queries of new tokens that read the shared part together."""
Attend = Callable[[torch.Tensor, int], torch.Tensor]
"""Maps queries, shape (tokens, heads, size), and the number of a layer to what they attend to, of the same shape."""


@dataclass(frozen=True)
class Layer:
    """The weights of a layer; `joint` holds those of queries, keys and values, `opening` those of gate and rise."""

    first_norm: torch.Tensor
    joint: torch.Tensor
    joint_bias: torch.Tensor | None
    output: torch.Tensor
    second_norm: torch.Tensor
    opening: torch.Tensor
    closing: torch.Tensor


class LlamaDecoder:
    """A Llama model on a GPU (on a CPU where Triton is interpreted, for tests).

    Attributes:
        device: the device of the weights.
        positions: the longest sequence.
        vocabulary: the number of tokens in the vocabulary.
    """

    def __init__(self, model: Any) -> None:
        config = model.config
        self._heads = int(config.num_attention_heads)
        self._groups = int(config.num_key_value_heads)
        self._size = int(getattr(config, "head_dim", None) or config.hidden_size // self._heads)
        self._scale, self._epsilon = self._size**-0.5, float(config.rms_norm_eps)
        inside = model.model
        self._layers = [_layer(part) for part in inside.layers]
        self._norm, self._embedding = inside.norm.weight, inside.embed_tokens.weight
        self._head = model.get_output_embeddings().weight
        self.device, self.vocabulary = self._head.device, len(self._head)
        self.positions = min(int(config.max_position_embeddings), _MOST)
        with torch.inference_mode():
            places = torch.arange(self.positions, device=self._head.device)[None]
            self._cosines, self._sines = (part[0].contiguous() for part in inside.rotary_emb(self._head, places))
        self._checked: dict[tuple[int, int], bool] = {}
        # One lane at most. Finalizers give lanes back, at any moment and in any thread: the two methods are atomic.
        self._idle: deque[Lane] = deque(maxlen=1)

    def has_room(self, shape: Shape) -> bool:
        """Return whether a batch is read in one pass, and its sequences are not too long."""
        return shape.tokens <= _MOST and shape.shared + shape.length + max(shape.steps, STEPS) <= self.positions

    def is_checked(self, shape: Shape) -> bool:
        """Return whether public rows are independent in a batch of this shape; check it if it is new.

        What chooses a kernel is the number of rows, and that of tokens in a pass.
        """
        kind = shape.rows, round_tokens(shape.tokens)
        if kind not in self._checked:
            with stage("Checking that rows are independent in this shape"):
                self._checked[kind] = has_independent_rows(self.start, self.vocabulary, shape)
        return self._checked[kind]

    def start(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> ScoredDecoding:
        """Begin a batch of prompts of one length."""
        return FusedDecoding(self, shared, prompts, max_tokens)

    def take_lane(self, shape: Shape) -> Lane:
        """Return memory with room for a batch, and its step: those of the last batch if it fits.

        Memory of another shape is dropped.
        """
        try:
            kept = self._idle.pop()
        except IndexError:
            pass
        else:
            if kept.memory.fits(shape):
                return kept
            del kept
        memory = BatchMemory(shape, len(self._layers), self._groups, self._size, self._head)

        def step(ids: torch.Tensor) -> Result:
            return self._step(memory, ids)

        example = torch.zeros(shape.rows, dtype=torch.int64, device=self.device)
        return Lane(memory, RecordedStep(step, example) if example.is_cuda else step)

    def give_back(self, lane: Lane) -> None:
        """Keep a lane for the next batch, and no other one."""
        self._idle.append(lane)

    def read(self, memory: BatchMemory, shape: Shape, ids: torch.Tensor) -> Result:
        """Read the shared part and the prompts.

        Args:
            memory: its lengths are set.
            shape: the shape of the batch.
            ids: the shared tokens and those of the prompts, shape (tokens,).

        Returns:
            logits of the next token of each row, shape (rows, vocabulary), and the best tokens.
        """
        device, rest = ids.device, round_tokens(shape.tokens) - shape.tokens
        own = (torch.arange(shape.length, device=device)[None, :] - memory.padding[:, None]).clamp(min=0) + shape.shared
        positions = torch.cat([torch.arange(shape.shared, device=device), own.flatten(), own.new_zeros(rest)])
        ids = torch.cat([ids, ids.new_zeros(rest)])  # their results are dropped, and no other token sees them
        last = shape.shared - 1 + shape.length * torch.arange(1, shape.rows + 1, device=device)

        def attend(query: torch.Tensor, layer: int) -> torch.Tensor:
            return self._attend_prompts(query, memory, shape, layer)

        slots = torch.arange(len(ids), device=device)
        return self._forward(memory, ids, positions, slots, attend, last)

    def _step(self, memory: BatchMemory, ids: torch.Tensor) -> Result:
        def attend(query: torch.Tensor, layer: int) -> torch.Tensor:
            return self._attend_new_token(query, memory, layer)

        return self._forward(memory, ids, memory.new_positions(), memory.new_slots(), attend, None)

    def _forward(
        self,
        memory: BatchMemory,
        ids: torch.Tensor,
        positions: torch.Tensor,
        slots: torch.Tensor,
        attend: Attend,
        last: torch.Tensor | None,
    ) -> Result:
        with torch.inference_mode():
            stream, added = embedding(ids, self._embedding), None
            for number, layer in enumerate(self._layers):
                joint = linear(self._normalize(stream, added, layer.first_norm), layer.joint, layer.joint_bias)
                query = self._rotate_and_store(joint, positions, slots, memory.keys[number], memory.values[number])
                added = linear(attend(query, number).flatten(1), layer.output)
                joint = linear(self._normalize(stream, added, layer.second_norm), layer.opening)
                added = linear(_gate(joint), layer.closing)
            if last is not None:
                assert added is not None
                stream, added = stream[last], added[last]
            logits = linear(self._normalize(stream, added, self._norm), self._head)
            return logits, first_maxima(logits)

    def _normalize(self, stream: torch.Tensor, added: torch.Tensor | None, weight: torch.Tensor) -> torch.Tensor:
        """Add to the stream in place, and return its norm."""
        tokens, width = stream.shape
        normal = torch.empty_like(stream)
        kernels.add_and_normalize[(tokens,)](
            *(stream, stream if added is None else added, weight, normal, self._epsilon, width),
            adds=added is not None,
            block=triton.next_power_of_2(width),
        )
        return normal

    def _rotate_and_store(
        self,
        joint: torch.Tensor,
        positions: torch.Tensor,
        slots: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
    ) -> torch.Tensor:
        tokens, block = len(joint), 32
        query = joint.new_empty((tokens, self._heads, self._size))
        kernels.rotate_and_store[(triton.cdiv(tokens, block), self._heads + 2 * self._groups)](
            *(joint, self._cosines, self._sines, positions, slots, query, keys, values, tokens, keys.shape[1]),
            heads=self._heads,
            groups=self._groups,
            size=self._size,
            half_block=triton.next_power_of_2(self._size // 2),
            block=block,
        )
        return query

    def _attend_prompts(self, query: torch.Tensor, memory: BatchMemory, shape: Shape, layer: int) -> torch.Tensor:
        mixed = torch.empty_like(query)
        mixed[shape.tokens :].zero_()
        blocks = triton.cdiv(shape.shared, _QUERIES) + shape.rows * triton.cdiv(shape.length, _QUERIES)
        kernels.attend_prompts[(blocks, self._heads)](
            *(query, memory.keys[layer], memory.values[layer], memory.padding, mixed),
            *(self._scale, shape.shared, shape.length, memory.keys.shape[2]),
            heads=self._heads,
            below=self._heads // self._groups,
            size=self._size,
            width=max(_LEAST, triton.next_power_of_2(self._size)),
            queries=_QUERIES,
            block=_KEYS,
            num_stages=2,  # of the pipeline that loads keys; 64 x 64 x 2 was the fastest of eight on an H200
        )
        return mixed

    def _attend_new_token(self, query: torch.Tensor, memory: BatchMemory, layer: int) -> torch.Tensor:
        below = self._heads // self._groups
        width = max(_LEAST, triton.next_power_of_2(self._size))
        queries = memory.rows * self._heads
        means = query.new_empty((2, queries, self._size), dtype=torch.float32)
        weights = query.new_empty((2, queries, 2), dtype=torch.float32)
        kernels.attend_new_token[(memory.rows + triton.cdiv(memory.rows * below, _TOGETHER), self._groups)](
            *(query, memory.keys[layer], memory.values[layer], memory.padding, memory.numbers, means, weights),
            *(self._scale, memory.rows, memory.prompts, memory.steps, memory.keys.shape[2]),
            groups=self._groups,
            below=below,
            size=self._size,
            width=width,
            asked=max(_LEAST, triton.next_power_of_2(below)),
            together=_TOGETHER,
            block=_KEYS,
        )
        mixed = torch.empty_like(query)
        kernels.join_parts[(queries,)](means, weights, mixed, queries, size=self._size, width=width, num_warps=1)
        return mixed


def _gate(joint: torch.Tensor) -> torch.Tensor:
    """Return SiLU of the first half of the numbers times the second half, shape (tokens, inner)."""
    tokens, inner, block = len(joint), joint.shape[1] // 2, 1024
    gated = joint.new_empty((tokens, inner))
    kernels.gate[(tokens, triton.cdiv(inner, block))](joint, gated, inner, block=block)
    return gated


def _layer(part: Any) -> Layer:
    attention, feed = part.self_attn, part.mlp
    projections = (attention.q_proj, attention.k_proj, attention.v_proj)
    biases = [projection.bias for projection in projections]
    return Layer(
        first_norm=part.input_layernorm.weight,
        joint=_join(*projections),
        joint_bias=None if biases[0] is None else torch.cat(biases).detach(),
        output=attention.o_proj.weight,
        second_norm=part.post_attention_layernorm.weight,
        opening=_join(feed.gate_proj, feed.up_proj),
        closing=feed.down_proj.weight,
    )


def _join(*parts: Any) -> torch.Tensor:
    """Join the weights of linear layers to one matrix, whose rows those layers then use: no weight is held twice."""
    joined = torch.cat([part.weight.detach() for part in parts])
    for part, own in zip(parts, torch.split(joined, [len(part.weight) for part in parts]), strict=True):
        part.weight.data = own
    return joined


# --- decoding in lock-step by the forward pass above ------------------------------------------------------------------


class FusedDecoding(LockstepBatch):
    """A batch of prompts of one length that are continued in lock-step, on a GPU."""

    def __init__(
        self, decoder: LlamaDecoder, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int
    ) -> None:
        super().__init__(len(prompts), max_tokens)
        shape = Shape(len(prompts), len(shared), len(prompts[0].tokens), max_tokens)
        lane = decoder.take_lane(shape)
        weakref.finalize(self, decoder.give_back, lane)
        self._memory, self._step = lane.memory, lane.step
        self._memory.set_batch(shape, torch.tensor([prompt.padding for prompt in prompts]))
        ids = torch.tensor([*shared, *(token for prompt in prompts for token in prompt.tokens)], device=decoder.device)
        self._logits, best = decoder.read(self._memory, shape, ids)
        self._best = best.cpu().numpy()

    def _feed_each(self, tokens: Sequence[int]) -> None:
        self._memory.set_appended(self._appended)
        self._logits, best = self._step(torch.tensor(list(tokens), device=self._logits.device))
        self._best = best.cpu().numpy()
