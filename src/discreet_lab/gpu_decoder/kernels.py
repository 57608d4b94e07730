"""The kernels of a Llama model that are not matrix products, in Triton.

A CUDA build of torch installs Triton. Tests run these kernels on a CPU by Triton's interpreter.

No program of a kernel reads what belongs to another row, and loops follow from public lengths: padding is read and then
masked, so no instruction depends on it. Attention is computed block after block with the largest score so far
(Milakov and Gimelshein 2018, "Online normalizer calculation for softmax"; Dao et al. 2022, "FlashAttention").

The tokens of a question are laid out as in memory.py: the shared part, the prompts one after the other, and behind them
room for the new tokens of each row.
"""

import triton
import triton.language as tl

LEAST = tl.constexpr(-1.0e30)
"""Below any score, and finite: a block without a visible token must not yield "not a number"."""


@triton.jit
def add_and_normalize(stream, added, weight, normal, epsilon, width, adds: tl.constexpr, block: tl.constexpr):
    """Add `added` to `stream` if `adds` is set, and write the root-mean-square norm, a token each program."""
    token = tl.program_id(0).to(tl.int64)
    parts = tl.arange(0, block)
    there = parts < width
    numbers = tl.load(stream + token * width + parts, mask=there, other=0.0)
    if adds:
        numbers += tl.load(added + token * width + parts, mask=there, other=0.0)
        tl.store(stream + token * width + parts, numbers, mask=there)
    wide = numbers.to(tl.float32)
    scaled = wide * tl.rsqrt(tl.sum(wide * wide, 0) / width + epsilon)
    factor = tl.load(weight + parts, mask=there, other=0.0)
    tl.store(normal + token * width + parts, scaled.to(numbers.dtype) * factor, mask=there)


@triton.jit
def gate(joint, gated, inner, block: tl.constexpr):
    """Multiply SiLU of the first half of each token's numbers by the second half."""
    token = tl.program_id(0).to(tl.int64)
    parts = tl.program_id(1) * block + tl.arange(0, block)
    there = parts < inner
    opened = tl.load(joint + 2 * token * inner + parts, mask=there, other=0.0).to(tl.float32)
    raised = tl.load(joint + (2 * token + 1) * inner + parts, mask=there, other=0.0).to(tl.float32)
    tl.store(gated + token * inner + parts, (opened / (1.0 + tl.exp(-opened)) * raised), mask=there)


@triton.jit(do_not_specialize=["tokens", "room"])
def rotate_and_store(
    joint,
    cosines,
    sines,
    positions,
    slots,
    query,
    keys,
    values,
    tokens,
    room,
    heads: tl.constexpr,
    groups: tl.constexpr,
    size: tl.constexpr,
    half_block: tl.constexpr,
    block: tl.constexpr,
):
    """Rotate queries and keys by their positions; write keys and values into their slots. A head each program.

    `joint` has shape (tokens, heads + 2 groups, size): queries, keys and values of each token.
    """
    token = (tl.program_id(0) * block + tl.arange(0, block)).to(tl.int64)
    head = tl.program_id(1)
    half: tl.constexpr = size // 2
    parts = tl.arange(0, half_block)
    there = (token < tokens)[:, None] & (parts < half)[None, :]
    read = joint + (token[:, None] * (heads + 2 * groups) + head) * size + parts[None, :]
    left, right = tl.load(read, mask=there, other=0.0), tl.load(read + half, mask=there, other=0.0)
    if head < heads + groups:
        turn = tl.load(positions + token, mask=token < tokens, other=0)[:, None] * size + parts[None, :]
        first = left.to(tl.float32) * tl.load(cosines + turn, mask=there, other=0.0).to(tl.float32)
        first -= right.to(tl.float32) * tl.load(sines + turn, mask=there, other=0.0).to(tl.float32)
        second = right.to(tl.float32) * tl.load(cosines + turn + half, mask=there, other=0.0).to(tl.float32)
        second += left.to(tl.float32) * tl.load(sines + turn + half, mask=there, other=0.0).to(tl.float32)
        left, right = first.to(left.dtype), second.to(right.dtype)
    if head < heads:
        write = query + (token[:, None] * heads + head) * size + parts[None, :]
        tl.store(write, left, mask=there)
        tl.store(write + half, right, mask=there)
    else:
        slot = tl.load(slots + token, mask=token < tokens, other=0)[:, None]
        if head < heads + groups:
            write = keys + ((head - heads).to(tl.int64) * room + slot) * size + parts[None, :]
        else:
            write = values + ((head - heads - groups).to(tl.int64) * room + slot) * size + parts[None, :]
        tl.store(write, left, mask=there)
        tl.store(write + half, right, mask=there)


@triton.jit(do_not_specialize=["shared", "length", "room"])
def attend_prompts(
    query,
    keys,
    values,
    padding,
    mixed,
    scale,
    shared,
    length,
    room,
    heads: tl.constexpr,
    below: tl.constexpr,
    size: tl.constexpr,
    width: tl.constexpr,
    queries: tl.constexpr,
    block: tl.constexpr,
):
    """Attend to what each token of the shared part and of the prompts may see. A block of queries of a head each."""
    number, head = tl.program_id(0), tl.program_id(1)
    shared_blocks, own_blocks = tl.cdiv(shared, queries), tl.cdiv(length, queries)
    is_own = number >= shared_blocks
    row = tl.maximum(number - shared_blocks, 0) // own_blocks
    begin = tl.where(is_own, shared + row * length, 0)  # of the sequence: the shared part, or a prompt
    count = tl.where(is_own, length, shared)
    before = tl.where(is_own, shared, 0)
    start = tl.where(is_own, tl.maximum(number - shared_blocks, 0) % own_blocks, number) * queries
    padded = tl.load(padding + row, mask=is_own, other=0)
    asking, parts = start + tl.arange(0, queries), tl.arange(0, width)
    asked = (asking < count)[:, None] & (parts < size)[None, :]
    places = ((begin + asking).to(tl.int64)[:, None] * heads + head) * size + parts[None, :]
    asks = tl.load(query + places, mask=asked, other=0.0)
    largest, total, mean = _nothing(queries, width)
    group = (head // below).to(tl.int64) * room
    for first in range(0, before, block):
        seen = first + tl.arange(0, block)
        key, value = _read(keys, values, group + seen, seen < before, parts, size)
        scores = tl.dot(asks, tl.trans(key), input_precision="ieee") * scale
        scores = tl.where((seen < before)[None, :], scores, float("-inf"))
        largest, total, mean = _add(scores, value, largest, total, mean)
    end = tl.minimum(start + queries, count)
    for first in range(0, end, block):
        seen = first + tl.arange(0, block)
        key, value = _read(keys, values, group + begin + seen, seen < end, parts, size)
        scores = tl.dot(asks, tl.trans(key), input_precision="ieee") * scale
        itself = seen[None, :] == asking[:, None]  # a padding token sees itself: no row of scores is empty
        visible = (seen[None, :] <= asking[:, None]) & (seen < end)[None, :] & ((seen >= padded)[None, :] | itself)
        scores = tl.where(visible, scores, float("-inf"))
        largest, total, mean = _add(scores, value, largest, total, mean)
    mean = mean / tl.where(asking < count, total, 1.0)[:, None]
    tl.store(mixed + places, mean.to(asks.dtype), mask=asked)


@triton.jit(do_not_specialize=["rows", "prompts", "steps", "room"])
def attend_new_token(
    query,
    keys,
    values,
    padding,
    numbers,
    means,
    weights,
    scale,
    rows,
    prompts,
    steps,
    room,
    groups: tl.constexpr,
    below: tl.constexpr,
    size: tl.constexpr,
    width: tl.constexpr,
    asked: tl.constexpr,
    together: tl.constexpr,
    block: tl.constexpr,
):
    """Attend from the new token of each row, to the row's own part and to the shared part apart from each other.

    The first programs take a row each; the others take `together` queries of several rows, which all read the shared
    part. `numbers` holds the tokens of the shared part, those of a prompt, and the appended tokens before the new one.
    They are read here, so that a recorded step serves other lengths, too.

    Writes for both parts the mean of the values, shape (2, rows, heads, size), and the largest score and the sum of
    weights relative to it, shape (2, rows, heads, 2).
    """
    number, group = tl.program_id(0), tl.program_id(1)
    base = group.to(tl.int64) * room
    # The branches have names of their own, for a name has one shape in Triton.
    if number < rows:
        heads = tl.arange(0, asked)
        places = (number * groups + group) * below + heads
        own, new = base + tl.load(numbers) + number * tl.load(numbers + 1), base + prompts + number * steps
        _attend_own(
            query, keys, values, means, weights, padding + number, numbers, places, heads < below, own, new, scale,
            size, width, asked, block,
        )  # fmt: skip
    else:
        asking = (number - rows) * together + tl.arange(0, together)
        _attend_shared(
            query, keys, values, means, weights, numbers, ((asking // below) * groups + group) * below + asking % below,
            asking < rows * below, base, rows * groups * below, scale, size, width, together, block,
        )  # fmt: skip


@triton.jit
def _attend_own(
    query, keys, values, means, weights, padding, numbers, places, there, own, new, scale,
    size: tl.constexpr, width: tl.constexpr, count: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """Attend to a row's own part: its prompt, and its new tokens."""
    parts = tl.arange(0, width)
    asks = _read_queries(query, places, there, parts, size)
    largest, total, mean = _nothing(count, width)
    padded, length, appended = tl.load(padding), tl.load(numbers + 1), tl.load(numbers + 2)
    largest, total, mean = _add_tokens(
        asks, keys, values, own, padded, length, scale, parts, largest, total, mean, size, block
    )
    largest, total, mean = _add_tokens(
        asks, keys, values, new, 0, appended + 1, scale, parts, largest, total, mean, size, block
    )
    _write_part(means, weights, places, there, parts, largest, total, mean, size)


@triton.jit
def _attend_shared(
    query, keys, values, means, weights, numbers, places, there, base, behind, scale,
    size: tl.constexpr, width: tl.constexpr, count: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """Attend to the shared part, and write the result `behind` that of the own parts."""
    parts = tl.arange(0, width)
    asks = _read_queries(query, places, there, parts, size)
    largest, total, mean = _nothing(count, width)
    largest, total, mean = _add_tokens(
        asks, keys, values, base, 0, tl.load(numbers), scale, parts, largest, total, mean, size, block
    )
    _write_part(means, weights, behind + places, there, parts, largest, total, mean, size)


@triton.jit(do_not_specialize=["heads"])
def join_parts(means, weights, mixed, heads, size: tl.constexpr, width: tl.constexpr):
    """Join the means of both parts of a query by their weights. A query each program, of `heads` in all rows."""
    head = tl.program_id(0).to(tl.int64)
    parts = tl.arange(0, width)
    first, second = tl.load(weights + 2 * head), tl.load(weights + 2 * (heads + head))
    larger = tl.maximum(first, second)
    first = tl.exp(first - larger) * tl.load(weights + 2 * head + 1)
    second = tl.exp(second - larger) * tl.load(weights + 2 * (heads + head) + 1)
    own = tl.load(means + head * size + parts, mask=parts < size, other=0.0)
    shared = tl.load(means + (heads + head) * size + parts, mask=parts < size, other=0.0)
    mean = (first * own + second * shared) / (first + second)
    tl.store(mixed + head * size + parts, mean.to(mixed.dtype.element_ty), mask=parts < size)


@triton.jit
def _read_queries(query, places, there, parts, size: tl.constexpr):
    mask = there[:, None] & (parts < size)[None, :]
    return tl.load(query + places[:, None] * size + parts[None, :], mask=mask, other=0.0)


@triton.jit
def _nothing(count: tl.constexpr, width: tl.constexpr):
    """Return a running softmax before the first token: the largest score, the sum of weights, and the mean."""
    return (
        tl.full([count], LEAST, tl.float32),
        tl.zeros([count], tl.float32),
        tl.zeros([count, width], tl.float32),
    )


@triton.jit
def _write_part(means, weights, places, there, parts, largest, total, mean, size: tl.constexpr):
    mean = mean / tl.where(total > 0.0, total, 1.0)[:, None]
    mask = there[:, None] & (parts < size)[None, :]
    tl.store(means + places[:, None] * size + parts[None, :], mean, mask=mask)
    tl.store(weights + 2 * places, largest, mask=there)
    tl.store(weights + 2 * places + 1, total, mask=there)


@triton.jit
def _add_tokens(
    asks, keys, values, base, first, end, scale, parts, largest, total, mean, size: tl.constexpr, block: tl.constexpr
):
    """Add the tokens of a part from `first` to `end`; those before `first` are read and masked."""
    for start in range(0, end, block):
        seen = start + tl.arange(0, block)
        key, value = _read(keys, values, base + seen, seen < end, parts, size)
        scores = tl.dot(asks, tl.trans(key), input_precision="ieee") * scale
        scores = tl.where(((seen < end) & (seen >= first))[None, :], scores, float("-inf"))
        largest, total, mean = _add(scores, value, largest, total, mean)
    return largest, total, mean


@triton.jit
def _read(keys, values, slots, there, parts, size: tl.constexpr):
    """Return keys and values of slots, with zeros where none is."""
    places = slots[:, None] * size + parts[None, :]
    mask = there[:, None] & (parts < size)[None, :]
    return tl.load(keys + places, mask=mask, other=0.0), tl.load(values + places, mask=mask, other=0.0)


@triton.jit
def _add(scores, value, largest, total, mean):
    """Add a block of tokens to the running softmax."""
    larger = tl.maximum(largest, tl.max(scores, 1))
    weights = tl.exp(scores - larger[:, None])
    kept = tl.exp(largest - larger)
    mean = mean * kept[:, None] + tl.dot(weights.to(value.dtype), value, input_precision="ieee")
    return larger, total * kept + tl.sum(weights, 1), mean
