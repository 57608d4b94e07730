"""The own loop on a GPU: prefill and step of a question's rows, beside the floors of arithmetic and of bytes.

    .venv/bin/python -m benchmarks.gpu [--shape 1B,3B,8B] [--rows 41] [--anyway] [--csv FILE]
    .venv/bin/python -m benchmarks.gpu --shape tiny --device cpu     # whether it runs; the times mean nothing

The weights are random, in the shapes of Llama models of these sizes, so nothing is downloaded. Times do not depend on
the values. A question has 41 rows of 187 tokens after 328 shared tokens, and 32 steps: the default of `consensus`.

For each shape the table has the time of the prefill, of a step and of a question (a prefill and its steps), each with
the floor on this device: of the prefill the products with weights at the best measured rate of a product, of a step the
bytes of weights and KV cache at the measured rate of reading. The aim is a question of at most 1.5 times its floor.

"row check" is the check with which a vault loads a model: equal public rows must have equal results. If it refuses, a
vault would not load this model on this device, so the shape is not measured; with --anyway it is. The last column tells
whether the other rows have the same bits when row 0 is exchanged and when the order is turned, in the prefill and after
a step. Ends with 1 if a shape was refused, or if a row changed.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.writing import TableWriter, add_csv_option

from discreet.errors import DiscreetError
from discreet.generation.model import Prompt
from discreet.numerics.row_determinism import enforce_row_determinism

AIM = 1.5
"""The most that a question should take, over its floor."""
COLUMNS = (
    *("shape", "device", "prefill, ms", "prefill / floor", "step, ms", "step / floor"),
    *("question, ms", "question / floor", f"aim of {AIM}", "row check", "equal bits"),
)
PASSED, REFUSED = "passed", "REFUSED"
VOCABULARY = 128_256
_LARGE = 8192


@dataclass(frozen=True)
class Shape:
    """The shape of a Llama model.

    Attributes:
        hidden, layers, heads, inner: its width, depth, heads of queries, and the width of its feed-forward layers.
        tied: whether the output layer is the embedding.
        groups: the heads of keys and values.
        vocabulary: the number of tokens.
    """

    hidden: int
    layers: int
    heads: int
    inner: int
    tied: bool = True
    groups: int = 8
    vocabulary: int = VOCABULARY


SHAPES = {
    "tiny": Shape(64, 2, 4, 128, groups=2, vocabulary=512),
    "1B": Shape(2048, 16, 32, 8192),
    "3B": Shape(3072, 28, 24, 8192),
    "8B": Shape(4096, 32, 32, 14336, tied=False),
}


@dataclass(frozen=True)
class Question:
    """The public lengths of a question."""

    rows: int = 41
    shared: int = 328
    own: int = 187
    steps: int = 32

    def prompts(self, seed: int, vocabulary: int) -> list[Prompt]:
        """Return rows of random tokens, some with padding."""
        draw = np.random.default_rng(seed)
        pads = [int(pad) for pad in draw.integers(0, self.own // 2, self.rows)]
        tokens = draw.integers(0, vocabulary, (self.rows, self.own)).tolist()
        return [Prompt(tuple(own), pad) for own, pad in zip(tokens, pads, strict=True)]


def random_model(shape: Shape, device: str) -> Any:
    """Return a model with random weights in bfloat16."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.groups,
        intermediate_size=shape.inner,
        vocab_size=shape.vocabulary,
        tie_word_embeddings=shape.tied,
        max_position_embeddings=8192,
    )
    torch.manual_seed(0)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device(device):
            model: Any = LlamaForCausalLM(config)
    finally:
        torch.set_default_dtype(before)
    return model.eval()


def milliseconds(work: Callable[[], Any], device: str, times: int) -> float:
    """Return the median time of `work` on a device, after one call that warms it up."""
    import torch

    def synchronize() -> None:
        if device == "cuda":
            torch.cuda.synchronize()

    work()
    taken = []
    for _ in range(times):
        synchronize()
        begun = time.perf_counter()
        work()
        synchronize()
        taken.append(1000 * (time.perf_counter() - begun))
    return statistics.median(taken)


def floors(model: Any, question: Question, device: str) -> tuple[float, float]:
    """Return the least time of a prefill, by its products, and that of a step, by its bytes, in milliseconds."""
    import torch

    size = _LARGE if device == "cuda" else 256
    square = torch.ones(size, size, dtype=torch.bfloat16, device=device)
    rate = 2 * size**3 / milliseconds(lambda: square @ square, device, 5)
    layers = sum(weight.numel() for name, weight in model.named_parameters() if ".layers." in name)
    fed = question.shared + question.rows * question.own
    block = torch.ones(size * size, dtype=torch.float32, device=device)
    reading = 4 * block.numel() / milliseconds(lambda: block.sum(), device, 5)
    config = model.config
    head = config.hidden_size // config.num_attention_heads
    held = question.shared + question.rows * (question.own + question.steps)
    numbers = sum(weight.numel() for weight in model.parameters())
    numbers += 2 * config.num_hidden_layers * config.num_key_value_heads * head * held
    return 2 * layers * fed / rate, 2 * numbers / reading


def begin(model: Any, question: Question, prompts: Sequence[Prompt]) -> Any:
    """Return a batch that read its prompts."""
    from discreet.generation.torch_backend.decoding import LockstepDecoding

    shared = [7 + place % 100 for place in range(question.shared)]
    return LockstepDecoding(model, shared, prompts, question.steps)


def has_equal_bits(model: Any, question: Question) -> bool:
    """Return whether rows keep their bits when row 0 is exchanged, and when the order is turned."""
    vocabulary = int(model.config.vocab_size)
    prompts, others = question.prompts(0, vocabulary), question.prompts(1, vocabulary)

    def read(rows: Sequence[Prompt]) -> list[bytes]:
        decoding = begin(model, question, rows)
        first = decoding.logits()
        decoding.append(11)
        second = decoding.logits()
        return [one.tobytes() + other.tobytes() for one, other in zip(first, second, strict=True)]

    expected = read(prompts)
    return read([others[0], *prompts[1:]])[1:] == expected[1:] and read(prompts[::-1])[::-1] == expected


def check_rows(name: str, model: Any) -> bool:
    """Return whether a vault would load the model on this device; say why it would not."""
    try:
        enforce_row_determinism(model)
    except DiscreetError as error:
        print(f"{name}: a vault would not load this model here. {error}", file=sys.stderr)
        return False
    return True


def measure(name: str, model: Any, device: str, question: Question, *, anyway: bool) -> tuple[str, ...]:
    """Return the row of a shape; without times if the row check refuses the model, unless `anyway`."""
    import torch

    shown = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    passed = check_rows(name, model)
    if not (passed or anyway):
        return (name, shown, *[""] * 7, REFUSED, "")
    prefill, step = times(model, question, device)
    least_prefill, least_step = floors(model, question, device)
    whole, least = prefill + question.steps * step, least_prefill + question.steps * least_step
    return (
        *(name, shown, f"{prefill:.1f}", f"{prefill / least_prefill:.2f}", f"{step:.2f}", f"{step / least_step:.2f}"),
        *(f"{whole:.0f}", f"{whole / least:.2f}", "met" if whole <= AIM * least else "missed"),
        *(PASSED if passed else REFUSED, "yes" if has_equal_bits(model, question) else "NO"),
    )


def times(model: Any, question: Question, device: str) -> tuple[float, float]:
    """Return the time of a prefill, and that of a step in the middle of the answer, in milliseconds."""
    prompts = question.prompts(0, int(model.config.vocab_size))
    prefill = milliseconds(lambda: begin(model, question, prompts), device, 3)
    decoding = begin(model, question, prompts)

    def step() -> None:
        decoding.truncate(question.steps // 2)
        decoding.append(11)

    for _ in range(question.steps // 2):
        decoding.append(11)
    return prefill, milliseconds(step, device, 10)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return 1 if a shape was refused or a row depends on others, 2 without a GPU."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", default="1B,3B,8B", help="tiny, 1B, 3B, 8B, separated by commas")
    parser.add_argument("--rows", type=int, default=41)
    parser.add_argument("--own", type=int, default=187, help="tokens of a row")
    parser.add_argument("--shared", type=int, default=328, help="tokens before all rows")
    parser.add_argument("--anyway", action="store_true", help="measure a shape that the row check refuses, too")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    wanted = given.shape.split(",")
    if unknown := [name for name in wanted if name not in SHAPES]:
        parser.error(f"There is no shape {unknown[0]}. Shapes: {', '.join(SHAPES)}.")
    import torch

    if given.device == "cuda" and not torch.cuda.is_available():
        print(
            "No GPU is here, so nothing was measured. To see whether the benchmark runs: "
            "python -m benchmarks.gpu --shape tiny --device cpu",
            file=sys.stderr,
        )
        return 2
    torch.use_deterministic_algorithms(True, warn_only=True)
    table, sound = TableWriter(COLUMNS, given.csv), True
    question = Question(given.rows, given.shared, given.own)
    for name in wanted:
        row = measure(name, random_model(SHAPES[name], given.device), given.device, question, anyway=given.anyway)
        sound = sound and row[-2:] == (PASSED, "yes")
        table.write(row)
        if given.device == "cuda":
            torch.cuda.empty_cache()
    return 0 if sound else 1


if __name__ == "__main__":
    import os

    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    sys.exit(main())
