"""The forward pass on a GPU: its time beside its floors, and whether rows keep their answers."""

import argparse
import importlib.metadata
import importlib.util
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet.demo.corpus import documents
from discreet.errors import DiscreetError
from discreet.generation.answers import decode_rows
from discreet.generation.loading import PACKAGED, load_model
from discreet.generation.model import Logits, Prompt, ScoredDecoding
from discreet.generation.prompts import layout
from discreet.generation.torch_backend.decoding import LockstepDecoding
from discreet.generation.torch_backend.row_check import Shape as BatchShape
from discreet.generation.torch_backend.transformers_model import TransformersModel
from discreet.generation.vllm_model import VLLMModel, open_vllm
from discreet.numerics import choose_kernels_by_shape, enforce_row_determinism
from discreet_lab.experiments.common import TableWriter, add_csv_option
from discreet_lab.gpu_decoder.loading import open_decoder

AIM = 1.5
"""The most that a question should take, over its floor."""
COLUMNS = (
    *("shape", "forward pass", "device", "prefill, ms", "prefill / floor", "step, ms", "step / floor"),
    *("question, ms", "question / floor", f"aim of {AIM}", "first question, ms", "row check", "equal bits"),
)
PASSED, REFUSED = "passed", "REFUSED"
VOCABULARY = 128_256
_LARGE, _MUCH = 8192, 2**30
"""The side of a large square matrix; the numbers of a large block: more than any cache of a GPU holds."""


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


@dataclass(frozen=True)
class Loop:
    """A model, and the forward pass of this package over its weights; without one, the library's is measured."""

    model: Any
    decoder: Any


SHAPES = {
    "tiny": Shape(64, 2, 4, 128, groups=2, vocabulary=512),
    "135M": Shape(576, 30, 9, 1536, groups=3, vocabulary=49_152),
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
    products, numbers = work_of(model, question)
    return products / rate_of_products(device), 2 * numbers / rate_of_bytes(device)


def work_of(model: Any, question: Question) -> tuple[int, int]:
    """Return the operations of a prefill, and the numbers that a step reads: weights, keys and values."""
    layers = sum(weight.numel() for name, weight in model.named_parameters() if ".layers." in name)
    fed = question.shared + question.rows * question.own
    config = model.config
    head = config.hidden_size // config.num_attention_heads
    held = question.shared + question.rows * (question.own + question.steps)
    read = sum(weight.numel() for weight in model.parameters())
    if not config.tie_word_embeddings:
        read -= model.get_input_embeddings().weight.numel()  # a step reads some rows of it
    return 2 * layers * fed, read + 2 * config.num_hidden_layers * config.num_key_value_heads * head * held


def rate_of_products(device: str) -> float:
    """Return the operations that a large product of random numbers makes in a millisecond."""
    import torch

    size = _LARGE if device == "cuda" else 256
    square = torch.randn(size, size, dtype=torch.bfloat16, device=device)
    return 2 * size**3 / milliseconds(lambda: square @ square, device, 5)


def rate_of_bytes(device: str) -> float:
    """Return the bytes that are moved in a millisecond: by a large sum, or by a large copy, the better of the two."""
    import torch

    block = torch.ones((_MUCH if device == "cuda" else 2**16,), dtype=torch.float32, device=device)
    other, size = torch.empty_like(block), 4 * block.numel()
    copied = 2 * size / milliseconds(lambda: other.copy_(block), device, 5)
    return max(size / milliseconds(lambda: block.sum(), device, 5), copied)


def begin(loop: Loop, question: Question, prompts: Sequence[Prompt]) -> Any:
    """Return a batch that read its prompts."""
    shared = [7 + place % 100 for place in range(question.shared)]
    if loop.decoder is not None:
        from discreet_lab.gpu_decoder.decoding import FusedDecoding

        return FusedDecoding(loop.decoder, shared, prompts, question.steps)
    from discreet.generation.torch_backend.decoding import LockstepDecoding

    return LockstepDecoding(loop.model, shared, prompts, question.steps)


def has_equal_bits(loop: Loop, question: Question) -> bool:
    """Return whether rows keep their bits when row 0 is exchanged, the order is turned, or all move by one place."""
    vocabulary = int(loop.model.config.vocab_size)
    prompts, others = question.prompts(0, vocabulary), question.prompts(1, vocabulary)

    def read(rows: Sequence[Prompt]) -> list[bytes]:
        decoding = begin(loop, question, rows)
        found = [decoding.logits()]
        for token in range(min(3, question.steps)):  # computed, recorded, replayed
            decoding.append(11 + token)
            found.append(decoding.logits())
        return [b"".join(step[row].tobytes() for step in found) for row in range(len(rows))]

    expected = read(prompts)
    moved = read([*prompts[1:], prompts[0]])  # as a removal moves the rows behind it
    turned, exchanged = read(prompts[::-1]), read([others[0], *prompts[1:]])
    return exchanged[1:] == expected[1:] and turned[::-1] == expected and [moved[-1], *moved[:-1]] == expected


def check_rows(name: str, model: Any) -> bool:
    """Return whether a vault would load the model on this device; say why it would not."""
    try:
        enforce_row_determinism(model)
    except DiscreetError as error:
        print(f"{name}: a vault would not load this model here. {error}", file=sys.stderr)
        return False
    return True


def measure(
    name: str, model: Any, device: str, question: Question, *, anyway: bool = False, library: bool = False
) -> tuple[str, ...]:
    """Return the row of a shape; without times if the row check refuses the model, unless `anyway`."""
    import torch

    shown = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    passed = check_rows(name, model)
    if not (passed or anyway):
        return (name, "", shown, *[""] * 8, REFUSED, "")
    usual = BatchShape(question.rows, question.shared, question.own, question.steps)
    loop = Loop(model, None if library else open_decoder(model, usual))
    prefill, step, whole, first = times(loop, question, device)
    least_prefill, least_step = floors(model, question, device)
    least = least_prefill + question.steps * least_step
    return (
        *(name, "library" if loop.decoder is None else "own", shown),
        *(f"{prefill:.1f}", f"{prefill / least_prefill:.2f}", f"{step:.2f}", f"{step / least_step:.2f}"),
        *(f"{whole:.0f}", f"{whole / least:.2f}", "met" if whole <= AIM * least else "missed", f"{first:.0f}"),
        *(PASSED if passed else REFUSED, "yes" if has_equal_bits(loop, question) else "NO"),
    )


def times(loop: Loop, question: Question, device: str) -> tuple[float, float, float, float]:
    """Return the times of a prefill, of a step, of a whole question, and of the first question, in milliseconds.

    The first question of a shape records its step. Kernels were compiled before: a check at loading runs them.
    """
    prompts = question.prompts(0, int(loop.model.config.vocab_size))

    def answer() -> None:
        decoding = begin(loop, question, prompts)
        for _ in range(question.steps):
            decoding.append(int(decoding.best()[0]))

    begun = time.perf_counter()
    answer()
    first = 1000 * (time.perf_counter() - begun)
    step = time_of_step(loop, question, prompts, device)
    prefill = milliseconds(lambda: begin(loop, question, prompts), device, 5)
    return prefill, step, milliseconds(answer, device, 5), first


def time_of_step(loop: Loop, question: Question, prompts: Sequence[Prompt], device: str) -> float:
    """Return the time of a step in the middle of the answer, in milliseconds."""
    decoding = begin(loop, question, prompts)
    for _ in range(question.steps // 2):
        decoding.append(11)

    def step() -> None:
        decoding.truncate(question.steps // 2)
        decoding.append(11)

    return milliseconds(step, device, 10)


def time_shapes(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> int:
    """The own loop on a GPU: prefill and step of a question's rows, beside the floors of arithmetic and of bytes.

    `--shape tiny --device cpu` tells whether it runs; its times mean nothing.

    The weights are random, in the shapes of Llama models of these sizes, so nothing is downloaded. No instruction
    depends on the values. A question has 41 rows of 187 tokens after 328 shared tokens, and 32 steps: the default
    of `consensus`.

    For each shape the table has the time of the prefill, of a step and of a question (a prefill and its steps,
    measured as a whole), each over its floor on this device: of the prefill the products with weights at the
    measured rate of a large product, of a step the bytes of weights and KV cache at the measured rate of a large
    copy or sum. The aim is a question of at most 1.5 times its floor. The first question also records its step.

    "own" is the forward pass of this package (discreet_lab.gpu_decoder), "library" that of transformers (--library),
    which serves every other model.

    "row check" is the check with which a vault loads a model: equal public rows must have equal results. If it
    refuses, a vault would not load this model on this device, so the shape is not measured; with --anyway it is.
    The last column tells whether the other rows have the same bits when row 0 is exchanged and when the order is
    turned, in the prefill and after a step. Ends with 1 if a shape was refused, or if a row changed.
    """
    parser.add_argument("--shape", default="1B,3B,8B", help="tiny, 135M, 1B, 3B, 8B, separated by commas")
    parser.add_argument("--rows", type=int, default=41)
    parser.add_argument("--own", type=int, default=187, help="tokens of a row")
    parser.add_argument("--shared", type=int, default=328, help="tokens before all rows")
    parser.add_argument("--anyway", action="store_true", help="measure a shape that the row check refuses, too")
    parser.add_argument("--library", action="store_true", help="measure the forward pass of transformers")
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
            "python -m discreet_lab.experiments decoding gpu --shape tiny --device cpu",
            file=sys.stderr,
        )
        return 2
    choose_kernels_by_shape()
    table, sound = TableWriter(COLUMNS, given.csv), True
    question = Question(given.rows, given.shared, given.own)
    for name in wanted:
        model = random_model(SHAPES[name], given.device)
        row = measure(name, model, given.device, question, anyway=given.anyway, library=given.library)
        sound = sound and row[-2:] == (PASSED, "yes")
        table.write(row)
        del model
        if given.device == "cuda":
            torch.cuda.empty_cache()
    return 0 if sound else 1


ASKED = "I have white hands, numb thumbs and a weak grip. What is the disease?"
DEVICES = ("forward pass", "device", "question, ms", "equal answers", "first logits")
STEPS = 32


@dataclass(frozen=True)
class Answers:
    """The answers of all rows as tokens, the logits before the first token, and the milliseconds of a question."""

    tokens: list[list[int]]
    first: Logits
    milliseconds: float


def prompts_of(model: TransformersModel, voters: int) -> tuple[Sequence[int], list[Prompt]]:
    """Return the shared tokens and the prompts of a question."""
    laid = layout(model, ASKED, max_tokens=STEPS)
    texts = [document.text for document in documents(voters)]
    return laid.shared, [*(laid.prompt(model.encode(text)) for text in texts), laid.prompt()]


def answer(start: Callable[[], ScoredDecoding], ends: frozenset[int], times: int) -> Answers:
    """Return the answers, and the median time of a question, after one that warms up if there are several."""
    taken: list[float] = []
    for _ in range(times):
        begun = time.perf_counter()
        decoding = start()
        first = decoding.logits()
        rows = decode_rows(decoding, decoding.best(), STEPS, ends, all_steps=True)
        taken.append(1000 * (time.perf_counter() - begun))
        del decoding  # its memory serves the next question
    return Answers([tokens for tokens, _ in rows], first, statistics.median(taken[1:] or taken))


def compare(name: str, device: str, found: Answers, expected: Answers) -> tuple[str, ...]:
    """Return the row of a forward pass."""
    equal = sum(one == other for one, other in zip(found.tokens, expected.tokens, strict=True))
    apart = np.linalg.norm(found.first - expected.first) / np.linalg.norm(expected.first)
    return name, device, f"{found.milliseconds:.0f}", f"{equal} of {len(expected.tokens)}", f"{apart:.4f}"


def compare_devices(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> int:
    """The packaged model on a GPU: whether its answers are those of the processor, and the time.

    Each voter reads a record of the demo corpus, and the last row reads none; all answer one question with 32
    tokens. Rounding differs between devices, so an answer may differ where two tokens are almost equally likely.
    "equal answers" counts the rows that say the same as on the processor; "first logits" is the relative difference
    of the logits before the first token. Ends with 2 without a GPU.
    """
    parser.add_argument("--model", default=PACKAGED)
    parser.add_argument("--voters", type=int, default=40)
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    import torch

    if not torch.cuda.is_available():
        print("No GPU is here, so nothing was compared.", file=sys.stderr)
        return 2
    plain, fast = load_model(given.model, "cpu"), load_model(given.model, "cuda")
    shared, prompts = prompts_of(plain, given.voters)
    ends = plain.end_tokens

    def by_library() -> Any:
        return LockstepDecoding(fast._model, shared, prompts, STEPS)

    table = TableWriter(DEVICES, given.csv)
    expected = answer(lambda: plain.start(shared, prompts, STEPS), ends, 1)
    table.write(compare("library", "processor", expected, expected))
    shown = torch.cuda.get_device_name()
    table.write(compare("library", shown, answer(by_library, ends, 4), expected))
    if fast.has_decoder:
        table.write(compare("own", shown, answer(lambda: fast.start(shared, prompts, STEPS), ends, 4), expected))
    return 0


VLLM = (
    *("shape", "device", "vLLM", "load, s", "check, s", "question, ms"),
    *("different answers", "again", "exchanged", "turned", "moved"),
)
_SPREAD = 0.06
"""The standard deviation of a weight. With the usual 0.02, rows hardly differ."""
_WORDS = 32_000
"""Tokens below this are in any tokenizer."""


def save_model(shape: str, tokenizer: Path, folder: Path) -> None:
    """Save a model with random weights, and a tokenizer."""
    import torch

    model = random_model(SHAPES[shape], "cuda" if torch.cuda.is_available() else "cpu")
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() == 2:
                weight.normal_(0, _SPREAD)
    model.save_pretrained(folder)
    for file in tokenizer.iterdir():
        if not (file.suffix == ".safetensors" or file.name in ("config.json", "generation_config.json")):
            shutil.copy(file, folder)
    del model
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def open_timed(folder: Path) -> tuple[VLLMModel, float, float]:
    """Return the model, the seconds of loading it, and those of the check of public rows, which loading contains."""
    begun = time.perf_counter()
    model = open_vllm(str(folder))
    loaded = time.perf_counter() - begun
    begun = time.perf_counter()
    model.check_rows()
    return model, loaded, time.perf_counter() - begun


def compare_rows(model: Any, question: Question) -> tuple[float, int, list[bool]]:
    """Return the milliseconds of a question, the number of different answers, and whether the other rows are equal.

    They are compared with the question asked again, with another row 0, in the other order, and moved by one place.
    """
    words = min(_WORDS, model.vocabulary_size)
    shared = [7 + place % 100 for place in range(question.shared)]
    rows, others = question.prompts(0, words), question.prompts(1, words)
    rows = [row if place % 4 == 0 else Prompt(row.tokens, 0) for place, row in enumerate(rows)]

    def ask(prompts: Sequence[Prompt]) -> list[Any]:
        return model.answers(shared, prompts, question.steps)  # type: ignore[no-any-return]

    expected = ask(rows)
    begun = time.perf_counter()
    again = ask(rows)
    taken = 1000 * (time.perf_counter() - begun)
    exchanged, turned, moved = ask([others[0], *rows[1:]]), ask(rows[::-1]), ask([*rows[1:], rows[0]])
    equal = [again == expected, exchanged[1:] == expected[1:], turned[::-1] == expected]
    equal.append([moved[-1], *moved[:-1]] == expected)
    return taken, len({one.tokens for one in expected}), equal


def compare_vllm_rows(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> int:
    """Whether the adapter for vLLM loads a model on a GPU, whether rows keep their answers, and the time.

    It runs in an environment with vLLM, which brings versions of its own of torch and transformers; of discreet it
    needs no more than the source (PYTHONPATH=src:.). The weights are random, in the shape of a Llama model, and
    larger than usual, so that the answers of rows differ. Any tokenizer will do, for rows are token ids; default:
    that of the packaged model.

    "load" contains the check of public rows with which the adapter refuses a model ("check"). The question has the
    rows, tokens and steps of the part `gpu`; a quarter of the rows have padding. "again", "exchanged", "turned"
    and "moved" tell whether the answers of all other rows are equal when the question is asked again, when row 0 is
    another one, when the order is turned, and when all rows move by one place. Ends with 1 if one is not.
    """
    parser.add_argument("--shape", default="1B", choices=sorted(SHAPES))
    parser.add_argument("--rows", type=int, default=41)
    parser.add_argument("--tokenizer", type=Path, help="a folder with a tokenizer")
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    if importlib.util.find_spec("vllm") is None:
        print("vLLM is not installed, so nothing was measured. It needs a GPU: pip install vllm.", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save_model(given.shape, given.tokenizer or _packaged_tokenizer(), folder)
        try:
            model, loaded, checked = open_timed(folder)
        except DiscreetError as error:
            print(error, file=sys.stderr)
            return 1
        taken, different, equal = compare_rows(model, Question(given.rows))
    table = TableWriter(VLLM, given.csv)
    told = ["yes" if one else "NO" for one in equal]
    row = (given.shape, _device(), importlib.metadata.version("vllm"), f"{loaded:.1f}", f"{checked:.1f}")
    table.write((*row, f"{taken:.0f}", str(different), *told))
    return 0 if all(equal) else 1


def _packaged_tokenizer() -> Path:
    from discreet.generation.loading import packaged_model_dir

    return packaged_model_dir()


def _device() -> str:
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
