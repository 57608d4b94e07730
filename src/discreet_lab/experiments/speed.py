"""Language models on this machine: whether rows keep their bits, how long a question takes, and what is answered."""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from discreet.errors import DiscreetError
from discreet.models.loading import load_model
from discreet.models.protocol import Prompt
from discreet.models.row_check import Shape, has_independent_rows, public_rows
from discreet.models.transformers_model import TransformersModel
from discreet_lab.experiments.common import TableWriter, add_csv_option

COLUMNS = (
    *("model", "type", "device", "forward pass", "load, s", "prefill, ms", "step, ms", "question, ms"),
    *("rows", "answers", "logits", "memory, GB"),
)
_COMPARED, _TOKENS = 3, 8
"""The rows whose answers are compared with the library's, and the tokens of each."""


def measure_models(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> int:
    """Check language models on this machine, one row a model, within --minutes: on a GPU if there is one.

    Each model is loaded as a vault loads it. A question has 41 rows of 187 public tokens after 328 shared ones, and 32
    steps: those of 40 voters. The times are medians of three, after a first one.

    "forward pass" is "own" if a decoder of this package computes it (docs/models.md, "On a GPU"), else "library".
    "rows" says whether rows keep their bits beside an exchanged row, in turned order, and moved by one place.
    "answers" counts rows whose greedy answer of 8 tokens is that of the library's plain forward pass, without a cache;
    "logits" is the largest difference before the first token, relative to what differs in a row. Rounding in bfloat16
    makes a few hundredths, and may turn a word that is almost as likely as another.

    The random weights of a tiny model tell whether its family runs, and nothing about speed. Ends with 1 if a model is
    refused, a row depends on others, or half of the answers differ. A model that has no time left is named.
    """
    parser.add_argument("models", nargs="+", metavar="MODEL", help="a folder, or a name on the hub")
    parser.add_argument("--device", choices=["auto", "cuda", "cpu"], default="auto")
    parser.add_argument("--minutes", type=float, default=10.0, help="no further model begins after this")
    for name, usual in (("rows", 41), ("shared", 328), ("own", 187), ("steps", 32)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    shape = Shape(given.rows, given.shared, given.own, given.steps)
    table, began, sound = TableWriter(COLUMNS, given.csv), time.monotonic(), True
    for name in given.models:
        if time.monotonic() - began > 60 * given.minutes:
            print(f"Not run, since {given.minutes:g} minutes are over: {name}", flush=True)
            sound = False
            continue
        try:
            row, passed = _measure(name, given.device, shape)
        except DiscreetError as error:
            row, passed = (name, *["-"] * (len(COLUMNS) - 5), "REFUSED", *["-"] * 3), False
            print(f"{name}: {error}", flush=True)
        table.write(row)
        sound = sound and passed
    print(f"\n{len(given.models)} models in {(time.monotonic() - began) / 60:.1f} minutes.")
    return 0 if sound else 1


def _measure(name: str, device: str, shape: Shape) -> tuple[tuple[str, ...], bool]:
    """Return the row of a model, and whether it passed."""
    import torch

    began = time.perf_counter()
    load_model.cache_clear()  # one model at a time is in memory
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    model = load_model(name, device)
    load, inner = time.perf_counter() - began, model._model
    on_gpu = inner.device.type == "cuda"
    equal, apart = _compare(model, shape)
    shared, prompts = public_rows(model.vocabulary_size, shape)

    def prefill() -> Any:
        return model.start(shared, prompts, shape.steps)

    def question() -> None:
        decoding = prefill()
        for _ in range(shape.steps):
            decoding.append(int(decoding.best()[0]))

    whole, first = _milliseconds(question, on_gpu), _milliseconds(prefill, on_gpu)
    rows = has_independent_rows(model.start, model.vocabulary_size, shape)
    decoder = model._decoder
    own = decoder is not None and decoder.has_room(shape) and decoder.is_checked(shape)
    memory = f"{torch.cuda.max_memory_allocated() / 1e9:.1f}" if on_gpu else "-"
    shown = torch.cuda.get_device_name() if on_gpu else "CPU"
    row = (
        *(name, inner.config.model_type, shown, "own" if own else "library"),
        *(f"{load:.1f}", f"{first:.1f}", f"{(whole - first) / shape.steps:.2f}", f"{whole:.0f}"),
        *("yes" if rows else "NO", f"{equal} of {_COMPARED}", f"{apart:.4f}", memory),
    )
    return row, rows and 2 * equal >= _COMPARED


def _compare(model: TransformersModel, shape: Shape) -> tuple[int, float]:
    """Return how many answers are those of the plain forward pass, and how far the first logits are apart."""
    import torch

    from discreet.models.lockstep import has_plain_attention

    shared, prompts = public_rows(model.vocabulary_size, Shape(_COMPARED, shape.shared, shape.length, _TOKENS))
    expected, logits = [], []
    if has_plain_attention(model._model):  # in place of the lock-step attention, which a check at loading installs
        model._model.set_attn_implementation("sdpa")
    for prompt in prompts:
        text, answer = [*shared, *prompt.tokens[prompt.padding :]], list[int]()
        for _ in range(_TOKENS):
            with torch.inference_mode():
                ids = torch.tensor([[*text, *answer]], device=model._model.device)
                found = model._model(input_ids=ids).logits[0, -1].float().cpu().numpy()
            if not answer:
                logits.append(found - found.mean())
            answer.append(int(found.argmax()))
        expected.append(answer)
    said = _answers(model, shared, prompts)
    first = model.start(shared, prompts, _TOKENS).logits()
    apart = np.abs(first - first.mean(axis=1, keepdims=True) - np.stack(logits)).max() / np.abs(np.stack(logits)).max()
    return sum(one == other for one, other in zip(said, expected, strict=True)), float(apart)


def _answers(model: TransformersModel, shared: Sequence[int], prompts: Sequence[Prompt]) -> list[list[int]]:
    decoding = model.start(shared, prompts, _TOKENS)
    steps = [decoding.best().tolist()]
    for _ in range(_TOKENS - 1):
        decoding.append_each(steps[-1])
        steps.append(decoding.best().tolist())
    return [list(row) for row in zip(*steps, strict=True)]


def _milliseconds(work: Callable[[], object], on_gpu: bool) -> float:
    """Return the median time of three calls, after one that warms up."""
    import torch

    taken = []
    for _ in range(4):
        began = time.perf_counter()
        work()
        if on_gpu:
            torch.cuda.synchronize()
        taken.append(1000 * (time.perf_counter() - began))
    return statistics.median(taken[1:])
